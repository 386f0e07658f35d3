"""Frames that say what somebody likes, does, did, will do, can do and has to do."""

from collections.abc import Sequence

from . import lexicon as lex
from .draw import Draw
from .words import Action, Mass, Noun, Phrase, Word, count_zh, number_en, question, statement

# Likes


def like(d: Draw) -> Phrase:
    who, thing = d.subject(), d.one(_LIKEABLE)
    return statement(f"{who.zh}喜欢{thing.zh}", f"{who.en} {who.agree('like')} {thing.generic}")


def not_like(d: Draw) -> Phrase:
    who, thing = d.subject(), d.one(_LIKEABLE)
    return statement(f"{who.zh}不喜欢{thing.zh}", f"{who.en} {who.do}n't like {thing.generic}")


def ask_like(d: Draw) -> Phrase:
    who, thing = d.asked_about(), d.one(_LIKEABLE)
    return question(f"{who.zh}喜欢{thing.zh}吗", f"{who.do} {who.en} like {thing.generic}")


def like_doing(d: Draw) -> Phrase:
    who, action = d.subject(), d.one(lex.HOBBIES)
    return statement(f"{who.zh}喜欢{action.zh}", f"{who.en} {who.agree('like')} {action.ing(who)}")


def not_like_doing(d: Draw) -> Phrase:
    who, action = d.subject(), d.one((*lex.HOBBIES, *lex.CHORES, lex.EXERCISING))
    return statement(f"{who.zh}不喜欢{action.zh}", f"{who.en} {who.do}n't like {action.ing(who)}")


def ask_like_doing(d: Draw) -> Phrase:
    who, action = d.asked_about(), d.one(lex.HOBBIES)
    return question(f"{who.zh}喜欢{action.zh}吗", f"{who.do} {who.en} like {action.ing(who)}")


def like_doing_at(d: Draw) -> Phrase:
    who, action = d.subject(), d.one(_AT_PLACES)
    place = d.one(action.places)
    zh = f"{who.zh}喜欢在{place.inside}{action.zh}"
    return statement(zh, f"{who.en} {who.agree('like')} {action.ing(who)} {place.at}")


def this_one_likes(d: Draw) -> Phrase:
    (zh, en), thing = d.pointed(d.one(lex.PEOPLE)), d.one(_LIKEABLE)
    return statement(f"{zh}喜欢{thing.zh}", f"{en} likes {thing.generic}")


def also_like(d: Draw) -> Phrase:
    who, thing = d.subject(), d.one(_LIKEABLE)
    return statement(f"{who.zh}也喜欢{thing.zh}", f"{who.en} also {who.agree('like')} {thing.generic}")


def like_both(d: Draw) -> Phrase:
    who, (one, other) = d.subject(), d.two(d.pick(_KINDS))
    return statement(
        f"{who.zh}喜欢{one.zh}和{other.zh}", f"{who.en} {who.agree('like')} {one.generic} and {other.generic}"
    )


def both_like_doing(d: Draw) -> Phrase:
    (one, other), action = d.two(lex.NAMES), d.one(lex.HOBBIES)
    return statement(f"{one.zh}和{other.zh}都喜欢{action.zh}", f"both {one.en} and {other.en} like {action.ing(one)}")


def prefer(d: Draw) -> Phrase:
    who, (one, other) = d.teller(), d.two(d.pick(_KINDS))
    zh = f"比起{other.zh}，{who.zh}更喜欢{one.zh}"
    return statement(zh, f"{who.en} {who.agree('prefer')} {one.generic} to {other.generic}")


def ask_which_liked(d: Draw) -> Phrase:
    who, (one, other) = d.asked_about(), d.two(d.pick(_KINDS))
    zh = f"{who.zh}喜欢{one.zh}还是{other.zh}"
    return question(zh, f"{who.do} {who.en} like {one.generic} or {other.generic}")


def ask_who_likes(d: Draw) -> Phrase:
    action = d.one(_AT_PLACES)
    place = d.one(action.places)
    return question(f"谁喜欢在{place.inside}{action.zh}", f"who likes {action.ing(lex.HE)} {place.at}")


def ask_why_like(d: Draw) -> Phrase:
    who, thing = d.asked_about(), d.one(_LIKEABLE)
    if d.pick((True, False)):
        return question(f"{who.zh}为什么喜欢{thing.zh}", f"why {who.do} {who.en} like {thing.generic}")
    return question(f"{who.zh}为什么不喜欢{thing.zh}", f"why {who.do}n't {who.en} like {thing.generic}")


