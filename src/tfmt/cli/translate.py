"""`tfmt translate`: lines in, as many lines out, in order."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal, TextIO

import typer

from tfmt.cli.options import Device, Overwrite, Threads

if TYPE_CHECKING:
    from tfmt.decode.translator import Translation


def translate(
    model: Annotated[Path, typer.Argument(help="Run folder, checkpoint folder or exported model folder.")],
    source: Annotated[
        Path | None,
        typer.Option("--input", help="Text to translate, a sentence a line.", show_default="stdin"),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Where the translations go.", show_default="stdout")] = None,
    beam: Annotated[
        int | None,
        typer.Option(min=1, metavar="K", help="Hypotheses kept a sentence; 1: greedy.", show_default="the model's"),
    ] = None,
    length_penalty_alpha: Annotated[
        float | None,
        typer.Option(
            min=0, max=10, metavar="A", help="Higher favours longer translations.", show_default="the model's"
        ),
    ] = None,
    num_best: Annotated[
        int,
        typer.Option("--n-best", min=1, metavar="N", help="Hypotheses given for each line (with --json)."),
    ] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="A JSON object a line: source, text, score, hypotheses, flags.")
    ] = False,
    precision: Annotated[
        Literal["auto", "fp32", "bf16"], typer.Option(help="Number format; auto: fp32 on a CPU.")
    ] = "auto",
    batch_tokens: Annotated[int, typer.Option(min=1, metavar="N", help="Source tokens searched at once.")] = 4096,
    device: Device = "auto",
    threads: Threads = 0,
    overwrite: Overwrite = False,
) -> None:
    """Translate text, line by line: a blank line gives a blank line."""
    from tfmt.decode.translator import WINDOW, Translator
    from tfmt.errors import ConfigError
    from tfmt.files import check_output, decode_lines

    if num_best > 1 and not as_json:
        raise ConfigError("--n-best: plain output has one translation a line; add --json")
    if output:
        check_output(output, overwrite=overwrite)
    with _reader(source) as stream:
        translator = Translator.load(
            model,
            device=device,
            precision=precision,
            threads=threads,
            beam=beam,
            length_penalty_alpha=length_penalty_alpha,
            batch_tokens=batch_tokens,
        )
        if num_best > translator.cfg.beam:
            raise ConfigError(f"--n-best {num_best}: more than the beam of {translator.cfg.beam}; raise --beam")
        window = WINDOW
        if stream.isatty():
            typer.echo("type a sentence and Enter; Ctrl-D ends", err=True)
            window = 1
        lines = decode_lines(stream, str(source or "<stdin>"))
        translations = translator.stream(lines, num_best=num_best, window=window)
        with _writer(output, overwrite=overwrite) as out:
            _write(translations, out, as_json=as_json)


def _write(translations: Iterable[Translation], out: TextIO, *, as_json: bool) -> None:
    import json

    num_truncated = 0
    for translation in translations:
        if as_json:
            print(json.dumps(asdict(translation), ensure_ascii=False), file=out, flush=True)
        else:
            print(translation.text, file=out, flush=True)
        num_truncated += "truncated" in translation.flags
    if num_truncated:
        typer.echo(
            f"note: {num_truncated} of the translations ended at the length limit",
            err=True,
        )


@contextmanager
def _reader(source: Path | None) -> Iterator[BinaryIO]:
    from tfmt.files import open_bytes

    if source is None:
        yield sys.stdin.buffer
        return
    with open_bytes(source) as stream:
        yield stream


@contextmanager
def _writer(output: Path | None, *, overwrite: bool) -> Iterator[TextIO]:
    from tfmt.files import whole_file

    if output is None:
        yield sys.stdout
        return
    with (
        whole_file(output, overwrite=overwrite) as beside,
        beside.open("w", encoding="utf-8", newline="\n") as out,
    ):
        yield out
