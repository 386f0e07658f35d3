"""A run's folder: made, locked, and kept from being mixed with another configuration's."""

from __future__ import annotations

import fcntl
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfmt.config import MAY_CHANGE, RunConfig
from tfmt.config_file import Differences, differences, load_config, save_config
from tfmt.errors import ConfigError, DataError, TfmtError
from tfmt.files import check_output, whole_file
from tfmt.train import retention

LOCK = ".lock"
OWN_FILES = {"config.toml", "checkpoints", "log.jsonl", "best", "last", "finished.json", "samples.md", "tensorboard"}


@contextmanager
def own_run(run: Path, cfg: RunConfig, *, overwrite: bool) -> Iterator[Differences]:
    """Make or take the run folder, alone; raises when it belongs to something else or to another process.

    Yields what has changed in the configuration since the run was last started.
    """
    if not run.exists():
        check_output(run, overwrite=False)
    is_run = _check_is_run(run, overwrite=overwrite)
    is_new = not run.exists()
    run.mkdir(parents=True, exist_ok=True)
    with (run / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise TfmtError(f"{run}: another tfmt trains here; wait for it, or choose another --output") from error
        changed: Differences = {}
        try:
            if is_run and overwrite:
                _empty(run)
            elif is_run:
                changed = _check_changes(load_config(run / "config.toml"), cfg, run)
            (run / "checkpoints").mkdir(exist_ok=True)
            retention.clear_left_overs(run)
            with whole_file(run / "config.toml", overwrite=True) as beside:
                save_config(cfg, beside)
        except BaseException:
            if is_new:
                shutil.rmtree(run)
            raise
        yield changed


def _check_is_run(run: Path, *, overwrite: bool) -> bool:
    """Whether a run stands here already; raises DataError where training would mix with, or delete, something else."""
    if not run.exists():
        return False
    if not run.is_dir():
        raise DataError(f"{run}: is a file; a run needs a folder; choose another --output")
    visible = sorted(item.name for item in run.iterdir() if item.name[0] != ".")
    strange = [name for name in visible if name not in OWN_FILES]
    folders = list((run / "checkpoints").iterdir()) if (run / "checkpoints").is_dir() else None
    is_run = folders is not None and (run / "config.toml").is_file()
    is_left_by_a_kill = folders == [] and not strange
    if visible and not is_run and not is_left_by_a_kill:
        raise DataError(f"{run}: holds {visible[0]} but is no run of `tfmt train`; choose another --output")
    strange += [
        f"checkpoints/{folder.name}" for folder in folders or () if not re.match(r"\.?(step|average)-\d+", folder.name)
    ]
    if overwrite and strange:
        raise DataError(f"{run}: holds {strange[0]}, which tfmt did not make; move it away before --overwrite")
    return is_run


def _empty(run: Path) -> None:
    """Delete what training made, `checkpoints` last: what a kill on the way leaves is then taken for a new run."""
    for item in (run / "checkpoints").iterdir():
        shutil.rmtree(item)
    if (run / "tensorboard").is_dir():
        shutil.rmtree(run / "tensorboard")
    for name in OWN_FILES - {"checkpoints", "tensorboard"}:
        (run / name).unlink(missing_ok=True)
    (run / "checkpoints").rmdir()


def _check_changes(old: RunConfig, new: RunConfig, run: Path) -> Differences:
    """What differs; raises ConfigError where that touches the updates already made or the order of those to come."""
    changed = differences(old, new)
    refused = {key: values for key, values in changed.items() if key not in MAY_CHANGE}
    if new.train.falls_to_an_end and "train.max_steps" in changed:
        refused["train.max_steps"] = changed["train.max_steps"]  # it shapes the rate
    if refused:
        raise ConfigError(
            f"{run}: was started with another configuration: {as_words(refused)}; undo that, choose another --output, "
            "or pass --overwrite to start anew (docs/configuration.md marks the keys that may change)"
        )
    return changed


def as_words(changed: Differences) -> str:
    return ", ".join(f"{key} was {before!r}, now {after!r}" for key, (before, after) in changed.items())
