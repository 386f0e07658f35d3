"""Amounts of training, and when an interval of them has ended."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tfmt.units import START, Amount, Position, is_due


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("500u", 500, "updates"),
        ("50ku", 50_000, "updates"),
        ("1.5ku", 1500, "updates"),
        ("2Gt", 2_000_000_000, "tokens"),
        ("0.3Mt", 300_000, "tokens"),
        ("30e", 30.0, "epochs"),
        ("0.1e", 0.1, "epochs"),
        ("90m", 90.0, "minutes"),
        ("1.5h", 90.0, "minutes"),
        ("30s", 0.5, "minutes"),
    ],
)
def test_what_a_user_writes(text, number, unit):
    amount = Amount.parse(text)
    assert amount == Amount(number, unit)
    assert type(amount.number) is type(number)


@pytest.mark.parametrize("text", ["50k", "50", "", "u", "-5u", "5 u", "1ke", "5km", "1e3u", "5U", "nan", "1.e"])
def test_what_is_no_amount(text):
    with pytest.raises(ValueError, match="is no amount of training; write"):
        Amount.parse(text)


def test_updates_and_tokens_are_whole():
    with pytest.raises(ValueError, match=r'"0.5u" is no whole number of updates'):
        Amount.parse("0.5u")


@pytest.mark.parametrize("text", ["7ku", "3Mt", "0.1e", "100e", "20s", "0.001s", "2h"])
def test_what_is_written_is_read_again(text):
    amount = Amount.parse(text)
    written = amount.written()
    again = Amount(written, "updates") if isinstance(written, int) else Amount.parse(written)
    assert again == amount


def test_a_tenth_of_an_epoch_ends_ten_times_an_epoch():
    every, ends, last = Amount.parse("0.1e"), [], START
    for update in range(1, 31):
        now = Position(update, epochs=update // 10 + update % 10 / 10)
        if is_due(every, last, now):
            ends.append(update)
            last = now
    assert ends == list(range(1, 31))


@pytest.mark.parametrize("text", ["7u", "0.3e", "950t", "20s"])
def test_what_is_due_does_not_depend_on_stops(text):
    """Each interval is noticed once, at the first update after its end, wherever the last position was taken."""
    every = Amount.parse(text)
    generator = random.Random(1)
    positions, tokens, minutes = [START], 0, 0.0
    for update in range(1, 200):
        tokens += generator.randint(100, 200)
        minutes += generator.random() / 10
        positions.append(Position(update, update / 13, tokens, minutes))
    straight = [b.updates for a, b in pairwise(positions) if is_due(every, a, b)]
    last, with_stops = START, []
    for now in positions[1:]:
        if is_due(every, last, now):
            with_stops.append(now.updates)
            last = now
        elif generator.random() < 0.3:  # saved for a stop, in between
            last = now
    assert with_stops == straight
    assert len(straight) > 5


def test_never_is_never_due():
    assert not is_due(Amount(0, "updates"), START, Position(10**9, 1e9, 10**9, 1e9))
