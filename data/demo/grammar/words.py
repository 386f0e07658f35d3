"""Kinds of word: each holds its Chinese and makes its English forms.

The spelling rules cover the words of `lexicon`, no more; what they would get wrong is written out there.
"""

from dataclasses import dataclass
from typing import NamedTuple

_ONES_ZH = "零一二三四五六七八九"
_ONES_EN = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS_EN = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_A_BEFORE_VOWEL = ("useful", "university")
_AN_BEFORE_CONSONANT = ("honest",)


class Phrase(NamedTuple):
    """The same thing said in both languages."""

    zh: str
    en: str


def statement(zh: str, en: str) -> Phrase:
    return Phrase(zh, en[0].upper() + en[1:])


def question(zh: str, en: str) -> Phrase:
    return statement(zh + "？", en + "?")


def number_zh(n: int) -> str:
    """Chinese numeral of 0 to 99 as in counting or dates: two is 二, not 两."""
    tens, ones = divmod(n, 10)
    if tens == 0:
        return _ONES_ZH[ones]
    return (_ONES_ZH[tens] if tens > 1 else "") + "十" + (_ONES_ZH[ones] if ones else "")


def count_zh(n: int) -> str:
    """Chinese numeral before a measure word: two is 两."""
    return "两" if n == 2 else number_zh(n)


def number_en(n: int) -> str:
    tens, ones = divmod(n, 10)
    if tens < 2:
        return _ONES_EN[n]
    return _TENS_EN[tens - 2] + (f"-{_ONES_EN[ones]}" if ones else "")


def with_article(en: str) -> str:
    """`en` behind "a" or "an"."""
    vowel = en[0] in "aeiou" and not en.startswith(_A_BEFORE_VOWEL)
    return f"{'an' if vowel or en.startswith(_AN_BEFORE_CONSONANT) else 'a'} {en}"


def add_s(en: str) -> str:
    """Regular plural of a noun and third person of a verb."""
    if en.endswith("y") and en[-2] not in "aeiou":
        return en[:-1] + "ies"
    return en + ("es" if en.endswith(("s", "x", "ch", "sh")) else "s")


@dataclass(frozen=True)
class Word:
    """A word with one form, such as a color or a city."""

    zh: str
    en: str

    @property
    def generic(self) -> str:
        return self.en


@dataclass(frozen=True)
class Noun:
    """A thing that can be counted."""

    zh: str
    measure: str
    en: str
    irregular: str = ""  # plural, where `add_s` is wrong

    @property
    def plural(self) -> str:
        return self.irregular or add_s(self.en)

    @property
    def generic(self) -> str:
        """English of the bare Chinese noun in "I like ...": the kind, not one of it."""
        return self.plural

    def count(self, n: int) -> Phrase:
        en = with_article(self.en) if n == 1 else f"{number_en(n)} {self.plural}"
        return Phrase(count_zh(n) + self.measure + self.zh, en)

    def this(self) -> Phrase:
        return Phrase(f"这{self.measure}{self.zh}", f"this {self.en}")

    def that(self) -> Phrase:
        return Phrase(f"那{self.measure}{self.zh}", f"that {self.en}")


@dataclass(frozen=True)
class Mass:
    """Something counted by its unit only: a cup of tea, two slices of bread."""

    zh: str
    measure: str
    en: str
    unit: str

    @property
    def generic(self) -> str:
        return self.en

    def count(self, n: int) -> Phrase:
        unit = with_article(self.unit) if n == 1 else f"{number_en(n)} {add_s(self.unit)}"
        return Phrase(count_zh(n) + self.measure + self.zh, f"{unit} of {self.en}")


@dataclass(frozen=True)
class Adjective:
    zh: str
    en: str
    more: str = ""  # comparative, where it is not "more ..."
    most: str = ""
    before: str = ""  # Chinese form before a noun; empty where it does not stand there

    @property
    def negated_zh(self) -> str:
        return ("没" if self.zh.startswith("有") else "不") + self.zh

    @property
    def comparative(self) -> str:
        return self.more or f"more {self.en}"

    @property
    def superlative(self) -> str:
        return self.most or f"most {self.en}"


