"""`tfmt eval`: how close a translation comes to its reference."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tfmt.cli.options import Device, Overwrite, Threads
from tfmt.errors import DataError
from tfmt.files import read_lines

if TYPE_CHECKING:
    from tfmt.evaluate.report import EvalReport


def evaluate(
    model: Annotated[
        Path | None,
        typer.Argument(help="A run, checkpoint or model folder that translates --source.", metavar="MODEL"),
    ] = None,
    hypotheses: Annotated[
        Path | None,
        typer.Option(help="Translations to score, a sentence a line, instead of MODEL.", metavar="FILE"),
    ] = None,
    reference: Annotated[
        list[Path] | None,
        typer.Option(help="What they should have been, line by line; repeat for more references.", metavar="FILE"),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(help="The text translated; with --hypotheses it only joins the report.", metavar="FILE"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder for report.json, report.md and hypotheses.txt.", metavar="DIR")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as a JSON document.")] = False,
    target_language: Annotated[
        str, typer.Option(help="BCP 47 (de, zh-Hans); decides how BLEU splits words. Default: the model's.")
    ] = "",
    tokenize: Annotated[
        str, typer.Option(help="BLEU's word split (13a, zh, ja-mecab, char, ...) instead of the language's.")
    ] = "",
    compound_split: Annotated[
        bool,
        typer.Option("--compound-split", help="Also the paper's BLEU: Moses words, compounds split; another scale."),
    ] = False,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Hypotheses kept for each sentence. Default: the model's.")
    ] = None,
    device: Device = "auto",
    threads: Threads = 0,
    precision: Annotated[
        Literal["auto", "fp32", "bf16"], typer.Option(help="Number format of the model's products.")
    ] = "auto",
) -> None:
    """Score translations against references: BLEU, chrF and TER as sacrebleu computes them, with signatures.

    Give a MODEL with --source, or ready translations with --hypotheses.
    """
    engine = _Engine(beam=beam, device=device, threads=threads, precision=precision)
    references = reference or []
    _check_usage(model, hypotheses, references, source, engine)

    from tfmt.evaluate.report import Scored, check_report_folder, make_report, to_json, write_report
    from tfmt.evaluate.scores import word_split

    if output:
        check_report_folder(output, overwrite=overwrite)
    if tokenize:
        word_split(tokenize=tokenize)  # a wrong name is told of before the model translates

    lines = _read_aligned([path for path in (hypotheses, source, *references) if path])
    if model:
        assert source
        texts, model_language = _translate(model, lines[source], engine)
        name = _name(model)
    else:
        assert hypotheses
        texts, model_language = lines[hypotheses], ""
        name = _name(hypotheses)
    report = make_report(
        texts,
        [lines[path] for path in references],
        sources=lines[source] if source else None,
        target_language=target_language or model_language,
        tokenize=tokenize,
        compound_split=compound_split,
        scored=Scored(
            hypotheses=name,
            references=tuple(_name(path) for path in references),
            source=_name(source) if source else None,
        ),
    )
    if output:
        write_report(report, output, overwrite=overwrite)
    typer.echo(to_json(report) if as_json else _score_lines(report))
    if output:
        typer.echo(f"report: {output / 'report.md'} (and report.json, hypotheses.txt beside it)", err=True)


@dataclass(frozen=True)
class _Engine:
    """How a model is run; has no effect on text that is already translated."""

    beam: int | None = None
    device: str = "auto"
    threads: int = 0
    precision: Literal["auto", "fp32", "bf16"] = "auto"


def _check_usage(
    model: Path | None,
    hypotheses: Path | None,
    references: Sequence[Path],
    source: Path | None,
    engine: _Engine,
) -> None:
    if model and hypotheses:
        raise typer.BadParameter("give a MODEL or --hypotheses, not both")
    if not model and not hypotheses:
        raise typer.BadParameter("give a MODEL (with --source) or --hypotheses; found neither")
    if not references:
        raise typer.BadParameter("give at least one --reference FILE to score against")
    if model and not source:
        raise typer.BadParameter("a MODEL needs --source FILE, the text it is to translate")
    if hypotheses and engine != _Engine():
        typer.echo("note: --beam, --device, --threads and --precision have no effect with --hypotheses", err=True)


def _read_aligned(paths: Sequence[Path]) -> dict[Path, list[str]]:
    """The lines of each file; raises DataError, naming both files, unless all have as many."""
    lines = {path: list(read_lines(path)) for path in paths}
    first = paths[0]
    for path in paths[1:]:
        if len(lines[path]) != len(lines[first]):
            raise DataError(
                f"{first} has {len(lines[first])} lines but {path} has {len(lines[path])}; they must match line by line"
            )
    if not lines[first]:
        raise DataError(f"{first}: empty; expected at least one line to score")
    return lines


def _translate(model: Path, source_lines: Sequence[str], engine: _Engine) -> tuple[list[str], str]:
    """The model's translations, line by line, and the language it translates into."""
    from tfmt.decode.translator import Translator

    translator = Translator.load(
        model, device=engine.device, precision=engine.precision, threads=engine.threads, beam=engine.beam
    )
    return [translation.text for translation in translator.translate(source_lines)], translator.target_language


def _score_lines(report: EvalReport) -> str:
    from tfmt.evaluate.report import SPLIT_NAME

    scores = report.scores
    named = [("BLEU", scores.bleu), ("chrF", scores.chrf), ("TER", scores.ter)]
    if scores.compound_split_bleu:
        named.append((SPLIT_NAME, scores.compound_split_bleu))
    return "\n".join(f"{name:<4} {score.score:.2f}  {score.signature}" for name, score in named)


def _name(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "replace")  # under a C locale a path may not be UTF-8 text
