"""`tfmt train-tokenizer`: text files to a vocabulary."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tfmt.cli.options import Overwrite


def train_tokenizer(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Text files of all the languages that will share the vocabulary; of a .tsv or .jsonl both "
            "sides are read. May be compressed (.gz .bz2 .xz).",
            show_default=False,
        ),
    ],
    vocab_size: Annotated[
        int,
        typer.Option(min=1, max=1_000_000, help="Pieces in the vocabulary.", show_default=False),
    ],
    output: Annotated[Path, typer.Option(help="Where the tokenizer goes.", show_default=False)],
    seed: Annotated[int, typer.Option(help="Decides which lines are sampled.")] = 1,
    max_lines: Annotated[
        int,
        typer.Option(min=1, help="Lines used; of more, a uniform sample (memory: about 400 bytes each)."),
    ] = 2_000_000,
    character_coverage: Annotated[
        float,
        typer.Option(
            min=0.98,
            max=1.0,
            help="Share of the text's characters that get a piece; the rest are spelled in bytes.",
        ),
    ] = 0.9995,
    columns: Annotated[str, typer.Option(metavar="N,M", help="Columns to read of a .tsv, from 1.")] = "",
    source_language: Annotated[str, typer.Option(help="Key of a .jsonl's source, such as de.")] = "",
    target_language: Annotated[str, typer.Option(help="Key of a .jsonl's target.")] = "",
    overwrite: Overwrite = False,
) -> None:
    """Make one byte-pair vocabulary from all the files given.

    The same files, size and seed give the same bytes. Rare characters are spelled in bytes, never lost.
    """
    from tfmt.files import check_output

    check_output(output, overwrite=overwrite)
    from tfmt.corpus import tokenizer
    from tfmt.corpus.readers import parse_columns

    report = tokenizer.train_tokenizer(
        files,
        vocab_size=vocab_size,
        output=output,
        seed=seed,
        max_lines=max_lines,
        character_coverage=character_coverage,
        columns=parse_columns(columns),
        source_language=source_language,
        target_language=target_language,
        overwrite=overwrite,
    )
    typer.echo(f"{output}: {report.vocab_size:,} pieces from {report.lines_used:,} lines")
