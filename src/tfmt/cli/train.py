"""`tfmt train`: from prepared folders to a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tfmt.cli.demo import bundled
from tfmt.cli.options import Device, Overwrite, Threads


def train(
    config: Annotated[
        Path, typer.Argument(help="TOML file, or the name of one that comes with tfmt: tiny, multi30k ...")
    ],
    output: Annotated[Path | None, typer.Option(help="Run folder.", show_default="runs/NAME for NAME.toml")] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as train.max_steps=200."),
    ] = None,
    device: Device = "auto",
    threads: Threads = 0,
    overwrite: Overwrite = False,
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print every setting as it would be used, and end.")
    ] = False,
    show_batch: Annotated[
        bool, typer.Option("--show-batch", help="Print the first batch as the model would get it, and end.")
    ] = False,
) -> None:
    """Train a model; the same command again goes on where it stopped.

    Ctrl-C and SIGTERM save before they end. Progress goes to stderr, every figure to log.jsonl in the run folder.
    On several GPUs or machines: torchrun --nproc-per-node N -m tfmt train CONFIG.
    """
    from tfmt.config_file import load_config

    if show_config or show_batch:
        _show(_find(config), overrides or (), show_config=show_config, show_batch=show_batch)
        return
    from tfmt.runlog.plain import view_for_stderr
    from tfmt.train.distributed import joined
    from tfmt.train.trainer import train as run_training

    run = output or Path("runs") / config.stem
    with joined(device) as world:
        cfg = load_config(_find(config), overrides or ())
        run_training(cfg, run, view=view_for_stderr(), world=world, threads=threads, overwrite=overwrite)
        if world.is_main:
            typer.echo(run)


def _show(file: Path, overrides: Sequence[str], *, show_config: bool, show_batch: bool) -> None:
    from tfmt.config_file import as_toml, heading, load_config

    cfg = load_config(file, overrides)
    if show_config:
        typer.echo(f"{heading(file)}{as_toml(cfg)}", nl=False)
    if show_batch:
        from tfmt.train.data import first_batch

        for line in first_batch(cfg):
            typer.echo(line)


def _find(config: Path) -> Path:
    """The file named, or the bundled configuration of that name."""
    from tfmt.errors import ConfigError

    known = {path.stem: path for path in sorted(bundled("configs").glob("*.toml"))}
    if config.exists():
        return config
    if str(config) in known:
        return known[str(config)]
    raise ConfigError(f"{config}: no such configuration file; tfmt comes with {', '.join(known)}")
