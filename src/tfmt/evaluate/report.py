"""An evaluation as a page to read and a document to compute with.

A report folder holds report.json, report.md and hypotheses.txt (the very lines scored), written whole or not
at all.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tfmt import __version__
from tfmt.errors import DataError
from tfmt.evaluate.scores import Score, Scores, score, segment_chrf
from tfmt.files import check_output, whole_folder

FILES = ("report.json", "report.md", "hypotheses.txt")
NUM_WORST = 10
SPLIT_NAME = "BLEU, Moses words, compounds split"


@dataclass(frozen=True)
class Segment:
    """One line of the test set; `reference` is the one the hypothesis is closest to."""

    source: str | None
    hypothesis: str
    reference: str
    chrf: float
    line: int  # from 1


@dataclass(frozen=True)
class Scored:
    """Where the text came from: names for a reader, never opened."""

    hypotheses: str  # a file, or the model that made them
    references: tuple[str, ...]
    source: str | None = None


@dataclass(frozen=True)
class EvalReport:
    scores: Scores
    scored: Scored
    target_language: str
    num_segments: int
    num_empty: int  # hypotheses without text; they count in every score
    worst: tuple[Segment, ...]  # lowest chrF first
    hypotheses: tuple[str, ...] = field(repr=False)

    @property
    def length_ratio(self) -> float | None:
        """Words of the hypotheses over words of the reference, as BLEU counts them; None without any."""
        bleu = self.scores.bleu
        return (
            bleu.hypothesis_length / bleu.reference_length if bleu.hypothesis_length and bleu.reference_length else None
        )

    def as_dict(self) -> dict[str, object]:
        return {
            **self.scores.as_dict(),
            "num_segments": self.num_segments,
            "num_empty": self.num_empty,
            "length_ratio": self.length_ratio,
            "target_language": self.target_language,
            "scored": asdict(self.scored),
            "worst": [asdict(segment) for segment in self.worst],
            "tfmt_version": __version__,
        }


def make_report(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    scored: Scored,
    sources: Sequence[str] | None = None,
    target_language: str = "",
    tokenize: str = "",
    compound_split: bool = False,
) -> EvalReport:
    """Score line-aligned text and pick the segments that went worst; raises DataError on unequal counts."""
    scores = score(
        hypotheses,
        references,
        target_language=target_language,
        tokenize=tokenize,
        compound_split=compound_split,
    )
    assert sources is None or len(sources) == len(hypotheses), (len(sources), len(hypotheses))
    return EvalReport(
        scores=scores,
        scored=scored,
        target_language=target_language,
        num_segments=len(hypotheses),
        num_empty=sum(1 for line in hypotheses if not line.strip()),
        worst=_worst(hypotheses, references, sources),
        hypotheses=tuple(hypotheses),
    )


def check_report_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise when a report cannot stand at `folder`; overwriting replaces a report, nothing else."""
    check_output(folder, overwrite=overwrite)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise DataError(f"{folder}: is a file; a report needs a folder of its own")
    strange = sorted(path.name for path in folder.iterdir() if path.name not in FILES)
    if strange:
        raise DataError(f"{folder}: holds {strange[0]}, which is no part of a report; choose another --output")


def write_report(report: EvalReport, folder: Path, *, overwrite: bool = False) -> None:
    """Write the three files of a report; all of the folder or nothing."""
    check_report_folder(folder, overwrite=overwrite)
    text = {
        "report.json": to_json(report) + "\n",
        "report.md": to_markdown(report),
        "hypotheses.txt": "".join(f"{line}\n" for line in report.hypotheses),
    }
    with whole_folder(folder, overwrite=overwrite) as beside:
        for name in FILES:
            (beside / name).write_bytes(text[name].encode("utf-8"))  # bytes: no line end is ever translated


def to_json(report: EvalReport) -> str:
    return json.dumps(report.as_dict(), ensure_ascii=False, indent=2, allow_nan=False)


