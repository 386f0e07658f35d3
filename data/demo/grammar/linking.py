"""Frames of numbers, dates, times and weather, and those that join two clauses."""

from collections.abc import Sequence

from . import lexicon as lex
from .draw import Draw
from .words import Phrase, Word, count_zh, number_en, number_zh, question, statement

# Numbers, dates and times


def add(d: Draw) -> Phrase:
    a, b = d.number(1, 12), d.number(1, 12)
    zh = f"{number_zh(a)}加{number_zh(b)}等于{number_zh(a + b)}"
    return statement(zh, f"{number_en(a)} plus {number_en(b)} is {number_en(a + b)}")


def subtract(d: Draw) -> Phrase:
    a = d.number(3, 24)
    b = d.number(1, min(a - 1, 12))
    zh = f"{number_zh(a)}减{number_zh(b)}等于{number_zh(a - b)}"
    return statement(zh, f"{number_en(a)} minus {number_en(b)} is {number_en(a - b)}")


def date_today(d: Draw) -> Phrase:
    zh, en = _date(d)
    return statement(f"今天是{zh}", f"today is {en}")


def birthday(d: Draw) -> Phrase:
    who, (zh, en) = d.person(), _date(d)
    return statement(f"{who.of_zh}生日是{zh}", f"{who.possessive} birthday is {en}")


def event_date(d: Draw) -> Phrase:
    event, (zh, en) = d.one(lex.EVENTS), _date(d)
    return statement(f"{event.zh}在{zh}", f"the {event.en} is on {en}")


def weekday(d: Draw) -> Phrase:
    today, day = d.one(_DAYS), d.one(lex.WEEKDAYS)
    if d.pick((True, False)):
        return statement(f"{today.zh}是{day.zh}", f"{today.en} is {day.en}")
    return question(f"{today.zh}是{day.zh}吗", f"is {today.en} {day.en}")


def not_weekday(d: Draw) -> Phrase:
    today, (day, other) = d.one(_DAYS), d.two(lex.WEEKDAYS)
    return statement(f"{today.zh}是{day.zh}，不是{other.zh}", f"{today.en} is {day.en}, not {other.en}")


def clock(d: Draw) -> Phrase:
    zh, en = _time(d)
    return statement(f"现在是{zh}", f"it is {en} now")


def clock_in_day(d: Draw) -> Phrase:
    part, hours = d.pick(lex.DAY_PARTS)
    (zh, en) = _time_from(d, hours)
    d.words.append(part.zh)
    return statement(f"现在是{part.zh}{zh}", f"it is {en} {part.en}")


def begin_at(d: Draw) -> Phrase:
    event, (zh, en), day = d.one(lex.EVENTS), _time(d), d.one((lex.FUTURE_DAYS[0], *lex.ON_WEEKDAYS))
    return statement(f"{event.zh}{day.zh}{zh}开始", f"the {event.en} starts at {en} {day.en}")


def ask_when_begin(d: Draw) -> Phrase:
    event, day = d.one(lex.EVENTS), d.one((lex.FUTURE_DAYS[0], *lex.ON_WEEKDAYS))
    return question(f"{event.zh}{day.zh}几点开始", f"what time does the {event.en} start {day.en}")


def routine(d: Draw) -> Phrase:
    (action, hours), every = d.pick(lex.ROUTINES), d.one(_EVERY_DAY)
    d.words.append(action.zh)
    who, (zh, en) = d.doer(action), _time_from(d, hours)
    return statement(f"{who.zh}{every.zh}{zh}{action.zh}", f"{who.en} {action.now(who)} at {en} {every.en}")


def ask_when_routine(d: Draw) -> Phrase:
    (action, _), every = d.pick(lex.ROUTINES), d.one(_EVERY_DAY)
    d.words.append(action.zh)
    who = d.asked_doer(action)
    return question(f"{who.zh}{every.zh}几点{action.zh}", f"what time {who.do} {who.en} {action.base(who)} {every.en}")


