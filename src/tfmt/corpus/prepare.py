"""Pairs to a prepared corpus: a folder with a dataset (datasets.load_from_disk), its tokenizer, two reports.

dataset/          Arrow: columns `source`, `target`, lists of token ids without bos and eos (uint16, or int32
                  when the vocabulary has more than 65,536 pieces); `weight`, float32, where pairs have weights
tokenizer.model   what encoded it
report.json       `PrepareReport`
report.md         the same as a page to read
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tfmt.corpus.filters import REASONS, FilterConfig, FilterReport, reason_by_length, reason_by_text
from tfmt.corpus.readers import Pair
from tfmt.errors import DataError
from tfmt.files import check_output, sha256, whole_folder

if TYPE_CHECKING:
    from tfmt.corpus.tokenizer import Tokenizer

_CHUNK_PAIRS = 10_000
_CHUNK_CHARACTERS = 20_000_000  # a chunk also ends here, so that long lines cannot fill the memory
_PERCENTILES = (50, 90, 95, 99)
_DATA_FILE = "data-00000-of-00001.arrow"

Ids = list[list[int]]


class Chunk(NamedTuple):
    """Pairs that stay."""

    sources: Ids
    targets: Ids
    weights: list[float] | None  # None where pairs have none


@dataclass(frozen=True)
class PrepareReport:
    seen: int
    kept: int
    dropped: dict[str, int]
    skipped: dict[str, int]  # entries that hold no pair; not in seen
    examples: dict[str, list[dict[str, str]]]
    tokens: dict[str, int]  # of kept pairs, by side
    lengths: dict[str, dict[str, float]]  # tokens of a kept pair, by side: mean, p50, p90, p95, p99, max
    weights: dict[str, float] | None  # of kept pairs, where they have any: min, mean, max
    tokenizer: str  # its fingerprint
    vocab_size: int
    source_language: str
    target_language: str
    filters: dict[str, Any]
    inputs: list[str]


def prepare(
    pairs: Iterable[Pair],
    tokenizer: Tokenizer,
    output: Path,
    *,
    filters: FilterConfig,
    inputs: Sequence[str],
    weighted: bool = False,
    source_language: str = "",
    target_language: str = "",
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> PrepareReport:
    """Filter, encode and store; the folder `output` is written whole or not at all.

    `inputs` are names for the report; `weighted` says that pairs have weights; `progress` is told the number of pairs
    read so far.
    """
    check_prepared_output(output, overwrite=overwrite)
    counts = FilterReport()
    lengths: tuple[Counter[int], Counter[int]] = (Counter(), Counter())
    weights: Counter[float] = Counter()
    with whole_folder(output, overwrite=overwrite) as folder:

        def kept_chunks() -> Iterator[Chunk]:
            for pairs_read in _chunks(pairs):
                chunk = _keep(pairs_read, tokenizer, filters, counts, weighted=weighted)
                lengths[0].update(map(len, chunk.sources))
                lengths[1].update(map(len, chunk.targets))
                weights.update(chunk.weights or ())
                if progress:
                    progress(counts.seen)
                yield chunk

        _write_dataset(kept_chunks(), folder / "dataset", tokenizer.vocab_size, weighted=weighted)
        if not counts.kept:
            raise DataError(_nothing_left(counts, inputs))
        if weighted and not max(weights):
            raise DataError(f"{', '.join(inputs)}: all pairs kept weigh 0; give some of them more")
        report = PrepareReport(
            seen=counts.seen,
            kept=counts.kept,
            dropped=_most_first(counts.dropped),
            skipped={},
            examples=counts.examples,
            tokens={"source": _total(lengths[0]), "target": _total(lengths[1])},
            lengths={"source": _summary(lengths[0]), "target": _summary(lengths[1])},
            weights=_weight_summary(weights) if weighted else None,
            tokenizer=tokenizer.fingerprint,
            vocab_size=tokenizer.vocab_size,
            source_language=source_language,
            target_language=target_language,
            filters=filters.model_dump(),
            inputs=list(inputs),
        )
        tokenizer.save(folder / "tokenizer.model")
        text = json.dumps(asdict(report), indent=2, ensure_ascii=False) + "\n"
        (folder / "report.json").write_bytes(text.encode())
        (folder / "report.md").write_bytes(_page(report, lengths).encode())
    return report


def check_prepared_output(output: Path, *, overwrite: bool) -> None:
    """Raise when `output` is taken, or when --overwrite would delete what is not a prepared corpus."""
    check_output(output, overwrite=overwrite)
    if output.is_dir():
        ours = {"dataset", "tokenizer.model", "report.json", "report.md"}
        if others := sorted(file.name for file in output.iterdir() if file.name not in ours):
            raise DataError(
                f"{output}: holds {others[0]}, which `tfmt prepare` did not write, so --overwrite does not "
                "delete it; choose another --output"
            )
    elif output.exists():
        raise DataError(f"{output}: is a file; expected a folder that `tfmt prepare` made; choose another --output")


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    chunk: list[Pair] = []
    characters = 0
    for pair in pairs:
        chunk.append(pair)
        characters += len(pair.source) + len(pair.target)
        if len(chunk) == _CHUNK_PAIRS or characters > _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def _keep(
    chunk: Sequence[Pair], tokenizer: Tokenizer, filters: FilterConfig, counts: FilterReport, *, weighted: bool
) -> Chunk:
    """Ids of both sides, and weights, of the pairs that stay; counts all of them."""
    by_text = [reason_by_text(pair, filters) for pair in chunk]
    worded = [pair for pair, reason in zip(chunk, by_text, strict=True) if reason is None]
    encoded = zip(
        tokenizer.encode([pair.source for pair in worded]),
        tokenizer.encode([pair.target for pair in worded]),
        strict=True,
    )
    kept = Chunk([], [], [] if weighted else None)
    for pair, reason in zip(chunk, by_text, strict=True):
        if reason is None:
            source, target = next(encoded)
            reason = reason_by_length(len(source), len(target), filters)
        if reason is None:
            counts.keep()
            kept.sources.append(source)
            kept.targets.append(target)
            if kept.weights is not None:
                assert pair.weight is not None
                kept.weights.append(pair.weight)
        else:
            counts.drop(reason, pair)
    return kept


def _write_dataset(chunks: Iterable[Chunk], folder: Path, vocab_size: int, *, weighted: bool) -> None:
    """What `Dataset.save_to_disk` would write, without all of it in memory or copied through a cache."""
    import pyarrow as pa
    from datasets import DatasetInfo, Features
    from datasets.arrow_writer import ArrowWriter

    folder.mkdir()
    id_list = pa.list_(pa.uint16() if vocab_size <= 65_536 else pa.int32())
    columns = {"source": id_list, "target": id_list} | ({"weight": pa.float32()} if weighted else {})
    schema = pa.schema(columns)
    features = Features.from_arrow_schema(schema)
    with ArrowWriter(features=features, path=str(folder / _DATA_FILE)) as writer:
        for chunk in chunks:
            arrays = [pa.array(values, kind) for values, kind in zip(chunk, columns.values(), strict=False)]
            writer.write_table(pa.table(arrays, schema=schema), _CHUNK_PAIRS)
        writer.finalize()
    DatasetInfo(features=features).write_to_directory(str(folder))
    state: dict[str, Any] = {
        "_data_files": [{"filename": _DATA_FILE}],
        "_fingerprint": sha256(folder / _DATA_FILE)[:16],
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    (folder / "state.json").write_text(json.dumps(state, indent=2), encoding="utf-8")


def _nothing_left(counts: FilterReport, inputs: Sequence[str]) -> str:
    names = ", ".join(inputs)
    if not counts.seen:
        return f"{names}: no pairs in it"
    reasons = list_reasons(_most_first(counts.dropped), counts.examples)
    return f"{names}: none of {counts.seen:,} pairs is left; dropped {reasons}"


def list_reasons(dropped: dict[str, int], examples: dict[str, list[dict[str, str]]]) -> str:
    """Each reason with its count and where its first pair stands, on one line."""
    return ", ".join(
        f"{reason} {count:,} ({examples[reason][0]['where']}{', ...' if count > 1 else ''})"
        for reason, count in dropped.items()
    )


def _most_first(dropped: dict[str, int]) -> dict[str, int]:
    return dict(sorted(dropped.items(), key=lambda item: (-item[1], item[0])))


def _total(lengths: Counter[int]) -> int:
    return sum(length * count for length, count in lengths.items())


def _summary(lengths: Counter[int]) -> dict[str, float]:
    """Mean, percentiles (nearest rank) and maximum of a histogram."""
    number = lengths.total()
    ordered = sorted(lengths)
    reached = list(itertools.accumulate(lengths[length] for length in ordered))
    summary: dict[str, float] = {"mean": round(_total(lengths) / number, 2)}
    for percent in _PERCENTILES:
        summary[f"p{percent}"] = next(
            length for length, below in zip(ordered, reached, strict=True) if 100 * below >= percent * number
        )
    return summary | {"max": ordered[-1]}


def _weight_summary(weights: Counter[float]) -> dict[str, float]:
    total = math.fsum(weight * count for weight, count in weights.items())
    return {"min": min(weights), "mean": total / weights.total(), "max": max(weights)}


def _page(report: PrepareReport, lengths: tuple[Counter[int], Counter[int]]) -> str:
    names = {
        side: f"{side} ({language})" if language else side
        for side, language in (("source", report.source_language), ("target", report.target_language))
    }
    lines = [
        "# Prepared corpus",
        "",
        f"**{report.kept:,} of {report.seen:,} pairs kept** ({_share(report.kept, report.seen)}), "
        f"{report.seen - report.kept:,} dropped.",
        "",
        "From:",
        "",
        *(f"- `{name}`" for name in report.inputs),
        "",
        f"Vocabulary: {report.vocab_size:,} pieces (`tokenizer.model`, SHA-256 {report.tokenizer[:12]}...).",
        "",
        "## Dropped",
        "",
    ]
    if report.dropped:
        lines += ["| reason | pairs | share | meaning |", "|---|---:|---:|---|"]
        lines += [
            f"| {reason} | {count:,} | {_share(count, report.seen)} | {REASONS[reason]} |"
            for reason, count in report.dropped.items()
        ]
        for reason in report.dropped:
            lines += ["", f"### {reason}", "", "First ones:", ""]
            for example in report.examples[reason]:
                lines += [
                    f"    {_plain(example['where'])}",
                    f"      source: {_plain(example['source'])}",
                    f"      target: {_plain(example['target'])}",
                ]
    else:
        lines.append("Nothing.")
    settings = ", ".join(f"{name} = {value}" for name, value in report.filters.items())
    lines += ["", f"Filters: {settings}."]
    if report.weights:
        lines += ["", f"Weights: {', '.join(f'{name} {value:g}' for name, value in report.weights.items())}."]
    lines += ["", "## Tokens a sentence", ""]
    lines += [
        "| | total | mean | median | 90 % | 95 % | 99 % | longest |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for side, name in names.items():
        summary = report.lengths[side]
        cells = [f"{report.tokens[side]:,}", f"{summary['mean']:.1f}"]
        cells += [f"{summary[f'p{percent}']:,.0f}" for percent in _PERCENTILES] + [f"{summary['max']:,.0f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", *_bars(lengths, tuple(names.values()))]
    return "\n".join(lines) + "\n"


def _bars(lengths: tuple[Counter[int], Counter[int]], names: tuple[str, ...]) -> Iterator[str]:
    """A table of how many sentences are how long, in classes that double in width."""
    longest = max(max(side) for side in lengths)
    yield f"| tokens | {names[0]} | | {names[1]} | |"
    yield "|---|---:|---|---:|---|"
    low, high = 1, 4
    while low <= longest:
        cells = []
        for side in lengths:
            count = sum(side[length] for length in side if low <= length <= high)
            cells.append(f"{count:,} | {'█' * round(30 * count / side.total())}")
        yield f"| {low}–{high} | {' | '.join(cells)} |"
        low, high = high + 1, 2 * high


def _share(part: int, whole: int) -> str:
    return "< 0.1 %" if 0 < 2000 * part < whole else f"{100 * part / whole:.1f} %"


def _plain(text: str) -> str:
    """One line of printable text: what would break the line or show nothing is spelled out."""
    return re.sub(r"[^\S ]|[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]",
                  lambda match: f"\\u{ord(match[0]):04x}", text)  # fmt: skip