def to_markdown(report: EvalReport) -> str:
    """The report as a page for a person."""
    scores, scored = report.scores, report.scored
    split = scores.compound_split_bleu
    lines = [
        "# Evaluation",
        "",
        f"- hypotheses: {_code(scored.hypotheses)}",
        *(f"- reference: {_code(name)}" for name in scored.references),
        *([f"- source: {_code(scored.source)}"] if scored.source else []),
        *([f"- target language: {_code(report.target_language)}"] if report.target_language else []),
        "",
        "| score | value | better | what it measures |",
        "|---|---:|---|---|",
        _row("BLEU", scores.bleu, "higher", "runs of 1 to 4 words shared with the reference"),
        _row("chrF", scores.chrf, "higher", "runs of 1 to 6 characters shared with the reference"),
        _row("TER", scores.ter, "lower", "edits that would turn it into the reference, per 100 words"),
        *([_row(SPLIT_NAME, split, "higher", "BLEU as Vaswani et al. (2017) have it: higher")] if split else []),
        "",
        "Quote a score with its signature: only equal signatures compare.",
        "",
        f"- BLEU: {_code(scores.bleu.signature)}",
        f"- chrF: {_code(scores.chrf.signature)}",
        f"- TER: {_code(scores.ter.signature)}",
        *([f"- {SPLIT_NAME}: {_code(split.signature)}"] if split else []),
        "",
        "## Lengths",
        "",
        f"- segments: {report.num_segments:,}, of which {report.num_empty:,} with an empty hypothesis",
        f"- words, as BLEU splits them: {scores.bleu.hypothesis_length:,} in the hypotheses, "
        f"{scores.bleu.reference_length:,} in the reference{_ratio(report.length_ratio)}",
        f"- BLEU's brevity penalty: {scores.bleu.brevity_penalty:.3f} (1: not too short)",
        f"- BLEU's precisions, 1 to 4 words: {_joined(scores.bleu.precisions)}",
        "",
        "## The worst segments",
        "",
        "Those with the lowest chrF. A bad score is not always a bad translation: read them."
        if report.worst
        else "None: every hypothesis is its reference, word for word.",
        "",
    ]
    for segment in report.worst:
        lines += [f"### Line {segment.line}: chrF {segment.chrf:.1f}", ""]
        if segment.source is not None:
            lines.append(f"- source: {_escape(segment.source)}")
        lines += [
            f"- hypothesis: {_escape(segment.hypothesis)}",
            f"- reference: {_escape(segment.reference)}",
            "",
        ]
    lines.append(f"Made by tfmt {__version__}.")
    return "\n".join(lines) + "\n"


def _worst(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], sources: Sequence[str] | None
) -> tuple[Segment, ...]:
    chrf = segment_chrf(hypotheses, references)
    wrong = (
        number
        for number, hypothesis in enumerate(hypotheses)
        if all(lines[number] != hypothesis for lines in references)
    )
    lowest = heapq.nsmallest(NUM_WORST, wrong, key=chrf.__getitem__)  # ties: the earlier one
    return tuple(
        Segment(
            source=None if sources is None else sources[number],
            hypothesis=hypotheses[number],
            reference=_closest(hypotheses[number], [lines[number] for lines in references]),
            chrf=chrf[number],
            line=number + 1,
        )
        for number in lowest
    )


def _closest(hypothesis: str, references: Sequence[str]) -> str:
    return max(references, key=lambda reference: segment_chrf([hypothesis], [[reference]])[0])


def _row(name: str, score: Score, better: str, measures: str) -> str:
    return f"| **{name}** | **{score.score:.2f}** | {better} | {measures} |"


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f" (ratio {ratio:.3f})"


def _joined(percentages: Sequence[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in percentages)


def _escape(text: str) -> str:
    """Text that Markdown shows as it is: on one line, with nothing taken for markup."""
    one_line = re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", text).strip()
    without_html = one_line.replace("&", "&amp;").replace("<", "&lt;")
    escaped = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", without_html)  # what has a meaning inside a line
    return escaped or "*(empty)*"


def _code(text: str) -> str:
    """Text as inline code, between more backticks than it holds in a row."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}"