def favorite(d: Draw) -> Phrase:
    owner, (kind, things) = d.owner(), d.pick(_FAVORITES)
    thing = d.one(things)
    d.words.append(kind.zh)
    en = thing.ing(owner) if isinstance(thing, Action) else thing.en
    return statement(f"{owner.zh}最喜欢的{kind.zh}是{thing.zh}", f"{owner.possessive} favorite {kind.en} is {en}")


# Habits


def do_every(d: Draw) -> Phrase:
    action, time = d.one((*lex.HOBBIES, *lex.DUTIES)), d.one(lex.EVERY)
    who = d.doer(action)
    return statement(f"{who.zh}{time.zh}{action.zh}", f"{who.en} {action.now(who)} {time.en}")


def not_do_every(d: Draw) -> Phrase:
    action = d.one((*lex.HOBBIES, *lex.DUTIES))
    who = d.doer(action)
    return statement(f"{who.zh}不是每天都{action.zh}", f"{who.en} {who.do}n't {action.base(who)} every day")


def ask_do_every(d: Draw) -> Phrase:
    action, time = d.one((*lex.HOBBIES, *lex.DUTIES)), d.one(lex.EVERY)
    who = d.asked_doer(action)
    return question(f"{who.zh}{time.zh}{action.zh}吗", f"{who.do} {who.en} {action.base(who)} {time.en}")


def do_often_at(d: Draw) -> Phrase:
    action, often = d.one(_AT_PLACES), d.one(lex.OFTEN)
    who, place = d.doer(action), d.one(action.places)
    zh = f"{who.zh}{often.zh}在{place.inside}{action.zh}"
    return statement(zh, f"{who.en} {often.en} {action.now(who)} {place.at}")


def do_often(d: Draw) -> Phrase:
    who, often, action = (
        d.other_person(),
        d.one(lex.OFTEN),
        d.one((*lex.HOBBIES, *lex.CHORES, lex.EXERCISING)),
    )
    return statement(f"{who.zh}{often.zh}{action.zh}", f"{who.en} {often.en} {action.now(who)}")


def know_does(d: Draw) -> Phrase:
    who, other, time = d.one((lex.I, lex.WE)), d.other_person(), d.one(lex.EVERY)
    action = d.one((*lex.HOBBIES, *lex.CHORES, lex.EXERCISING))
    zh = f"{who.zh}知道{other.zh}{time.zh}{action.zh}"
    return statement(zh, f"{who.en} know {other.en} {action.now(other)} {time.en}")


def know_people(d: Draw) -> Phrase:
    who, job, n = d.person(), d.one(lex.JOBS), d.number(2, 10)
    zh, en = job.count(n)
    return statement(f"{who.zh}认识{zh}", f"{who.en} {who.agree('know')} {en}")


def consume_every(d: Draw) -> Phrase:
    who, action, time = d.subject(), _consume(d), d.one(lex.EVERY[:4])
    return statement(f"{who.zh}{time.zh}{action.zh}", f"{who.en} {action.now(who)} {time.en}")


def not_consume(d: Draw) -> Phrase:
    who, action = d.subject(), _consume(d)
    return statement(f"{who.zh}不{action.zh}", f"{who.en} {who.do}n't {action.base(who)}")


def ask_consume(d: Draw) -> Phrase:
    who, action = d.asked_about(), _consume(d)
    return question(f"{who.zh}经常{action.zh}吗", f"{who.do} {who.en} often {action.base(who)}")


def go_by(d: Draw) -> Phrase:
    who, time, way, place = d.person(), d.one(lex.EVERY), d.one(lex.TRANSPORT), d.one(lex.GOALS)
    go = Action("去", place.zh, lex.GO, place.to)
    return statement(f"{who.zh}{time.zh}{way.zh}{go.zh}", f"{who.en} {go.now(who)} {way.en} {time.en}")


def teach(d: Draw) -> Phrase:
    who, subject, time = d.person(), d.one(lex.SUBJECTS), d.one(lex.EVERY)
    pupil = d.one((lex.THEY, *lex.NAMES) if who in (lex.I, lex.WE) else (lex.I, lex.WE))
    zh = f"{who.zh}{time.zh}教{pupil.zh}{subject.zh}"
    return statement(zh, f"{who.en} {who.agree('teach')} {pupil.obj} {subject.en} {time.en}")


