"""Frames that say what there is, whose it is, what it is like, and how it compares."""

from . import lexicon as lex
from .draw import Draw
from .words import Noun, Phrase, Place, Word, number_en, number_zh, question, statement, with_article

# Who and what


def be_person(d: Draw) -> Phrase:
    who, job = d.person(), d.one(lex.JOBS)
    if who.is_plural:
        return statement(f"{who.zh}是{job.zh}", f"{who.en} are {job.plural}")
    job_zh, job_en = job.count(1)
    return statement(f"{who.zh}是{job_zh}", f"{who.en} {who.be} {job_en}")


def not_be_person(d: Draw) -> Phrase:
    who, job = d.person(), d.one(lex.JOBS)
    job_en = job.plural if who.is_plural else with_article(job.en)
    return statement(f"{who.zh}不是{job.zh}", f"{who.is_not} {job_en}")


def ask_be_person(d: Draw) -> Phrase:
    who, job = d.asked_about(), d.one(lex.JOBS)
    job_en = job.plural if who.is_plural else with_article(job.en)
    return question(f"{who.zh}是{job.zh}吗", f"{who.be} {who.en} {job_en}")


def be_animal(d: Draw) -> Phrase:
    who, animal = d.one((lex.I, lex.YOU, lex.WE)), d.one(lex.ANIMALS)
    if who.is_plural:
        return statement(f"{who.zh}是{animal.zh}", f"{who.en} are {animal.plural}")
    animal_zh, animal_en = animal.count(1)
    return statement(f"{who.zh}是{animal_zh}", f"{who.en} {who.be} {animal_en}")


def not_be_animal(d: Draw) -> Phrase:
    who, animal, other = d.one((lex.I, lex.YOU)), *d.two(lex.ANIMALS)
    no_zh, no_en = animal.count(1)
    yes_zh, yes_en = other.count(1)
    if d.pick((True, False)):
        return statement(f"{who.zh}不是{animal.zh}", f"{who.is_not} {no_en}")
    return statement(
        f"{who.zh}是{yes_zh}，不是{no_zh}",
        f"{who.en} {who.be} {yes_en}, not {no_en}",
    )


def ask_this_or_that(d: Draw) -> Phrase:
    pointer = d.one(_POINTERS)
    group = d.pick((lex.ANIMALS, lex.PIECES_OF_FOOD, lex.CLOTHES, lex.READING, lex.VEHICLES))
    (one_zh, one_en), (other_zh, other_en) = (noun.count(1) for noun in d.two(group))
    return question(f"{pointer.zh}是{one_zh}还是{other_zh}", f"is {pointer.en} {one_en} or {other_en}")


def be_thing(d: Draw) -> Phrase:
    pointer, noun = d.one(_POINTERS), d.one(lex.NAMEABLE)
    noun_zh, noun_en = noun.count(1)
    return statement(f"{pointer.zh}是{noun_zh}", f"{pointer.en} is {noun_en}")


def not_be_thing(d: Draw) -> Phrase:
    pointer, noun = d.one(_POINTERS), d.one(lex.NAMEABLE)
    return statement(f"{pointer.zh}不是{noun.zh}", f"{pointer.en} isn't {with_article(noun.en)}")


def be_things(d: Draw) -> Phrase:
    pointer, noun = d.one(_PLURAL_POINTERS), d.one(lex.NAMEABLE)
    return statement(f"{pointer.zh}是{noun.zh}", f"{pointer.en} are {noun.plural}")


def be_mine(d: Draw) -> Phrase:
    pointer = d.one(_POINTERS)
    zh, en = d.owned(d.owner(), d.one(lex.OWNED))
    return statement(f"{pointer.zh}是{zh}", f"{pointer.en} is {en}")


def not_be_mine(d: Draw) -> Phrase:
    pointer = d.one(_POINTERS)
    zh, en = d.owned(d.owner(), d.one(lex.OWNED))
    return statement(f"{pointer.zh}不是{zh}", f"{pointer.en} isn't {en}")


def ask_be_yours(d: Draw) -> Phrase:
    pointer = d.one(_POINTERS)
    zh, en = d.owned(d.asked_about(), d.one(lex.OWNED))
    return question(f"{pointer.zh}是{zh}吗", f"is {pointer.en} {en}")