def did_routine(d: Draw) -> Phrase:
    action, hours = d.pick(lex.ROUTINES)
    d.words.append(action.zh)
    who, (zh, en) = d.doer(action), _time_from(d, hours)
    return statement(f"{who.zh}昨天{zh}{action.zh}了", f"{who.en} {action.past(who)} at {en} yesterday")


def go_in_month(d: Draw) -> Phrase:
    who, city, month = d.subject(), d.one((*lex.CITIES, *lex.COUNTRIES)), d.number(1, 12)
    zh = f"{who.zh}打算{number_zh(month)}月去{city.zh}"
    return statement(zh, f"{who.en} {who.agree('plan')} to go to {city.en} in {lex.MONTHS[month - 1]}")


def often_in_season(d: Draw) -> Phrase:
    who, season = d.subject(), d.one(lex.SEASONS)
    action, often = d.one(lex.HOBBIES[:4] + lex.HOBBIES[5:]), d.one(lex.OFTEN[:3])
    zh = f"{who.zh}{season.zh}{often.zh}{action.zh}"
    return statement(zh, f"{who.en} {often.en} {action.now(who)} in {season.en}")


# Weather


def weather_is(d: Draw) -> Phrase:
    city, heat = d.one(lex.CITIES), d.one(lex.HEAT)
    degree = d.one(_DEGREES)
    zh, verb, en = d.pick(_WEATHER_TIMES)
    d.words.append(zh)
    return statement(f"{city.zh}{zh}{degree.zh}{heat.zh}", f"it {verb} {degree.en}{heat.en} in {city.en} {en}")


def weather_falls(d: Draw) -> Phrase:
    city, fall = d.one(lex.CITIES), d.one((lex.RAIN, lex.SNOW))
    if d.pick((True, False)):
        time = d.one(lex.PAST_DAYS)
        return statement(f"{city.zh}{time.zh}{fall.zh}了", f"it {fall.past(lex.HE)} in {city.en} {time.en}")
    time = d.one(lex.FUTURE_DAYS)
    return statement(f"{city.zh}{time.zh}会{fall.zh}", f"it will {fall.base(lex.HE)} in {city.en} {time.en}")


def ask_weather(d: Draw) -> Phrase:
    city, fall, time = d.one(lex.CITIES), d.one((lex.RAIN, lex.SNOW)), d.one(lex.FUTURE_DAYS)
    return question(f"{city.zh}{time.zh}会{fall.zh}吗", f"will it {fall.base(lex.HE)} in {city.en} {time.en}")


def season_in_city(d: Draw) -> Phrase:
    city, season, heat, degree = d.one(lex.CITIES), d.one(lex.SEASONS), d.one(lex.HEAT), d.one(_DEGREES)
    zh = f"{city.zh}的{season.zh}{degree.zh}{heat.zh}"
    return statement(zh, f"{season.en} in {city.en} is {degree.en}{heat.en}")


# Because


def because_tired(d: Draw) -> Phrase:
    action = d.one(lex.EFFORTS)
    who, state = d.subject(), d.one((lex.TIRED, lex.SLEEPY, lex.SAD))
    zh = f"因为{who.zh}很{state.zh}，所以{who.pronoun.zh}不想{action.zh}"
    en = f"{who.en} {who.do}n't want to {action.base(who)} because {who.pronoun.en} {who.be} {state.en}"
    return statement(zh, en)


def because_hungry(d: Draw) -> Phrase:
    who = d.teller()
    if d.pick((True, False)):
        state, verb_zh, verb_en, thing = lex.HUNGRY, "吃", "eat", d.one(lex.FOODS)
    else:
        state, verb_zh, verb_en, thing = lex.THIRSTY, "喝", "drink", d.one(lex.DRINKS)
    d.words.append(state.zh)
    zh = f"因为{who.zh}很{state.zh}，所以{who.pronoun.zh}想{verb_zh}{thing.zh}"
    wish = f"{who.en} {who.agree('want')} to {verb_en} {thing.generic}"
    return statement(zh, f"{wish} because {who.pronoun.en} {who.be} {state.en}")


