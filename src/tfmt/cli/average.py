"""`tfmt average`: several models' mean, as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tfmt.cli.options import Overwrite


def average(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL...", help="Run, checkpoint or model folders, two or more.", show_default=False),
    ],
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where the model goes.", show_default=False)],
    overwrite: Overwrite = False,
) -> None:
    """Write the mean of several models' weights: often better than each, at the cost of one.

    They must have one shape and one tokenizer, as have checkpoints of one run, or models tuned from one. Of a run
    folder its best checkpoint is taken. The settings of translation are those of the first.
    """
    from tfmt.train.averaging import average_models

    folders = average_models(models, output, overwrite=overwrite)
    typer.echo(f"{output}: the mean of {', '.join(map(str, folders))}")
