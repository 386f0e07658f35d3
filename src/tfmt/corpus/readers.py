r"""Sentence pairs out of a user's files, one at a time; the corpus is never held.

TSV: a pair a line, two columns unless `columns` picks them; there is no quoting, a quote is a quote.
JSONL: an object a line, {"source": ..., "target": ...}, or keyed by the language codes, at the top or under
"translation"; null is an empty side; a line break or tab in a segment is content. A blank line of either
is a pair of two empty sides, so that it is counted as dropped and never goes unseen.

`read_text_pairs` and `read_corpus` check what they can (files, kinds, line counts) when called, before the
first pair.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from tfmt.errors import DataError
from tfmt.files import COMPRESSIONS, check_input, count_lines, read_lines

KINDS = ("tsv", "jsonl")
_KIND_OF_SUFFIX = {
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tmx": "tmx",
    ".po": "po",
    ".xlf": "xliff",
    ".xliff": "xliff",
    ".parquet": "parquet",
}
_UNSAFE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Pair:
    source: str
    target: str
    where: str  # "train.tsv:7"; of two text files, the source's
    weight: float | None = None  # how much it counts in training, where weights are given


def read_text_pairs(source: Path, target: Path) -> Iterator[Pair]:
    """Line-aligned pairs of two text files; raises DataError with both counts when they differ in lines."""
    for path in (source, target):
        check_input(path)
    if source.samefile(target):
        raise DataError(f"{source}: is given as --source and as --target; expected two files, one a language")
    if source.is_file() and target.is_file():  # a pipe can be read only once; its lines are counted as they come
        counts = count_lines(source), count_lines(target)
        if counts[0] != counts[1]:
            raise _unequal(source, target, *counts)
    return _text_pairs(source, target)


def read_corpus(
    path: Path,
    *,
    kind: str | None = None,
    columns: tuple[int, int] | None = None,
    source_language: str = "",
    target_language: str = "",
) -> Iterator[Pair]:
    """Pairs of one file that holds both sides; `columns` count from 1."""
    kind = kind or kind_of(path)
    if kind is None:
        raise DataError(
            f"{path}: its name does not tell its kind; pass --format {' or '.join(KINDS)}, "
            "or give two text files with --source and --target"
        )
    if kind not in KINDS:
        raise DataError(
            f"{path}: {kind} is not among the kinds read: {', '.join(KINDS)}; "
            "or give two text files with --source and --target"
        )
    if columns and kind != "tsv":
        raise DataError(f"{path}: --columns picks columns of tsv; this is {kind}")
    check_input(path)
    match kind:
        case "tsv":
            return _tsv_pairs(path, columns)
        case _:
            return _jsonl_pairs(path, source_language, target_language)


def kind_of(path: Path) -> str | None:
    """The kind of corpus a name tells, through a compression's suffix; None for text and for the unknown."""
    if str(path).startswith("hf:"):
        return "hf"
    if path.suffix.lower() in (*COMPRESSIONS, ".zst"):
        path = path.with_suffix("")
    return _KIND_OF_SUFFIX.get(path.suffix.lower())


def parse_columns(text: str) -> tuple[int, int] | None:
    """The two column numbers of "1,3"; None for ""."""
    if not text:
        return None
    numbers = re.fullmatch(r"\s*([1-9][0-9]{0,5})\s*,\s*([1-9][0-9]{0,5})\s*", text)
    if not numbers or numbers[1] == numbers[2]:
        raise DataError(f"--columns {text}: expected two different column numbers counted from 1, such as 1,3")
    return int(numbers[1]), int(numbers[2])


def _text_pairs(source: Path, target: Path) -> Iterator[Pair]:
    lines = zip_longest(read_lines(source), read_lines(target))
    for number, (source_line, target_line) in enumerate(lines, start=1):
        if source_line is None or target_line is None:
            longer = number + sum(1 for _ in lines)
            counts = (number - 1, longer) if source_line is None else (longer, number - 1)
            raise _unequal(source, target, *counts)
        yield Pair(source_line, target_line, f"{source}:{number}")


def _unequal(source: Path, target: Path, num_source: int, num_target: int) -> DataError:
    return DataError(
        f"{source} has {num_source:,} lines but {target} has {num_target:,}; "
        "line n of one must translate line n of the other"
    )


def _tsv_pairs(path: Path, columns: tuple[int, int] | None) -> Iterator[Pair]:
    first, second = columns or (1, 2)
    needed = max(first, second)
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}:{number}"
        cells = line.split("\t")
        if len(cells) >= needed and (columns or len(cells) == 2):
            yield Pair(cells[first - 1], cells[second - 1], where)
        elif not line:
            yield Pair("", "", where)
        elif columns:
            raise DataError(f"{where}: --columns {first},{second} needs {needed} columns, found {len(cells)}")
        else:
            hint = "; pick two with --columns 1,2" if len(cells) > 2 else ""
            raise DataError(f"{where}: expected 2 tab-separated columns, found {len(cells)}{hint}")


def _jsonl_pairs(path: Path, source_language: str, target_language: str) -> Iterator[Pair]:
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}:{number}"
        if not line.strip():
            yield Pair("", "", where)
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where}: not JSON ({error}); expected one whole object a line") from error
        if not isinstance(entry, dict):
            raise DataError(f"{where}: expected a JSON object, found {type(entry).__name__}")
        yield Pair(
            _segment(entry, "source", source_language, where),
            _segment(entry, "target", target_language, where),
            where,
        )


def _segment(entry: dict[str, object], side: str, language: str, where: str) -> str:
    inner = entry.get("translation")
    found: dict[str, object] = {}
    for holder in (inner, entry) if isinstance(inner, dict) else (entry,):
        found |= {key: value for key, value in holder.items() if key not in found}
    key = next((key for key in found if language and _same_language(key, language)), side)
    if key not in found:
        names = [name for name in found if name != "translation"]
        raise DataError(
            f"{where}: no {language or side!r} among its keys {', '.join(names[:8]) or '(none)'}; "
            f"name the language code of each side with --source-language and --target-language"
        )
    text = found[key]
    if text is None:
        return ""
    if not isinstance(text, str):
        raise DataError(f"{where}: {key} is {json.dumps(text)[:40]}; expected a string")
    if unsafe := _UNSAFE.search(text):
        raise DataError(f"{where}: {key} holds \\u{ord(unsafe[0]):04x} at character {unsafe.start() + 1}, not text")
    return text


def _same_language(key: str, language: str) -> bool:
    return key.replace("_", "-").casefold() == language.replace("_", "-").casefold()