def because_busy(d: Draw) -> Phrase:
    who, action = d.teller(), d.one((*lex.HOBBIES, *lex.CHORES, lex.EXERCISING))
    zh = f"因为{who.zh}很忙，所以{who.pronoun.zh}没有时间{action.zh}"
    en = f"{who.en} {who.do}n't have time to {action.base(who)} because {who.pronoun.en} {who.be} busy"
    return statement(zh, en)


def because_weather(d: Draw) -> Phrase:
    time, who, place = (
        d.one(lex.PAST_DAYS),
        d.teller(),
        d.one(lex.OUTINGS),
    )
    weather = d.one(_PAST_WEATHER)
    clause_zh = f"因为{time.zh}{weather.zh}，所以{who.zh}没有去{place.zh}"
    return statement(clause_zh, f"{who.en} didn't go {place.to} {time.en} because it {weather.en}")


def because_too(d: Draw) -> Phrase:
    who = d.teller()
    noun, adjective = d.described_with(_REASONS_NOT_TO_BUY, _SHOP)
    zh, en = d.pointed(noun)
    clause_zh = f"因为{zh}太{adjective.zh}了，所以{who.zh}没有买"
    return statement(clause_zh, f"{who.en} didn't buy {en} because it was too {adjective.en}")


# If and when


def if_weather(d: Draw) -> Phrase:
    time, who, weather = d.one(lex.FUTURE_DAYS), d.teller(), d.one(_FUTURE_WEATHER)
    action = d.one([action for action in lex.INDOORS if lex.HOME in action.places])
    clause_zh = f"如果{time.zh}{weather.zh}，{who.zh}就在家里{action.zh}"
    return statement(clause_zh, f"if it {weather.en} {time.en}, {who.en} will {action.base(who)} at home")


def if_weather_not(d: Draw) -> Phrase:
    time, who = d.one(lex.FUTURE_DAYS), d.teller()
    weather, place = d.one(_FUTURE_WEATHER), d.one(lex.OUTINGS)
    clause_zh = f"如果{time.zh}{weather.zh}，{who.zh}就不去{place.zh}"
    return statement(clause_zh, f"if it {weather.en} {time.en}, {who.en} won't go {place.to}")


def if_tired(d: Draw) -> Phrase:
    state, remedies = d.pick(lex.REMEDIES[:-1])
    who, action = d.teller(), d.one(remedies)
    d.words.append(state.zh)
    clause_zh = f"如果{who.zh}很{state.zh}，{who.pronoun.zh}就应该{action.zh}"
    en = f"if {who.en} {who.be} {state.en}, {who.pronoun.en} should {action.base(who)}"
    return statement(clause_zh, en)


def if_time(d: Draw) -> Phrase:
    who, time, action = d.teller(), d.one(lex.FUTURE_DAYS), d.one((*lex.HOBBIES, *lex.CHORES))
    clause_zh = f"如果{who.zh}{time.zh}有时间，{who.pronoun.zh}就会{action.zh}"
    en = f"if {who.en} {who.have} time {time.en}, {who.pronoun.en} will {action.base(who)}"
    return statement(clause_zh, en)


def when_feeling(d: Draw) -> Phrase:
    who, (state, remedies) = d.teller(), d.pick(lex.REMEDIES)
    d.words.append(state.zh)
    action = d.one([action for action in remedies if action is not lex.GOING_TO_BED])
    clause_zh = f"{who.zh}{state.zh}的时候喜欢{action.zh}"
    return statement(
        clause_zh, f"{who.en} {who.agree('like')} {action.ing(who)} when {who.pronoun.en} {who.be} {state.en}"
    )