# Now


def be_doing(d: Draw) -> Phrase:
    action = d.one((*lex.ACTIONS, lex.SLEEPING))
    who = d.doer(action)
    return statement(f"{who.zh}正在{action.zh}", f"{who.en} {who.be} {action.ing(who)}")


def be_doing_at(d: Draw) -> Phrase:
    action = d.one(_AT_PLACES)
    who, place = d.doer(action), d.one(action.places)
    return statement(f"{who.zh}正在{place.inside}{action.zh}", f"{who.en} {who.be} {action.ing(who)} {place.at}")


def those_are_doing_at(d: Draw) -> Phrase:
    noun, action = d.one(lex.PEOPLE), d.one(_FUN_AT_PLACES)
    pointer, place = d.one((Word("这些", "these"), Word("那些", "those"))), d.one(action.places)
    zh = f"{pointer.zh}{noun.zh}正在{place.inside}{action.zh}"
    return statement(zh, f"{pointer.en} {noun.plural} are {action.ing(lex.THEY)} {place.at}")


def be_doing_to(d: Draw) -> Phrase:
    who, deed = d.subject(), d.one(lex.UNDER_WAY)
    action = deed.on(d.one(deed.objects).count(1))
    return statement(f"{who.zh}正在{action.zh}", f"{who.en} {who.be} {action.ing(who)}")


def not_be_doing(d: Draw) -> Phrase:
    action = d.one((*lex.ACTIONS, lex.SLEEPING))
    who = d.doer(action)
    return statement(f"{who.zh}没有在{action.zh}", f"{who.is_not} {action.ing(who)}")


def ask_be_doing(d: Draw) -> Phrase:
    action = d.one((*lex.ACTIONS, lex.SLEEPING))
    who = d.asked_doer(action)
    return question(f"{who.zh}正在{action.zh}吗", f"{who.be} {who.en} {action.ing(who)}")


def ask_what_doing_at(d: Draw) -> Phrase:
    who, place = (
        d.asked_about(),
        d.one((*lex.GOALS, lex.KITCHEN, lex.GARDEN, lex.OFFICE, lex.BEDROOM, lex.HOME)),
    )
    return question(f"{who.zh}正在{place.inside}做什么", f"what {who.be} {who.en} doing {place.at}")


def be_wearing(d: Draw) -> Phrase:
    who, color, garment = d.subject(), d.one(lex.COLORS), d.one(lex.GARMENTS)
    en = f"{color.en} {garment.en}"
    zh = f"{who.zh}今天穿着{color.zh}的{garment.zh}"
    if who.is_plural:
        return statement(zh, f"{who.en} are wearing {color.en} {garment.plural} today")
    return statement(zh, f"{who.en} {who.be} wearing a {en} today")


# The past


def did(d: Draw) -> Phrase:
    action, time = d.one((*lex.ACTIONS, lex.SHOWER)), d.one(lex.PAST_DAYS)
    who = d.doer(action)
    return statement(f"{who.zh}{time.zh}{action.zh}了", f"{who.en} {action.past(who)} {time.en}")


def did_at(d: Draw) -> Phrase:
    action, time = d.one(_AT_PLACES), d.one(lex.PAST_DAYS)
    who, place = d.doer(action), d.one(action.places)
    zh = f"{who.zh}{time.zh}在{place.inside}{action.zh}了"
    return statement(zh, f"{who.en} {action.past(who)} {place.at} {time.en}")


def did_not(d: Draw) -> Phrase:
    action, time = d.one(lex.ACTIONS), d.one(lex.PAST_DAYS)
    who = d.doer(action)
    return statement(f"{who.zh}{time.zh}没有{action.zh}", f"{who.en} didn't {action.base(who)} {time.en}")


def ask_did(d: Draw) -> Phrase:
    action, time = d.one((*lex.ACTIONS, lex.SHOWER)), d.one(lex.PAST_DAYS)
    who = d.asked_doer(action)
    return question(f"{who.zh}{time.zh}{action.zh}了吗", f"did {who.en} {action.base(who)} {time.en}")


def did_to(d: Draw) -> Phrase:
    who, time, deed = d.subject(), d.one(lex.PAST_DAYS), d.one(lex.DEEDS)
    thing = _few(d, deed.objects)
    action = deed.on(thing)
    return statement(f"{who.zh}{time.zh}{deed.zh}了{thing.zh}", f"{who.en} {action.past(who)} {time.en}")


