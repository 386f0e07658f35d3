"""`tfmt prepare`: corpora to numbers on disk, and an account of what was dropped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tfmt.cli.options import Overwrite
from tfmt.errors import DataError

if TYPE_CHECKING:
    from tfmt.corpus.prepare import PrepareReport
    from tfmt.corpus.readers import Pair

logger = logging.getLogger(__name__)


def prepare(
    tokenizer: Annotated[Path, typer.Option(help="What `tfmt train-tokenizer` made.", show_default=False)],
    output: Annotated[Path, typer.Option(help="Folder to make.", show_default=False)],
    source: Annotated[
        list[Path] | None,
        typer.Option(help="Text file, a sentence a line; again for more.", show_default=False),
    ] = None,
    target: Annotated[
        list[Path] | None, typer.Option(help="Its translation, line by line.", show_default=False)
    ] = None,
    corpus: Annotated[
        list[Path] | None,
        typer.Option(help="File that holds both sides: .tsv .jsonl; again for more.", show_default=False),
    ] = None,
    weights: Annotated[
        list[Path] | None,
        typer.Option(
            help="How much each pair counts in training, a number a line; again for each pair of files or --corpus.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        str, typer.Option(metavar="KIND", help="Kind of --corpus when its name does not tell: tsv, jsonl.")
    ] = "",
    columns: Annotated[str, typer.Option(metavar="N,M", help="Columns of source and target in a .tsv, from 1.")] = "",
    source_language: Annotated[
        str, typer.Option(help="Language of the source (BCP 47); also its key in a .jsonl.")
    ] = "",
    target_language: Annotated[str, typer.Option(help="Language of the target.")] = "",
    max_tokens: Annotated[int, typer.Option(min=1, help="Drop a pair with more tokens than this on a side.")] = 256,
    max_ratio: Annotated[
        float,
        typer.Option(
            min=0,
            help="Drop a pair when one side has 20 or more tokens, over this many times the other's; 0: never.",
        ),
    ] = 4.0,
    drop_identical: Annotated[
        bool, typer.Option("--drop-identical", help="Drop a pair whose sides are the same text.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Clean, encode and store a corpus for training.

    Files may be compressed (.gz .bz2 .xz). OUTPUT/report.md says what was dropped, and why.
    """
    from tfmt.corpus.filters import FilterConfig
    from tfmt.corpus.prepare import check_prepared_output
    from tfmt.corpus.prepare import prepare as run

    check_prepared_output(output, overwrite=overwrite)
    from tfmt.corpus.tokenizer import Tokenizer

    opened = Tokenizer.load(tokenizer)
    inputs, pairs = _inputs(
        source or [], target or [], corpus or [], weights or [], format, columns, source_language, target_language
    )
    with _progress() as progress:
        report = run(
            pairs,
            opened,
            output,
            filters=FilterConfig(max_tokens=max_tokens, max_ratio=max_ratio, drop_identical=drop_identical),
            inputs=inputs,
            weighted=bool(weights),
            source_language=source_language,
            target_language=target_language,
            overwrite=overwrite,
            progress=progress,
        )
    _print(report, output)


def _inputs(
    sources: list[Path],
    targets: list[Path],
    corpora: list[Path],
    weights: list[Path],
    kind: str,
    columns: str,
    source_language: str,
    target_language: str,
) -> tuple[list[str], Iterator[Pair]]:
    """Names of the inputs and all their pairs; what can be checked is checked before the first pair."""
    from itertools import chain

    from tfmt.corpus.readers import parse_columns, read_corpus, read_text_pairs
    from tfmt.corpus.weights import with_weights

    if len(sources) != len(targets):
        raise DataError(
            f"{len(sources)} --source but {len(targets)} --target; give them in pairs, such as "
            "--source a.de --target a.en"
        )
    if not sources and not corpora:
        raise DataError("nothing to prepare; give --source FILE --target FILE, or --corpus FILE")
    for name, value in (("--format", kind), ("--columns", columns)):
        if value and not corpora:
            logger.warning("%s has no effect without --corpus", name)
    picked = parse_columns(columns)
    readers = [read_text_pairs(*paths) for paths in zip(sources, targets, strict=True)]
    readers += [
        read_corpus(
            path,
            kind=kind or None,
            columns=picked,
            source_language=source_language,
            target_language=target_language,
        )
        for path in corpora
    ]
    if weights:
        if len(weights) != len(readers):
            raise DataError(
                f"{len(weights)} --weights for {len(readers)} inputs; give one for each --source with its --target, "
                "then one for each --corpus"
            )
        files = zip(readers, weights, [*sources, *corpora], strict=True)
        readers = [with_weights(pairs, numbers, path) for pairs, numbers, path in files]
    names = [f"{a} + {b}" for a, b in zip(sources, targets, strict=True)] + [str(path) for path in corpora]
    return names, chain.from_iterable(readers)


@contextmanager
def _progress() -> Iterator[Callable[[int], None] | None]:
    """A live line of pairs and pairs a second on a terminal; nothing elsewhere."""
    import sys

    if not sys.stderr.isatty():
        yield None
        return
    import time

    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    start = time.monotonic()
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("preparing")

        def show(seen: int) -> None:
            rate = seen / max(time.monotonic() - start, 1e-9)
            bar.update(task, description=f"preparing: {seen:,} pairs, {rate:,.0f} pairs/s")

        yield show


def _print(report: PrepareReport, output: Path) -> None:
    from tfmt.corpus.prepare import list_reasons

    line = f"kept {report.kept:,} of {report.seen:,} pairs"
    if report.dropped:
        line += f"; dropped {report.seen - report.kept:,}: {list_reasons(report.dropped, report.examples)}"
    typer.echo(line)
    typer.echo(f"tokens: source {report.tokens['source']:,}, target {report.tokens['target']:,}")
    typer.echo(f"dataset: {output / 'dataset'}")
    typer.echo(f"reports: {output / 'report.md'}, {output / 'report.json'}")