def when_raining(d: Draw) -> Phrase:
    who, fall, action = (
        d.teller(),
        d.one((lex.RAIN, lex.SNOW)),
        d.one((*lex.INDOORS, *lex.ARTS, lex.SLEEPING)),
    )
    clause_zh = f"{fall.zh}的时候，{who.zh}喜欢{action.zh}"
    return statement(clause_zh, f"when it {fall.now(lex.HE)}, {who.en} {who.agree('like')} {action.ing(who)}")


# But


def like_but_not(d: Draw) -> Phrase:
    who, (one, other) = d.person(), d.two(d.pick((lex.ANIMALS, lex.PIECES_OF_FOOD, lex.DRINKS, lex.SUBJECTS)))
    zh = f"{who.zh}喜欢{one.zh}，但是不喜欢{other.zh}"
    en = f"{who.en} {who.agree('like')} {one.generic}, but {who.pronoun.en} {who.do}n't like {other.generic}"
    return statement(zh, en)


def can_but_cannot(d: Draw) -> Phrase:
    who, (one, other) = d.person(), d.two(lex.SKILLS)
    zh = f"{who.zh}会{one.zh}，但是不会{other.zh}"
    return statement(zh, f"{who.en} can {one.base(who)}, but {who.pronoun.en} can't {other.base(who)}")


def have_but_not(d: Draw) -> Phrase:
    who, (one, other) = (
        d.person(),
        d.two(d.pick((lex.CLOTHES, lex.READING, lex.DEVICES, lex.PETS, lex.OWN_VEHICLES))),
    )
    zh, en = one.count(1)
    clause_zh = f"{who.zh}有{zh}，但是没有{other.zh}"
    other_en = other.count(1).en
    return statement(clause_zh, f"{who.en} {who.have} {en}, but {who.pronoun.en} {who.do}n't have {other_en}")


def good_but_bad(d: Draw) -> Phrase:
    nouns, good, bad = d.pick(lex.GOOD_POINTS)
    (zh, en), pro, con = d.pointed(d.one(nouns)), d.one(good), d.one(bad)
    first, second = d.pick(((pro, con), (con, pro)))
    return statement(f"{zh}很{first.zh}，但是很{second.zh}", f"{en} is {first.en}, but it is {second.en}")


def want_but_busy(d: Draw) -> Phrase:
    who, action = d.teller(), d.one((*lex.HOBBIES, lex.SLEEPING, lex.RESTING, lex.EXERCISING))
    zh = f"{who.zh}想{action.zh}，但是没有时间"
    return statement(
        zh, f"{who.en} {who.agree('want')} to {action.base(who)}, but {who.pronoun.en} {who.do}n't have time"
    )


# One thing and another


def do_while(d: Draw) -> Phrase:
    who, often = d.teller(), d.one(lex.OFTEN[:3])
    back, front = d.one(lex.BACKGROUND), d.one(lex.WITH_BACKGROUND)
    zh = f"{who.zh}{often.zh}一边{front.zh}一边{back.zh}"
    return statement(zh, f"{who.en} {often.en} {back.now(who)} while {front.ing(who)}")


def first_then(d: Draw) -> Phrase:
    who, time, first = d.teller(), d.one(lex.FUTURE_DAYS), d.one((*lex.CHORES, lex.EXERCISING))
    then = d.one(lex.INDOORS[:-1])
    zh = f"{who.zh}{time.zh}会先{first.zh}再{then.zh}"
    return statement(zh, f"{time.en}, {who.en} will {first.base(who)} first and then {then.base(who)}")


def before_bed(d: Draw) -> Phrase:
    who, often = d.teller(), d.one((Word("每天", "every day"), *lex.OFTEN[:3]))
    (after, befores) = d.pick(_ORDER)
    d.words.append(after.zh)
    action = d.one(befores)
    zh = f"{who.zh}{often.zh}在{after.zh}以前{action.zh}"
    if often.en == "every day":
        return statement(zh, f"{who.en} {action.now(who)} before {after.ing(who)} every day")
    return statement(zh, f"{who.en} {often.en} {action.now(who)} before {after.ing(who)}")