def did_to_that(d: Draw) -> Phrase:
    who, time, deed = d.subject(), d.one(lex.PAST_DAYS), d.one(_DEEDS_TO_KNOWN)
    thing = d.one(deed.objects).that()
    action = deed.on(thing)
    return statement(f"{who.zh}{time.zh}{deed.zh}了{thing.zh}", f"{who.en} {action.past(who)} {time.en}")


def did_not_to(d: Draw) -> Phrase:
    who, time, deed = d.subject(), d.one(lex.PAST_DAYS), d.one(_DEEDS_TO_KNOWN)
    action = deed.on(d.one(deed.objects).that())
    return statement(f"{who.zh}{time.zh}没有{action.zh}", f"{who.en} didn't {action.base(who)} {time.en}")


def ask_did_to(d: Draw) -> Phrase:
    who, time, deed = d.asked_about(), d.one(lex.PAST_DAYS), d.one(_DEEDS_TO_KNOWN)
    action = deed.on(d.one(deed.objects).that())
    return question(f"{who.zh}{time.zh}{action.zh}了吗", f"did {who.en} {action.base(who)} {time.en}")


def consumed(d: Draw) -> Phrase:
    who, time, thing = d.subject(), d.one(lex.PAST_DAYS[:4]), d.one((*lex.DRINKS, *lex.STAPLES))
    zh, en = d.count(thing, 4)
    verb_zh, verb_en = ("喝", "drank") if thing in lex.DRINKS else ("吃", "ate")
    return statement(f"{who.zh}{time.zh}{verb_zh}了{zh}", f"{who.en} {verb_en} {en} {time.en}")


def did_for_hours(d: Draw) -> Phrase:
    action, time, hours = d.one(lex.ACTIONS), d.one(lex.PAST_DAYS), d.number(2, 5)
    who = d.doer(action)
    zh = f"{who.zh}{time.zh}{action.verb_zh}了{count_zh(hours)}个小时{action.object_zh}"
    return statement(zh, f"{who.en} {action.past(who)} for {number_en(hours)} hours {time.en}")


def did_with(d: Draw) -> Phrase:
    (who, other), action, time = d.rivals(d.person), d.one(lex.HOBBIES), d.one(lex.PAST_DAYS)
    zh = f"{who.zh}{time.zh}和{other.zh}一起{action.zh}了"
    return statement(zh, f"{who.en} {action.past(who)} with {other.obj} {time.en}")


def did_with_friends(d: Draw) -> Phrase:
    who, action, time = d.subject(), d.one(lex.HOBBIES), d.one(lex.PAST_DAYS)
    zh = f"{who.zh}{time.zh}和朋友一起{action.zh}了"
    return statement(zh, f"{who.en} {action.past(who)} with friends {time.en}")


def bought_lately(d: Draw) -> Phrase:
    who, time, color = d.subject(), d.one(lex.PAST_SPANS), d.one(lex.COLORS)
    noun = d.one((*lex.OWN_VEHICLES, *lex.SEATS, lex.TABLE, lex.PHONE, lex.CAMERA, lex.COAT))
    zh = f"{who.zh}{time.zh}买了一{noun.measure}{color.zh}的{noun.zh}"
    return statement(zh, f"{who.en} bought a {color.en} {noun.en} {time.en}")


def gave(d: Draw) -> Phrase:
    (who, other), time = d.rivals(d.person), d.one(lex.PAST_DAYS)
    zh, en = d.count(d.one(lex.GIVEN), 5)
    return statement(f"{who.zh}{time.zh}给了{other.zh}{zh}", f"{who.en} gave {other.obj} {en} {time.en}")


def saw_at(d: Draw) -> Phrase:
    who, time, (place, nouns) = d.subject(), d.one(lex.PAST_DAYS), d.pick(lex.SCENES)
    d.words.append(place.zh)
    zh, en = d.count(d.one(nouns), 6)
    return statement(f"{who.zh}{time.zh}在{place.inside}看见了{zh}", f"{who.en} saw {en} {place.at} {time.en}")


