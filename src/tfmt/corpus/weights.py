"""How much each pair counts in training: one number a line, in the order of the pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tfmt.corpus.readers import Pair
from tfmt.errors import DataError
from tfmt.files import check_input, count_lines, read_lines

MAX_WEIGHT = 1e6  # far above the other weights' mean a pair would be all that is learnt


def with_weights(pairs: Iterable[Pair], weights: Path, corpus: Path) -> Iterator[Pair]:
    """The pairs of `corpus`, each with its weight; raises DataError naming file and line of a bad one.

    Counts are compared at once where both are files; `corpus` holds a pair a line (of two text files, the source).
    """
    check_input(weights)
    if weights.is_file() and corpus.is_file():
        counts = count_lines(weights), count_lines(corpus)
        if counts[0] != counts[1]:
            raise _unequal(weights, counts[0], corpus, counts[1])
    return _weighted(pairs, weights, corpus)


def _weighted(pairs: Iterable[Pair], weights: Path, corpus: Path) -> Iterator[Pair]:
    lines = enumerate(read_lines(weights), start=1)
    number = 0
    for pair in pairs:
        number, text = next(lines, (number, None))
        if text is None:
            more = 1 + sum(1 for _ in pairs)
            raise _unequal(weights, number, corpus, number + more)
        yield replace(pair, weight=_parse(text, f"{weights}:{number}"))
    if left := sum(1 for _ in lines):
        raise _unequal(weights, number + left, corpus, number)


def _parse(text: str, where: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight <= MAX_WEIGHT:
        raise DataError(f"{where}: weight {text[:40]!r}: expected a number from 0 to {MAX_WEIGHT:,.0f}")
    return weight


def _unequal(weights: Path, num_weights: int, corpus: Path, num_pairs: int) -> DataError:
    return DataError(
        f"{weights} has {num_weights:,} lines but {corpus} has {num_pairs:,} pairs; "
        "line n must be the weight of pair n, also of one that a filter drops"
    )