def think_that(d: Draw) -> Phrase:
    who = d.teller()
    noun, adjective = d.described(lex.DESCRIBED_THINGS)
    zh, en = d.pointed(noun)
    return statement(f"{who.zh}觉得{zh}很{adjective.zh}", f"{who.en} {who.agree('think')} {en} is {adjective.en}")


def say_feeling(d: Draw) -> Phrase:
    who, state = d.other_person(), d.one((*lex.STATES, *lex.TRAITS))
    zh = f"{who.zh}说{who.pronoun.zh}很{state.zh}"
    return statement(zh, f"{who.en} {who.agree('say')} {who.pronoun.en} {who.be} {state.en}")


def say_wish(d: Draw) -> Phrase:
    who, action = d.other_person(), d.one((*lex.HOBBIES, *lex.MEALS, lex.GOING_HOME, lex.SLEEPING))
    zh = f"{who.zh}说{who.pronoun.zh}想{action.zh}"
    return statement(zh, f"{who.en} {who.agree('say')} {who.pronoun.en} {who.agree('want')} to {action.base(who)}")


def know_that(d: Draw) -> Phrase:
    who, other = d.one((lex.I, lex.WE)), d.other_person()
    action = d.one(lex.HOBBIES)
    return statement(
        f"{who.zh}知道{other.zh}喜欢{action.zh}",
        f"{who.en} know {other.en} {other.agree('like')} {action.ing(other)}",
    )


def bought_is(d: Draw) -> Phrase:
    who, time = d.teller(), d.one(lex.PAST_DAYS)
    noun, adjective = d.described_with(_OF_BOUGHT, lex.DESCRIBED_OWN)
    zh = f"{who.zh}{time.zh}买的{noun.zh}很{adjective.zh}"
    return statement(zh, f"the {noun.en} {who.en} bought {time.en} is {adjective.en}")


def the_one_doing(d: Draw) -> Phrase:
    noun, relatives = d.pick(_RELATIVES)
    d.words.append(noun.zh)
    owner, relative, action = d.one(_FAMILY_OWNERS), d.one(relatives), d.one(_VISIBLE)
    link = "的" if owner in lex.NAMES else ""
    zh = f"正在{action.zh}的{noun.zh}是{owner.zh}{link}{relative.zh}"
    return statement(zh, f"the {noun.en} who is {action.ing(lex.HE)} is {owner.possessive} {relative.en}")


def the_one_wearing(d: Draw) -> Phrase:
    noun, relatives = d.pick(_RELATIVES)
    d.words.append(noun.zh)
    owner, relative = d.one(_FAMILY_OWNERS), d.one(relatives)
    color, garment = d.one(lex.COLORS), d.one(lex.GARMENTS)
    link = "的" if owner in lex.NAMES else ""
    zh = f"那个穿着{color.zh}{garment.zh}的{noun.zh}是{owner.zh}{link}{relative.zh}"
    return statement(zh, f"that {noun.en} in the {color.en} {garment.en} is {owner.possessive} {relative.en}")