def ask_what_seen(d: Draw) -> Phrase:
    who, time, (place, _) = d.asked_about(), d.one(lex.PAST_DAYS), d.pick(lex.SCENES)
    d.words.append(place.zh)
    return question(f"{who.zh}{time.zh}在{place.inside}看见了什么", f"what did {who.en} see {place.at} {time.en}")


def ask_where_bought(d: Draw) -> Phrase:
    who = d.asked_about()
    zh, en = d.pointed(d.one(lex.DURABLES))
    return question(f"{who.zh}是在哪里买的{zh}", f"where did {who.en} buy {en}")


def went_to(d: Draw) -> Phrase:
    who, time, city = (
        d.subject(),
        d.one((*lex.PAST_SPANS, *lex.PAST_SPANS, *lex.PAST_DAYS)),
        d.one((*lex.CITIES, *lex.COUNTRIES)),
    )
    return statement(f"{who.zh}{time.zh}去了{city.zh}", f"{who.en} went to {city.en} {time.en}")


def went_by(d: Draw) -> Phrase:
    who, time, way, place = d.subject(), d.one(lex.PAST_DAYS), d.one(lex.TRANSPORT), d.one(lex.OUTINGS)
    return statement(f"{who.zh}{time.zh}{way.zh}去了{place.zh}", f"{who.en} went {place.to} {way.en} {time.en}")


# The future


def will_do(d: Draw) -> Phrase:
    action, time = d.one((*lex.ACTIONS, lex.SHOWER)), d.one(lex.FUTURE_DAYS)
    who = d.doer(action)
    return statement(f"{who.zh}{time.zh}会{action.zh}", f"{who.en} will {action.base(who)} {time.en}")


def will_not_do(d: Draw) -> Phrase:
    action, time = d.one(lex.ACTIONS), d.one(lex.FUTURE_DAYS)
    who = d.doer(action)
    return statement(f"{who.zh}{time.zh}不会{action.zh}", f"{who.en} won't {action.base(who)} {time.en}")


def ask_will_go(d: Draw) -> Phrase:
    who, time, place = d.asked_about(), d.one(lex.FUTURE_DAYS), d.one(lex.GOALS)
    return question(f"{who.zh}{time.zh}会去{place.zh}吗", f"will {who.en} go {place.to} {time.en}")


def will_do_to(d: Draw) -> Phrase:
    who, time, deed = d.teller(), d.one(lex.FUTURE_DAYS), d.one(_PLANNED_DEEDS)
    action = deed.on(_few(d, deed.objects))
    return statement(f"{who.zh}{time.zh}会{action.zh}", f"{who.en} will {action.base(who)} {time.en}")


def plan_to_go(d: Draw) -> Phrase:
    who, time, city = d.teller(), d.one(lex.FUTURE_SPANS), d.one(lex.CITIES)
    return statement(f"{who.zh}打算{time.zh}去{city.zh}", f"{who.en} {who.agree('plan')} to go to {city.en} {time.en}")


def plan_to_do_at(d: Draw) -> Phrase:
    action, time = d.one(_AT_PLACES), d.one(lex.FUTURE_DAYS)
    who, place = d.doer(action), d.one(action.places)
    zh = f"{who.zh}打算{time.zh}在{place.inside}{action.zh}"
    return statement(zh, f"{who.en} {who.agree('plan')} to {action.base(who)} {place.at} {time.en}")


def lets_go(d: Draw) -> Phrase:
    time, place = d.one(lex.FUTURE_DAYS), d.one(lex.OUTINGS)
    return statement(f"我们{time.zh}一起去{place.zh}吧", f"let's go {place.to} together {time.en}")


# The perfect


def have_been(d: Draw) -> Phrase:
    who, place = d.subject(), d.one((*lex.CITIES, *lex.COUNTRIES))
    if d.pick((True, False)):
        return statement(f"{who.zh}去过{place.zh}", f"{who.en} {who.have} been to {place.en}")
    return statement(f"{who.zh}从来没有去过{place.zh}", f"{who.en} {who.have} never been to {place.en}")


def ask_have_been(d: Draw) -> Phrase:
    who, place = d.asked_about(), d.one((*lex.CITIES, *lex.COUNTRIES))
    return question(f"{who.zh}去过{place.zh}吗", f"{who.have} {who.en} ever been to {place.en}")


def have_already(d: Draw) -> Phrase:
    action = d.one(_DONE_ONCE)
    who = d.doer(action)
    return statement(f"{who.zh}已经{action.zh}了", f"{who.en} {who.have} already {action.done(who)}")