def ask_whose(d: Draw) -> Phrase:
    noun = d.one(lex.OWNED)
    if d.pick((True, False)):
        pointer = d.one(_POINTERS)
        return question(f"{pointer.zh}是谁的{noun.zh}", f"whose {noun.en} is {pointer.en}")
    pointer = d.one(_PLURAL_POINTERS)
    return question(f"{pointer.zh}是谁的{noun.zh}", f"whose {noun.plural} are {pointer.en}")


def come_from(d: Draw) -> Phrase:
    who, place = d.subject(), d.one((*lex.COUNTRIES, *lex.CITIES))
    return statement(f"{who.zh}来自{place.zh}", f"{who.en} {who.be} from {place.en}")


def live_in(d: Draw) -> Phrase:
    who, place = d.subject(), d.one((*lex.COUNTRIES, *lex.CITIES))
    return statement(f"{who.zh}住在{place.zh}", f"{who.en} {who.agree('live')} in {place.en}")


def ask_live_in(d: Draw) -> Phrase:
    who, place = d.asked_about(), d.one((*lex.COUNTRIES, *lex.CITIES))
    return question(f"{who.zh}住在{place.zh}吗", f"{who.do} {who.en} live in {place.en}")


def work_at(d: Draw) -> Phrase:
    who, building = d.person(), d.one(lex.WORKPLACES)
    zh, en = building.count(1)
    return statement(f"{who.zh}在{zh}工作", f"{who.en} {who.agree('work')} at {en}")


def age(d: Draw) -> Phrase:
    who, years = d.young_person(), d.number(12, 30)
    return statement(f"{who.zh}今年{number_zh(years)}岁", f"{who.en} {who.be} {number_en(years)} years old this year")


# Having


def have(d: Draw) -> Phrase:
    who = d.subject()
    zh, en = d.count(d.one(lex.OWNED))
    return statement(f"{who.zh}有{zh}", f"{who.en} {who.have} {en}")


def have_many(d: Draw) -> Phrase:
    who, noun = d.subject(), d.one((*lex.OWNED, lex.FRIEND))
    return statement(f"{who.zh}有很多{noun.zh}", f"{who.en} {who.have} many {noun.plural}")


def not_have(d: Draw) -> Phrase:
    who, noun = d.subject(), d.one(lex.OWNED)
    return statement(f"{who.zh}没有{noun.zh}", f"{who.en} {who.do}n't have {with_article(noun.en)}")


def ask_have(d: Draw) -> Phrase:
    who, noun = d.asked_about(), d.one(lex.OWNED)
    return question(f"{who.zh}有{noun.zh}吗", f"{who.do} {who.en} have {with_article(noun.en)}")


def ask_how_many(d: Draw) -> Phrase:
    who, noun = d.asked_about(), d.one((*lex.OWNED, lex.FRIEND))
    return question(f"{who.zh}有几{noun.measure}{noun.zh}", f"how many {noun.plural} {who.do} {who.en} have")


def have_described(d: Draw) -> Phrase:
    who = d.subject()
    noun, adjective = d.described_with(_BEFORE, (*lex.DESCRIBED_OWN, lex.DESCRIBED_PETS))
    zh = f"一{noun.measure}{adjective.before}{noun.zh}"
    return statement(f"{who.zh}有{zh}", f"{who.en} {who.have} {with_article(f'{adjective.en} {noun.en}')}")


def have_colored(d: Draw) -> Phrase:
    who, noun, color = d.subject(), d.one(lex.COLORED), d.one(lex.COLORS)
    en = with_article(f"{color.en} {noun.en}")
    return statement(f"{who.zh}有一{noun.measure}{color.zh}的{noun.zh}", f"{who.en} {who.have} {en}")


# Places


def there_is(d: Draw) -> Phrase:
    place, nouns = d.pick(lex.SCENES)
    n = d.number(1, 10)
    noun = d.one(nouns)
    zh, en = noun.count(n)
    d.words.append(place.zh)
    return statement(f"{place.inside}有{zh}", f"there {'is' if n == 1 else 'are'} {en} {place.at}")


def there_are_dozens(d: Draw) -> Phrase:
    place, noun = _scene(d)
    zh, en = noun.count(d.number(11, 30))
    return statement(f"{place.inside}有{zh}", f"there are {en} {place.at}")


def there_lies(d: Draw) -> Phrase:
    spot, nouns = d.pick(lex.SPOTS)
    n = d.number(1, 5)
    noun = d.one(nouns)
    zh, en = noun.count(n)
    d.words.append(spot.zh)
    return statement(f"{spot.zh}有{zh}", f"there {'is' if n == 1 else 'are'} {en} {spot.en}")


