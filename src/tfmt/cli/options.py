"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Device = Annotated[str, typer.Option(metavar="DEVICE", help="cpu, cuda, cuda:N, or auto: a GPU where there is one.")]
Threads = Annotated[int, typer.Option(metavar="N", help="CPU threads; 0: OMP_NUM_THREADS, else all cores.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what stands at the output.")]
