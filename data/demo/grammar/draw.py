"""Random choice of words and phrases, with a record of what was chosen."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from .lexicon import (
    CHILD,
    DOCTOR,
    FARMER,
    FOR_ADULTS,
    FOR_PUPILS,
    HE,
    JOBS,
    MEN,
    NAMES,
    NURSE,
    PRONOUNS,
    SHE,
    STUDENT,
    TEACHER,
    THEY,
    WAITER,
    WOMEN,
    WORKER,
    YOU,
    YOUNG_MEN,
    YOUNG_WOMEN,
    I,
)
from .words import Action, Adjective, Described, Mass, Noun, Person, Phrase, Word, count_zh, named, number_zh

_T = TypeVar("_T")
_GROUPS = (STUDENT, TEACHER, DOCTOR, NURSE, WAITER, WORKER, FARMER)
_ASKED_ABOUT = (YOU, YOU, HE, SHE, THEY)
_YOUNG = (*YOUNG_MEN, *YOUNG_WOMEN)


class Draw:
    """The choices behind one sentence; `words` lists the Chinese of each content word chosen."""

    def __init__(self, random: Random) -> None:
        self.words: list[str] = []
        self._random = random

    def one(self, options: Sequence[_T]) -> _T:
        """Choose an option, on the record where it is a word (it has `zh`)."""
        option = self.pick(options)
        if hasattr(option, "zh"):
            self.words.append(option.zh)
        return option

    def pick(self, options: Sequence[_T]) -> _T:
        """Choose an option off the record: a group of words, or the shape of a phrase."""
        return self._random.choice(options)

    def two(self, options: Sequence[_T]) -> tuple[_T, _T]:
        """Two options that are not equal."""
        first = self.one(options)
        return first, self.one([option for option in options if option != first])

    def number(self, low: int, high: int) -> int:
        n = self._random.randint(low, high)
        self.words.append(number_zh(n))
        return n

    def person(self) -> Person:
        """A pronoun, a name or a relative."""
        return self.pick((self._pronoun, self._pronoun, self._name, self.relative))()

    def teller(self) -> Person:
        """Anyone but you, whose thoughts and plans one does not tell you."""
        return self.pick((self._not_you, self._not_you, self._name, self._relative_of_ours))()

    def young_person(self) -> Person:
        return self.pick((self._pronoun, self._pronoun, self._name, self._young_relative))()

    def other_person(self) -> Person:
        """A third person: neither I nor you nor we."""
        return self.pick((self._he_or_they, self._name, self.relative))()

    def subject(self) -> Person:
        """As `person`, sometimes "this teacher" or "the teachers"."""
        return self.pick((self.person, self.person, self.person, self.person, self._worker, self._group))()

    def doer(self, action: Action) -> Person:
        """Somebody who may well do `action`: homework is for the young, work for the grown."""
        if action in FOR_PUPILS:
            return self.pick((self._pronoun, self._name, self._young_relative, self._pupils))()
        return self.person() if action in FOR_ADULTS or "~" in action.rest else self.subject()

    def asked_about(self) -> Person:
        """Somebody to ask about: one does not ask others about oneself."""
        relative = self._relative_of_others
        return self.pick((self._you_or_they, self._you_or_they, self._name, relative))()

    def asked_doer(self, action: Action) -> Person:
        if action not in FOR_PUPILS:
            return self.asked_about()
        return self.pick((self._you_or_they, self._name))()

    def rivals(self, first: Callable[[], Person]) -> tuple[Person, Person]:
        """Two single people to compare, the first drawn by `first`."""
        start = len(self.words)
        while True:
            one, other = first(), self.person()
            if one != other and not one.is_plural and not other.is_plural:
                return one, other
            del self.words[start:]

    def relative(self) -> Person:
        """My mother, your son, and so on."""
        return self._relative_in((I, I, YOU, HE, SHE), (*MEN, *WOMEN))

    def owner(self) -> Person:
        return self.pick((self._pronoun, self._pronoun, self._name))()

    def owned(self, owner: Person, noun: Noun | Word) -> Phrase:
        return Phrase(owner.of_zh + noun.zh, f"{owner.possessive} {noun.en}")

    def count(self, noun: Noun | Mass, most: int = 10) -> Phrase:
        """One to `most` of it; one is the commonest."""
        n = 1 if most == 1 or self.pick((True, False)) else self._random.randint(2, most)
        self.words.append(count_zh(n))
        return noun.count(n)

    def pointed(self, noun: Noun) -> Phrase:
        return self.pick((noun.this, noun.that))()

    def described(self, groups: Sequence[Described]) -> tuple[Noun, Adjective]:
        noun, adjectives = self.pick([(noun, group.adjectives) for group in groups for noun in group.nouns])
        self.words.append(noun.zh)
        return noun, self.one(adjectives)

    def described_with(self, adjectives: Sequence[Adjective], groups: Sequence[Described]) -> tuple[Noun, Adjective]:
        """As `described`, with those of `adjectives` only."""
        fitting = [Described(g.nouns, tuple(a for a in g.adjectives if a in adjectives)) for g in groups]
        return self.described([group for group in fitting if group.adjectives])

    def _pronoun(self) -> Person:
        return self.one(PRONOUNS)

    def _not_you(self) -> Person:
        return self.one([pronoun for pronoun in PRONOUNS if pronoun != YOU])

    def _he_or_they(self) -> Person:
        return self.one((HE, SHE, THEY))

    def _you_or_they(self) -> Person:
        return self.one(_ASKED_ABOUT)

    def _name(self) -> Person:
        return self.one(NAMES)

    def _relative_of_ours(self) -> Person:
        return self._relative_in((I, I, HE, SHE), (*MEN, *WOMEN))

    def _relative_of_others(self) -> Person:
        return self._relative_in((YOU, YOU, HE, SHE), (*MEN, *WOMEN))

    def _young_relative(self) -> Person:
        return self._relative_in((I, I, YOU, HE, SHE), _YOUNG)

    def _relative_in(self, owners: Sequence[Person], relatives: Sequence[Word]) -> Person:
        owner, relative = self.pick(owners), self.one(relatives)
        return named(owner.zh + relative.zh, f"{owner.possessive} {relative.en}", HE if relative in MEN else SHE)

    def _worker(self) -> Person:
        """ "This teacher": Chinese leaves the sex open, so no frame may say his or her of one."""
        job = self.one(JOBS)
        zh, en = self.pointed(job)
        return named(zh, en, HE)

    def _pupils(self) -> Person:
        return self._group_of((STUDENT, CHILD))

    def _group(self) -> Person:
        return self._group_of(_GROUPS)

    def _group_of(self, nouns: Sequence[Noun]) -> Person:
        noun = self.one(nouns)
        return named(f"{noun.zh}们", f"the {noun.plural}", THEY)