def there_are_many(d: Draw) -> Phrase:
    place, noun = _scene(d)
    return statement(f"{place.inside}有很多{noun.zh}", f"there are many {noun.plural} {place.at}")


def there_are_no(d: Draw) -> Phrase:
    place, noun = _scene(d)
    return statement(f"{place.inside}没有{noun.zh}", f"there are no {noun.plural} {place.at}")


def ask_there_is(d: Draw) -> Phrase:
    spot, nouns = d.pick(lex.SPOTS)
    noun = d.one(nouns)
    d.words.append(spot.zh)
    return question(f"{spot.zh}有{noun.zh}吗", f"is there {with_article(noun.en)} {spot.en}")


def ask_how_many_there(d: Draw) -> Phrase:
    place, noun = _scene(d)
    return question(f"{place.inside}有几{noun.measure}{noun.zh}", f"how many {noun.plural} are there {place.at}")


def lie(d: Draw) -> Phrase:
    spot, nouns = d.pick(lex.SPOTS)
    zh, en = d.owned(d.owner(), d.one(nouns))
    d.words.append(spot.zh)
    return statement(f"{zh}在{spot.zh}", f"{en} is {spot.en}")


def not_lie(d: Draw) -> Phrase:
    spot, nouns = d.pick(lex.SPOTS)
    zh, en = d.owned(d.owner(), d.one(nouns))
    d.words.append(spot.zh)
    return statement(f"{zh}不在{spot.zh}", f"{en} isn't {spot.en}")


def ask_where(d: Draw) -> Phrase:
    zh, en = d.owned(d.owner(), d.one(lex.OWNED))
    return question(f"{zh}在哪里", f"where is {en}")


def be_at(d: Draw) -> Phrase:
    who, place = d.person(), d.one(_WHERE_PEOPLE_ARE)
    return statement(f"{who.zh}现在在{place.inside}", f"{who.en} {who.be} {place.at} now")


def not_be_at(d: Draw) -> Phrase:
    who, place = d.person(), d.one(_WHERE_PEOPLE_ARE)
    return statement(f"{who.zh}现在不在{place.inside}", f"{who.is_not} {place.at} now")


# What it is like


def feel(d: Draw) -> Phrase:
    who, state = d.subject(), d.one((*lex.STATES, *lex.TRAITS))
    degree = d.one(_DEGREES)
    return statement(f"{who.zh}{degree.zh}{state.zh}", f"{who.en} {who.be} {degree.en}{state.en}")


def not_feel(d: Draw) -> Phrase:
    who, state = d.subject(), d.one((*lex.STATES, *lex.TRAITS))
    return statement(f"{who.zh}{state.negated_zh}", f"{who.is_not} {state.en}")


def ask_feel(d: Draw) -> Phrase:
    who, state = d.asked_about(), d.one((*lex.STATES, *lex.TRAITS))
    return question(f"{who.zh}{state.zh}吗", f"{who.be} {who.en} {state.en}")


def this_is_good(d: Draw) -> Phrase:
    noun, adjective = d.described(lex.DESCRIBED_THINGS)
    (zh, en), degree = d.pointed(noun), d.one(_DEGREES)
    return statement(f"{zh}{degree.zh}{adjective.zh}", f"{en} is {degree.en}{adjective.en}")


def this_is_too(d: Draw) -> Phrase:
    noun, adjective = d.described_with(_EXCESSIVE, lex.DESCRIBED_THINGS)
    zh, en = d.pointed(noun)
    return statement(f"{zh}太{adjective.zh}了", f"{en} is too {adjective.en}")


def mine_is_not(d: Draw) -> Phrase:
    noun, adjective = d.described((*lex.DESCRIBED_OWN, lex.DESCRIBED_PETS))
    zh, en = d.owned(d.owner(), noun)
    return statement(f"{zh}{adjective.negated_zh}", f"{en} isn't {adjective.en}")


def ask_this_is(d: Draw) -> Phrase:
    noun, adjective = d.described(lex.DESCRIBED_THINGS)
    zh, en = d.pointed(noun)
    return question(f"{zh}{adjective.zh}吗", f"is {en} {adjective.en}")


def these_are_all(d: Draw) -> Phrase:
    pointer = d.one(_PLURAL_POINTERS)
    noun, adjective = d.described(lex.DESCRIBED_THINGS)
    return statement(f"{pointer.zh}{noun.zh}都很{adjective.zh}", f"all {pointer.en} {noun.plural} are {adjective.en}")