def have_not_yet(d: Draw) -> Phrase:
    action = d.one(_DONE_ONCE)
    who = d.doer(action)
    return statement(f"{who.zh}还没有{action.zh}", f"{who.en} {who.have}n't {action.done(who)} yet")


# Can, want, should, need


def can(d: Draw) -> Phrase:
    who, (zh, en) = d.subject(), _skill(d)
    return statement(f"{who.zh}会{zh}", f"{who.en} can {en}")


def cannot(d: Draw) -> Phrase:
    who, (zh, en) = d.subject(), _skill(d)
    return statement(f"{who.zh}不会{zh}", f"{who.en} can't {en}")


def ask_can(d: Draw) -> Phrase:
    who, (zh, en) = d.asked_about(), _skill(d)
    return question(f"{who.zh}会{zh}吗", f"can {who.en} {en}")


def want_to(d: Draw) -> Phrase:
    who, action = d.teller(), _wish(d)
    return statement(f"{who.zh}想{action.zh}", f"{who.en} {who.agree('want')} to {action.base(who)}")


def not_want_to(d: Draw) -> Phrase:
    action = d.one((*lex.ACTIONS, lex.GETTING_UP, lex.GOING_TO_BED, lex.GOING_HOME))
    who = d.doer(action)
    return statement(f"{who.zh}不想{action.zh}", f"{who.en} {who.do}n't want to {action.base(who)}")


def ask_want_to(d: Draw) -> Phrase:
    who, action = d.asked_about(), _wish(d)
    return question(f"{who.zh}想{action.zh}吗", f"{who.do} {who.en} want to {action.base(who)}")


def should(d: Draw) -> Phrase:
    action, time = d.one((*lex.DUTIES, lex.TEETH, lex.HANDS)), d.one(lex.EVERY[:4])
    who = d.doer(action)
    return statement(f"{who.zh}应该{time.zh}{action.zh}", f"{who.en} should {action.base(who)} {time.en}")


def must(d: Draw) -> Phrase:
    action, time = d.one((*lex.DUTIES, *lex.CHORES, lex.SHOWER)), d.one(_DEADLINES)
    who = d.doer(action)
    return statement(f"{who.zh}{time.zh}必须{action.zh}", f"{who.en} must {action.base(who)} {time.en}")


def need(d: Draw) -> Phrase:
    who = d.subject()
    zh, en = _few(d, (*lex.DURABLES, lex.KEY, lex.PENCIL, *lex.DRINKS, lex.MAP))
    return statement(f"{who.zh}需要{zh}", f"{who.en} {who.agree('need')} {en}")


# Requests


def please_give(d: Draw) -> Phrase:
    whom = d.one((lex.I, lex.HE, lex.SHE, lex.WE, lex.THEY, *lex.NAMES))
    zh, en = d.count(d.one((*lex.GIVEN, *lex.DRINKS, *lex.STAPLES, *lex.DISHES, *lex.DISHES)), 5)
    return statement(f"请给{whom.zh}{zh}", f"please give {whom.obj} {en}")


def please_open(d: Draw) -> Phrase:
    if d.pick((True, False)):
        zh, en = d.owned(d.owner(), d.one((lex.BOX, lex.BAG, lex.BOOK, lex.UMBRELLA)))
        return statement(f"请打开{zh}", f"please open {en}")
    verb, thing = d.one((Word("打开", "open"), Word("关上", "close"))), d.one((lex.DOOR, lex.WINDOW))
    room = d.one(_ROOMS)
    en = f"please {verb.en} the {room.to.removeprefix('to the ')} {thing.en}"
    return statement(f"请{verb.zh}{room.zh}的{thing.zh}", en)


def please_do_not(d: Draw) -> Phrase:
    action, place = d.one(_DISTURBING) if d.pick((True, False)) else _consume(d), d.one(_CALM_PLACES)
    return statement(f"请不要在{place.inside}{action.zh}", f"please don't {action.base(lex.YOU)} {place.at}")


