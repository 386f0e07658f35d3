"""A weight for each pair: aligned, checked, and told apart by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfmt.corpus.readers import Pair
from tfmt.corpus.weights import with_weights
from tfmt.errors import DataError

PAIRS = [Pair("a", "b", "x:1"), Pair("c", "d", "x:2")]


def test_each_pair_gets_the_number_of_its_line(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"0.25\r\n 3 \n")
    pairs = list(with_weights(PAIRS, tmp_path / "w", tmp_path / "pipe"))
    assert [(pair.source, pair.weight) for pair in pairs] == [("a", 0.25), ("c", 3.0)]


@pytest.mark.parametrize("text", ["-1", "nan", "inf", "", "heavy", "1,5", "1000001"])
def test_what_is_no_weight_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "w").write_text(f"1\n{text}\n")
    with pytest.raises(DataError, match=rf"w:2: weight '{text}': expected a number from 0 to 1,000,000"):
        list(with_weights(PAIRS, tmp_path / "w", tmp_path / "pipe"))


@pytest.mark.parametrize("num_weights", [0, 1, 3, 5])
def test_another_count_is_told_with_both(tmp_path: Path, num_weights: int) -> None:
    (tmp_path / "w").write_text("1\n" * num_weights)
    message = rf"w has {num_weights} lines but .*corpus has 2 pairs; line n must be the weight of pair n"
    with pytest.raises(DataError, match=message):
        list(with_weights(iter(PAIRS), tmp_path / "w", tmp_path / "corpus"))  # as from a pipe, which is read once
    (tmp_path / "corpus").write_text("a\tb\nc\td\n")
    with pytest.raises(DataError, match=message):
        with_weights(iter(()), tmp_path / "w", tmp_path / "corpus")  # before any pair is read
