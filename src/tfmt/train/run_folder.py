"""A run's folder: made, locked, and kept from being mixed with another configuration's."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfmt.config import RunConfig, differences, load_config, save_config
from tfmt.errors import ConfigError, OutputExists, TfmtError

# what may differ when a stopped run goes on: none of it touches the updates already made, or the order of those to come
MAY_CHANGE = {
    f"train.{name}"
    for name in (
        "max_steps", "max_epochs", "max_minutes", "log_every", "validate_every", "save_every", "keep", "average",
    )
}  # fmt: skip


@contextmanager
def own_run(run: Path, cfg: RunConfig, *, overwrite: bool) -> Iterator[None]:
    """Make or take the run folder, alone; raises when it belongs to another configuration or another process."""
    if run.exists() and not run.is_dir():
        raise OutputExists(run)
    if run.is_dir() and any(run.iterdir()) and not (run / "config.toml").exists():
        raise OutputExists(run)
    run.mkdir(parents=True, exist_ok=True)
    lock = (run / ".lock").open("w")
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise TfmtError(f"{run}: another tfmt trains here; wait for it, or choose another --output") from error
        if (run / "config.toml").exists() and overwrite:
            for item in run.iterdir():
                if item.name != ".lock":
                    shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink()
        if (run / "config.toml").exists():
            _check_same(load_config(run / "config.toml"), cfg, run)
        beside = run / ".config.toml.partial"
        save_config(cfg, beside)
        beside.replace(run / "config.toml")
        (run / "checkpoints").mkdir(exist_ok=True)
        yield
    finally:
        lock.close()
        if not any(item.name != ".lock" for item in run.iterdir()):
            (run / ".lock").unlink()
            run.rmdir()


def _check_same(old: RunConfig, new: RunConfig, run: Path) -> None:
    changed = {key: values for key, values in differences(old, new).items() if key not in MAY_CHANGE}
    if new.train.schedule == "linear" and old.train.max_steps != new.train.max_steps:
        changed["train.max_steps"] = (old.train.max_steps, new.train.max_steps)  # it shapes the rate
    if changed:
        shown = ", ".join(f"{key} was {before!r}, now {after!r}" for key, (before, after) in changed.items())
        raise ConfigError(
            f"{run}: was started with another configuration: {shown}; "
            "undo that, choose another --output, or pass --overwrite to start anew"
        )
