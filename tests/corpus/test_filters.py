"""What is dropped, and that nothing is dropped unseen."""

from __future__ import annotations

import random

import pytest
from pydantic import ValidationError

from tfmt.corpus.filters import (
    RATIO_FROM,
    REASONS,
    FilterConfig,
    FilterReport,
    reason_by_length,
    reason_by_text,
)
from tfmt.corpus.readers import Pair


@pytest.mark.parametrize(
    "blank", ["", " ", "\t", "\u00a0", "\u3000", "\u200b", "\ufeff\u200d", "\r", "\u2028 \u00ad", "\n"]
)
def test_a_side_that_shows_nothing_is_empty(blank: str) -> None:
    config = FilterConfig()
    assert reason_by_text(Pair(blank, "x", ""), config) == "empty_source"
    assert reason_by_text(Pair("x", blank, ""), config) == "empty_target"
    assert reason_by_text(Pair(blank, blank, ""), config) == "empty_source"


@pytest.mark.parametrize("text", ["x", ".", "\u200bx", " 我", "😊", "👩\u200d🚀", "▁", "\ue000"])
def test_a_side_that_shows_something_is_not_empty(text: str) -> None:
    assert reason_by_text(Pair(text, text, ""), FilterConfig()) is None


def test_identical_sides_are_dropped_only_when_asked() -> None:
    pair = Pair("OK", "OK ", "")
    assert reason_by_text(pair, FilterConfig()) is None
    assert reason_by_text(pair, FilterConfig(drop_identical=True)) == "identical"
    assert reason_by_text(Pair("OK", "ok", ""), FilterConfig(drop_identical=True)) is None


def test_too_long_counts_either_side_and_the_limit_is_allowed() -> None:
    config = FilterConfig(max_tokens=50)
    assert reason_by_length(50, 50, config) is None
    assert reason_by_length(51, 50, config) == "too_long"
    assert reason_by_length(50, 51, config) == "too_long"


def test_ratio_spares_short_pairs_and_can_be_turned_off() -> None:
    config = FilterConfig(max_ratio=4)
    assert reason_by_length(1, RATIO_FROM - 1, config) is None
    assert reason_by_length(RATIO_FROM // 4, RATIO_FROM, config) is None
    assert reason_by_length(RATIO_FROM // 4 - 1, RATIO_FROM, config) == "length_ratio"
    assert reason_by_length(RATIO_FROM, RATIO_FROM // 4 - 1, config) == "length_ratio"
    assert reason_by_length(1, 200, FilterConfig(max_ratio=0)) is None


def test_kept_and_dropped_add_up_and_examples_are_the_first_three() -> None:
    report = FilterReport()
    generator = random.Random(1)
    for number in range(200):
        if generator.random() < 0.5:
            report.keep()
        else:
            report.drop(generator.choice(list(REASONS)), Pair("s" * 500, "t", f"a:{number}"))
        assert report.kept + sum(report.dropped.values()) == report.seen == number + 1
    for reason, examples in report.examples.items():
        assert len(examples) == min(3, report.dropped[reason])
        assert len(examples[0]["source"]) == 200
    assert set(report.examples) == set(report.dropped)


@pytest.mark.parametrize("bad", [{"max_tokens": 0}, {"max_ratio": -1}, {"max_ratio": float("nan")}, {"min_tokens": 3}])
def test_settings_are_checked(bad: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        FilterConfig.model_validate(bad)