_LIKEABLE = (*lex.ANIMALS, *lex.FOODS, *lex.DRINKS, *lex.SUBJECTS, *lex.SEASONS, lex.FLOWER, lex.NOVEL)
_KINDS = (lex.ANIMALS, lex.PIECES_OF_FOOD, lex.STAPLES, lex.DRINKS, lex.SUBJECTS, lex.CITIES, lex.SEASONS)
_FAVORITES = (
    (Word("运动", "sport"), lex.SPORTS),
    (Word("颜色", "color"), lex.COLORS),
    (Word("季节", "season"), lex.SEASONS),
    (Word("科目", "subject"), lex.SUBJECTS),
    (Word("饮料", "drink"), lex.DRINKS),
)
_AT_PLACES = tuple(action for action in lex.ACTIONS if action.places)
_FUN_AT_PLACES = tuple(action for action in lex.HOBBIES if action.places)
_DEEDS_TO_KNOWN = tuple(deed for deed in lex.DEEDS if deed not in (lex.WRITE_ONE, lex.DRAW_ONE))
_PLANNED_DEEDS = (lex.BUYING, lex.BUYING, lex.READ_ONE, lex.WRITE_ONE, lex.DRAW_ONE)
_DONE_ONCE = (*lex.DAILY, *lex.CHORES)
_DEADLINES = (Word("今天", "today"), Word("明天", "tomorrow"), *lex.ON_WEEKDAYS)
_ROOMS = (lex.KITCHEN, lex.BEDROOM, lex.LIVING_ROOM, lex.CLASSROOM, lex.OFFICE, lex.LIBRARY)
_CALM_PLACES = (lex.CLASSROOM, lex.LIBRARY, lex.HOSPITAL, lex.MUSEUM, lex.OFFICE, lex.BANK)
_DISTURBING = (
    lex.RUNNING,
    lex.SINGING,
    lex.DANCING,
    lex.CHATTING,
    lex.SLEEPING,
    lex.BASKETBALL,
    lex.SOCCER,
    lex.PHOTOGRAPHING,
)


def _few(d: Draw, things: Sequence[Noun | Mass]) -> Phrase:
    """One to three of one of `things`; one where it is large."""
    thing = d.one(things)
    return d.count(thing, 1 if thing in lex.LARGE else 3)


def _consume(d: Draw) -> Action:
    """To eat or drink something, in general."""
    thing = d.one((*lex.FOODS, *lex.DRINKS))
    zh, verb = ("喝", lex.DRINK) if thing in lex.DRINKS else ("吃", lex.EAT)
    return Action(zh, thing.zh, verb, thing.generic)


def _wish(d: Draw) -> Action:
    """Something one may want to do right now."""
    kind = d.pick(("consume", "deed", "hobby"))
    if kind == "consume":
        return _consume(d)
    if kind == "hobby":
        return d.one(lex.HOBBIES)
    deed = d.one(_PLANNED_DEEDS)
    return deed.on(_few(d, deed.objects))


def _skill(d: Draw) -> Phrase:
    if d.pick((True, False)):
        language = d.one(lex.LANGUAGES)
        return Phrase(f"说{language.zh}", f"speak {language.en}")
    skill = d.one(lex.SKILLS)
    return Phrase(skill.zh, skill.base(lex.HE))


FRAMES = (
    like,
    not_like,
    ask_like,
    like_doing,
    not_like_doing,
    ask_like_doing,
    like_doing_at,
    this_one_likes,
    also_like,
    like_both,
    both_like_doing,
    prefer,
    ask_which_liked,
    ask_who_likes,
    ask_why_like,
    favorite,
    do_every,
    not_do_every,
    ask_do_every,
    do_often_at,
    do_often,
    know_does,
    know_people,
    consume_every,
    not_consume,
    ask_consume,
    go_by,
    teach,
    be_doing,
    be_doing_at,
    those_are_doing_at,
    be_doing_to,
    not_be_doing,
    ask_be_doing,
    ask_what_doing_at,
    be_wearing,
    did,
    did_at,
    did_not,
    ask_did,
    did_to,
    did_to_that,
    did_not_to,
    ask_did_to,
    consumed,
    did_for_hours,
    did_with,
    did_with_friends,
    bought_lately,
    gave,
    saw_at,
    ask_what_seen,
    ask_where_bought,
    went_to,
    went_by,
    will_do,
    will_not_do,
    ask_will_go,
    will_do_to,
    plan_to_go,
    plan_to_do_at,
    lets_go,
    have_been,
    ask_have_been,
    have_already,
    have_not_yet,
    can,
    cannot,
    ask_can,
    want_to,
    not_want_to,
    ask_want_to,
    should,
    must,
    need,
    please_give,
    please_open,
    please_do_not,
)