_FAMILY_OWNERS = (lex.I, lex.YOU, lex.HE, lex.SHE, *lex.NAMES)
_RELATIVES = (
    (lex.BOY, lex.YOUNG_MEN[1:]),
    (lex.GIRL, lex.YOUNG_WOMEN[1:]),
    (lex.MAN, (*lex.MEN[3:], lex.YOUNG_MEN[0])),
    (lex.WOMAN, (*lex.WOMEN[3:], lex.YOUNG_WOMEN[0])),
)
_VISIBLE = (*lex.HOBBIES, lex.CLEANING, lex.DISHWASHING, lex.SLEEPING, lex.EXERCISING)
_DEGREES = (Word("很", ""), Word("非常", "very "))
_DAYS = (Word("今天", "today"), Word("明天", "tomorrow"))
_EVERY_DAY = (lex.EVERY[0], *lex.EVERY[4:9])  # not at weekends, for school and work
_WEATHER_TIMES = (("今天", "is", "today"), ("昨天", "was", "yesterday"), ("明天会", "will be", "tomorrow"))
_PAST_WEATHER = (
    Word("下雨了", "rained"),
    Word("下雪了", "snowed"),
    *(Word(f"很{w.zh}", f"was {w.en}") for w in lex.HEAT[:2]),
)
_FUTURE_WEATHER = (
    Word("下雨", "rains"),
    Word("下雪", "snows"),
    *(Word(f"很{w.zh}", f"is {w.en}") for w in lex.HEAT[:2]),
)
_SHOP = (*lex.DESCRIBED_OWN, *lex.DESCRIBED_FOOD)
_REASONS_NOT_TO_BUY = (
    lex.EXPENSIVE,
    lex.BIG,
    lex.SMALL,
    lex.OLD,
    lex.DIRTY,
    lex.HEAVY,
    lex.BORING,
    lex.THICK,
)
_OF_BOUGHT = (
    lex.EXPENSIVE,
    lex.CHEAP,
    lex.BEAUTIFUL,
    lex.INTERESTING,
    lex.USEFUL,
    lex.COMFORTABLE,
    lex.BIG,
    lex.HEAVY,
    lex.LIGHT,
    lex.FAST,
)
_ORDER = (  # what comes last, and what may come before it
    (lex.GOING_TO_BED, (lex.SHOWER, lex.TEETH, lex.READING_BOOKS, lex.MUSIC, lex.TELEVISION, lex.CHATTING)),
    (lex.DINNER, (lex.HANDS, lex.EXERCISING, lex.CLEANING, lex.RUNNING, lex.SWIMMING)),
    (lex.BREAKFAST, (lex.HANDS, lex.SHOWER, lex.EXERCISING, lex.RUNNING, lex.SWIMMING)),
)


def _date(d: Draw) -> Phrase:
    month = d.number(1, 12)
    day = d.number(1, 30 if month != 2 else 28)
    return Phrase(f"{number_zh(month)}月{number_zh(day)}日", f"{lex.MONTHS[month - 1]} {day}")


def _time(d: Draw) -> Phrase:
    return _time_from(d, tuple(range(1, 13)))


def _time_from(d: Draw, hours: Sequence[int]) -> Phrase:
    """A time of day whose full hour is one of `hours`."""
    hour, shape = d.pick(hours), d.one(_MINUTES)
    now = Phrase(f"{count_zh(hour)}点", number_en(hour))
    d.words.append(now.zh)
    if shape.en == "o'clock":
        return Phrase(now.zh, f"{now.en} o'clock")
    return Phrase(now.zh + shape.zh, f"{shape.en} past {now.en}")


_MINUTES = (
    Word("整", "o'clock"),
    Word("十分", "ten"),
    Word("一刻", "a quarter"),
    Word("二十分", "twenty"),
    Word("半", "half"),
)

FRAMES = (
    add,
    subtract,
    date_today,
    birthday,
    event_date,
    weekday,
    not_weekday,
    clock,
    clock_in_day,
    begin_at,
    ask_when_begin,
    routine,
    ask_when_routine,
    did_routine,
    go_in_month,
    often_in_season,
    weather_is,
    weather_falls,
    ask_weather,
    season_in_city,
    because_tired,
    because_hungry,
    because_busy,
    because_weather,
    because_too,
    if_weather,
    if_weather_not,
    if_tired,
    if_time,
    when_feeling,
    when_raining,
    like_but_not,
    can_but_cannot,
    have_but_not,
    good_but_bad,
    want_but_busy,
    do_while,
    first_then,
    before_bed,
    think_that,
    say_feeling,
    say_wish,
    know_that,
    bought_is,
    the_one_doing,
    the_one_wearing,
)
