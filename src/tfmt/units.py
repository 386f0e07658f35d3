"""Amounts of training: updates, epochs, target tokens, minutes.

As a user writes them: `500` or "500u" updates, "50ku", "30e" epochs, "2Gt" target tokens, "90m" minutes, "1.5h".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, PlainSerializer

Unit = Literal["updates", "epochs", "tokens", "minutes"]

PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
COUNTS: dict[str, Unit] = {"u": "updates", "t": "tokens"}  # whole numbers, which alone take a prefix
MEASURES: dict[str, tuple[Unit, Fraction]] = {
    "e": ("epochs", Fraction(1)),
    "s": ("minutes", Fraction(1, 60)),
    "m": ("minutes", Fraction(1)),
    "h": ("minutes", Fraction(60)),
}
PATTERN = re.compile(r"(\d+(?:\.\d+)?)(?:([kMG]?)([ut])|([esmh]))")
ROUNDING = 1e-9  # three tenths of an epoch are three times a tenth


@dataclass(frozen=True)
class Amount:
    """So many updates, epochs, target tokens or minutes of training; updates and tokens are whole numbers."""

    number: float
    unit: Unit

    @classmethod
    def parse(cls, text: str) -> Amount:
        """Read "50ku" and the like; raises ValueError."""
        found = PATTERN.fullmatch(text)
        if not found:
            raise ValueError(
                f'"{text}" is no amount of training; write "500u" or "5ku" (updates), "0.5e" (epochs), '
                '"10Mt" (target tokens), "90s", "15m" or "2h"'
            )
        number, prefix, count, measure = found.groups()
        if measure:
            unit, size = MEASURES[measure]
            return cls(float(Fraction(number) * size), unit)
        total = Fraction(number) * PREFIXES[prefix]
        if total.denominator != 1:
            raise ValueError(f'"{text}" is no whole number of {COUNTS[count]}')
        return cls(int(total), COUNTS[count])

    def written(self) -> int | str:
        """What `parse` reads, or a plain number of updates."""
        match self.unit:
            case "updates":
                return int(self.number)
            case "tokens":
                return f"{int(self.number)}t"
            case "epochs":
                return f"{_without_exponent(self.number)}e"
            case "minutes":
                return f"{_without_exponent(self.number)}m"


def _without_exponent(number: float) -> str:
    return f"{Decimal(repr(number)).normalize():f}"


@dataclass(frozen=True)
class Position:
    """How far a training has come, by each of its measures."""

    updates: int = 0
    epochs: float = 0.0
    tokens: int = 0
    minutes: float = 0.0

    def intervals(self, every: Amount) -> int:
        """How many whole intervals lie behind; 0 where `every` is 0."""
        if not every.number:
            return 0
        match every.unit:
            case "updates":
                return int(self.updates // every.number)
            case "tokens":
                return int(self.tokens // every.number)
            case "epochs":
                return int(self.epochs / every.number + ROUNDING)
            case "minutes":
                return int(self.minutes / every.number + ROUNDING)


START = Position()


def is_due(every: Amount, last: Position, now: Position) -> bool:
    """Whether an interval has ended between two positions: a function of them alone, so that a stop changes nothing."""
    return now.intervals(every) > last.intervals(every)


# What follows is for fields of the configuration: numbers of one unit, and intervals in any.


def _in(unit: Unit) -> BeforeValidator:
    """Take "50ku" and the like as the number of `unit` it means, and leave numbers alone."""

    def number_of(value: object) -> object:
        if not isinstance(value, str):
            return value
        amount = Amount.parse(value)
        if amount.unit != unit:
            raise ValueError(
                f'"{value}" counts {amount.unit}, this key {unit}; '
                "limits are max_steps, max_epochs, max_tokens and max_minutes"
            )
        return amount.number

    return BeforeValidator(number_of)


def _interval(value: object) -> object:
    """Take a whole number as updates, and read a text with a unit."""
    if isinstance(value, Amount):
        return value
    if type(value) is int and value >= 0:
        return Amount(value, "updates")
    if isinstance(value, str):
        return Amount.parse(value)
    raise ValueError(f'{value!r} is no interval; write a whole number of updates, or "0.5e", "10Mt", "15m"')


def _positive(value: Amount) -> Amount:
    if not value.number:
        raise ValueError("must be more than 0")
    return value


Updates = Annotated[int, _in("updates")]
Epochs = Annotated[float, _in("epochs")]
Tokens = Annotated[int, _in("tokens")]
Minutes = Annotated[float, _in("minutes")]
Interval = Annotated[Amount, BeforeValidator(_interval), PlainSerializer(Amount.written)]
PositiveInterval = Annotated[Interval, AfterValidator(_positive)]