def colored(d: Draw) -> Phrase:
    noun, color = d.one(lex.COLORED), d.one(lex.COLORS)
    zh, en = d.owned(d.owner(), noun)
    return statement(f"{zh}是{color.zh}的", f"{en} is {color.en}")


def relatives_is(d: Draw) -> Phrase:
    noun, adjective = d.described(lex.DESCRIBED_OWN)
    (zh, en), degree = d.owned(d.relative(), noun), d.one(_DEGREES)
    return statement(f"{zh}{degree.zh}{adjective.zh}", f"{en} is {degree.en}{adjective.en}")


def cost(d: Draw) -> Phrase:
    noun = d.one((*lex.CLOTHES, *lex.READING[:4], *lex.BELONGINGS))
    (zh, en), yuan = d.pointed(noun), d.pick(_PRICES)
    d.words.append(number_zh(yuan))
    return statement(f"{zh}{number_zh(yuan)}元", f"{en} costs {number_en(yuan)} yuan")


def ask_cost(d: Draw) -> Phrase:
    noun = d.one((*lex.DURABLES, *lex.PIECES_OF_FOOD, *lex.PETS))
    (zh, en), shape = d.pointed(noun), d.pick((0, 0, 1))
    if shape == 1:
        n = d.number(2, 9)
        these_zh, these_en = noun.count(n)
        return question(f"{these_zh}多少钱", f"how much are {these_en}")
    return question(f"{zh}多少钱", f"how much is {en}")


# Comparing


def compare_things(d: Draw) -> Phrase:
    noun, adjective = d.described((*lex.DESCRIBED_OWN, lex.DESCRIBED_PETS))
    (zh, en), (other_zh, other_en) = (d.owned(owner, noun) for owner in d.two(_OWNERS))
    return statement(f"{zh}比{other_zh}{adjective.zh}", f"{en} is {adjective.comparative} than {other_en}")


def compare_pointed(d: Draw) -> Phrase:
    noun, adjective = d.described(lex.DESCRIBED_THINGS)
    (zh, en), (other_zh, other_en) = noun.this(), noun.that()
    return statement(f"{zh}比{other_zh}{adjective.zh}", f"{en} is {adjective.comparative} than {other_en}")


def not_as_good(d: Draw) -> Phrase:
    noun, adjective = d.described((*lex.DESCRIBED_OWN, lex.DESCRIBED_PETS))
    (zh, en), (other_zh, other_en) = (d.owned(owner, noun) for owner in d.two(_OWNERS))
    return statement(f"{zh}没有{other_zh}{adjective.zh}", f"{en} isn't as {adjective.en} as {other_en}")


def compare_people(d: Draw) -> Phrase:
    (who, other), trait = d.rivals(d.person), d.one((*lex.TRAITS, lex.BUSY))
    return statement(
        f"{who.zh}比{other.zh}{trait.zh}",
        f"{who.en} {who.be} {trait.comparative} than {other.obj}",
    )


def as_good_as(d: Draw) -> Phrase:
    (who, other), trait = d.rivals(d.person), d.one((*lex.TRAITS, lex.BUSY, lex.TIRED))
    return statement(f"{who.zh}和{other.zh}一样{trait.zh}", f"{who.en} {who.be} as {trait.en} as {other.obj}")


def ask_compare_people(d: Draw) -> Phrase:
    (who, other), trait = d.rivals(d.asked_about), d.one((*lex.TRAITS, lex.BUSY))
    return question(f"{who.zh}比{other.zh}{trait.zh}吗", f"{who.be} {who.en} {trait.comparative} than {other.obj}")


def compare_animals(d: Draw) -> Phrase:
    ranks = len(lex.BY_SIZE)
    low = d.pick(range(ranks - 1))
    big = d.one([animal for rank in lex.BY_SIZE[low + 1 :] for animal in rank])
    small, adjective = d.one(lex.BY_SIZE[low]), d.one((lex.BIG, lex.HEAVY, lex.SMALL, lex.LIGHT))
    first, second = (big, small) if adjective in (lex.BIG, lex.HEAVY) else (small, big)
    return statement(
        f"{first.zh}比{second.zh}{adjective.zh}",
        f"{first.plural} are {adjective.comparative} than {second.plural}",
    )