@dataclass(frozen=True)
class Person:
    """Who does it: a pronoun, a name, or a phrase like "my mother"."""

    zh: str
    en: str
    obj: str
    possessive: str
    be: str  # am, are, is
    own_pronoun: "Person | None" = None  # he for Tom; None for the pronouns

    @property
    def pronoun(self) -> "Person":
        return self.own_pronoun or self

    @property
    def of_zh(self) -> str:
        return f"{self.zh}的"

    @property
    def is_third(self) -> bool:
        return self.be == "is"

    @property
    def is_plural(self) -> bool:
        return self.pronoun.en in ("we", "they")

    @property
    def is_not(self) -> str:
        """Subject and verb in one: "I'm not", "he isn't"."""
        return "I'm not" if self.be == "am" else f"{self.en} {self.be}n't"

    def agree(self, verb: str) -> str:
        """The present of a regular verb: "like" or "likes"."""
        return add_s(verb) if self.is_third else verb

    @property
    def do(self) -> str:
        return "does" if self.is_third else "do"

    @property
    def have(self) -> str:
        return "has" if self.is_third else "have"


def named(zh: str, en: str, pronoun: Person) -> Person:
    """A person called by a name or a noun phrase, spoken of as `pronoun`."""
    possessive = f"{en}'" if pronoun.be == "are" and en.endswith("s") else f"{en}'s"
    return Person(zh, en, en, possessive, pronoun.be, pronoun)


@dataclass(frozen=True)
class Verb:
    base: str
    irregular_past: str = ""
    irregular_done: str = ""  # past participle, where it is not the past
    irregular_ing: str = ""
    irregular_third: str = ""

    @property
    def third(self) -> str:
        return self.irregular_third or add_s(self.base)

    @property
    def past(self) -> str:
        if self.irregular_past:
            return self.irregular_past
        if self.base.endswith("y") and self.base[-2] not in "aeiou":
            return self.base[:-1] + "ied"
        return self.base + ("d" if self.base.endswith("e") else "ed")

    @property
    def done(self) -> str:
        return self.irregular_done or self.past

    @property
    def ing(self) -> str:
        drops_e = self.base.endswith("e") and not self.base.endswith("ee")
        return self.irregular_ing or (self.base[:-1] if drops_e else self.base) + "ing"


@dataclass(frozen=True)
class Place:
    zh: str
    at: str  # in the park, at school
    to: str  # to the park
    zh_at: str = ""  # where it is not `zh` + 里

    @property
    def inside(self) -> str:
        return self.zh_at or f"{self.zh}里"


@dataclass(frozen=True)
class Action:
    """A verb with what follows it; `~` in the English stands for my, your, his ..."""

    verb_zh: str
    object_zh: str
    verb: Verb
    rest: str = ""
    places: tuple[Place, ...] = ()

    @property
    def zh(self) -> str:
        return self.verb_zh + self.object_zh

    def base(self, who: Person) -> str:
        return self._with(self.verb.base, who)

    def now(self, who: Person) -> str:
        return self._with(self.verb.third if who.is_third else self.verb.base, who)

    def past(self, who: Person) -> str:
        return self._with(self.verb.past, who)

    def done(self, who: Person) -> str:
        return self._with(self.verb.done, who)

    def ing(self, who: Person) -> str:
        return self._with(self.verb.ing, who)

    def _with(self, form: str, who: Person) -> str:
        return f"{form} {self.rest}".strip().replace("~", who.pronoun.possessive)


@dataclass(frozen=True)
class Transitive:
    """A verb and the things it can sensibly be done to."""

    zh: str
    verb: Verb
    objects: tuple[Noun, ...]

    def on(self, thing: Phrase) -> Action:
        return Action(self.zh, thing.zh, self.verb, thing.en)


@dataclass(frozen=True)
class Described:
    """Nouns and the adjectives that fit each of them."""

    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