def ask_compare_pointed(d: Draw) -> Phrase:
    noun, adjective = d.described(lex.DESCRIBED_THINGS)
    (zh, en), (other_zh, other_en) = noun.this(), noun.that()
    return question(f"{zh}比{other_zh}{adjective.zh}吗", f"is {en} {adjective.comparative} than {other_en}")


def this_is_best(d: Draw) -> Phrase:
    noun, adjective = d.described(lex.DESCRIBED_THINGS)
    zh, en = d.pointed(noun)
    return statement(f"{zh}最{adjective.zh}", f"{en} is the {adjective.superlative}")


def ask_which_best(d: Draw) -> Phrase:
    noun, adjective = d.described(lex.DESCRIBED_THINGS)
    zh = f"哪{noun.measure}{noun.zh}最{adjective.zh}"
    return question(zh, f"which {noun.en} is the {adjective.superlative}")


def best_of_mine(d: Draw) -> Phrase:
    pointer, owner = d.one(_POINTERS), d.owner()
    noun, adjective = d.described((*lex.DESCRIBED_OWN, lex.DESCRIBED_PETS))
    zh = f"{pointer.zh}是{owner.zh}最{adjective.zh}的{noun.zh}"
    return statement(zh, f"{pointer.en} is {owner.possessive} {adjective.superlative} {noun.en}")


def best_in_city(d: Draw) -> Phrase:
    pointer, city, noun = d.one(_POINTERS), d.one(lex.CITIES), d.one(lex.BUILDINGS)
    adjective = d.one(_RECORDS)
    zh = f"{pointer.zh}是{city.zh}最{adjective.zh}的{noun.zh}"
    return statement(zh, f"{pointer.en} is the {adjective.superlative} {noun.en} in {city.en}")


_POINTERS = (Word("这", "this"), Word("那", "that"))
_PLURAL_POINTERS = (Word("这些", "these"), Word("那些", "those"))
_DEGREES = (Word("很", ""), Word("非常", "very "))
_PRICES = (15, 20, 25, 30, 50, 80)  # yuan
_OWNERS = (*lex.PRONOUNS[:4], *lex.NAMES)
_WHERE_PEOPLE_ARE = (*lex.GOALS, lex.HOME, lex.OFFICE, lex.KITCHEN, lex.GARDEN, lex.BEDROOM, lex.LIVING_ROOM)
_BEFORE = (
    lex.BIG,
    lex.NEW,
    lex.OLD,
    lex.CHEAP,
    lex.BEAUTIFUL,
    lex.CLEAN,
    lex.COMFORTABLE,
    lex.USEFUL,
    lex.INTERESTING,
    lex.BORING,
    lex.CUTE,
    lex.SMART,
)
_EXCESSIVE = (
    lex.BIG,
    lex.SMALL,
    lex.OLD,
    lex.EXPENSIVE,
    lex.DIRTY,
    lex.HEAVY,
    lex.SLOW,
    lex.BORING,
    lex.THICK,
    lex.FAT,
    lex.LAZY,
)
_RECORDS = (lex.BIG, lex.SMALL, lex.NEW, lex.BEAUTIFUL, lex.QUIET, lex.FAMOUS)


def _scene(d: Draw) -> tuple[Place, Noun]:
    place, nouns = d.pick(lex.SCENES)
    d.words.append(place.zh)
    return place, d.one(nouns)


FRAMES = (
    be_person,
    not_be_person,
    ask_be_person,
    be_animal,
    not_be_animal,
    ask_this_or_that,
    be_thing,
    not_be_thing,
    be_things,
    be_mine,
    not_be_mine,
    ask_be_yours,
    ask_whose,
    come_from,
    live_in,
    ask_live_in,
    work_at,
    age,
    have,
    have_many,
    not_have,
    ask_have,
    ask_how_many,
    have_described,
    have_colored,
    there_is,
    there_are_dozens,
    there_lies,
    there_are_many,
    there_are_no,
    ask_there_is,
    ask_how_many_there,
    lie,
    not_lie,
    ask_where,
    be_at,
    not_be_at,
    feel,
    not_feel,
    ask_feel,
    this_is_good,
    this_is_too,
    mine_is_not,
    ask_this_is,
    these_are_all,
    colored,
    relatives_is,
    cost,
    ask_cost,
    compare_things,
    compare_pointed,
    not_as_good,
    compare_people,
    as_good_as,
    ask_compare_people,
    compare_animals,
    ask_compare_pointed,
    this_is_best,
    ask_which_best,
    best_of_mine,
    best_in_city,
)
