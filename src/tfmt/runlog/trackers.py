"""A run for Weights & Biases and Trackio, where the user has them (`pip install 'tfmt[wandb]'`, `'tfmt[trackio]'`).

Both work offline (WANDB_MODE=offline; Trackio always does). Whatever goes wrong with them, training goes on: log.jsonl
has all that they show.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tfmt.runlog.log import Event, View

logger = logging.getLogger(__name__)

TrackerName = Literal["wandb", "trackio"]
LEFT_OUT = {"event", "time", "step", "samples", "signature", "is_best", "averaged"}


def trackers(names: Sequence[TrackerName], run: Path, settings: Mapping[str, Any]) -> list[View]:
    """The views asked for; a warning, and none, for each whose package is not there."""
    found: list[View] = []
    for name in names:
        try:
            module = importlib.import_module(name)
        except ImportError:
            logger.warning(f"train.report_to: {name} is not installed, and not told; run: pip install 'tfmt[{name}]'")
            continue
        found.append(TrackerView(name, module, run, settings))
    return found


class TrackerView(View):
    """What goes for either: their interfaces are nearly one."""

    def __init__(self, name: TrackerName, module: Any, run: Path, settings: Mapping[str, Any]) -> None:
        self.name = name
        self.module = module
        self.run = run.absolute()
        self.settings = settings
        self.tracked: Any = None
        self.is_broken = False
        self.began = 0.0  # time of the run's first event, which tells runs in one folder apart

    def begin(self, past: Sequence[Event]) -> None:
        self.began = past[0]["time"] if past else 0.0

    def show(self, event: Event) -> None:
        self.began = self.began or event["time"]
        prefix = {"train": "training", "validate": "validation"}.get(event["event"])
        if prefix is None or event.get("averaged"):
            return
        figures = {f"{prefix}/{key}": value for key, value in event.items() if key not in LEFT_OUT}
        self._do(lambda: self._log(figures, event["step"]))

    def close(self) -> None:
        if self.tracked is not None:
            self._do(self.tracked.finish)

    def _log(self, figures: dict[str, Any], step: int) -> None:
        if self.tracked is None:
            self.tracked = self._start()
        if self.name == "wandb":  # whose own steps never go back, as a run gone on from a checkpoint does
            self.tracked.log({"step": step, **figures})
        else:
            self.tracked.log(figures, step=step)

    def _start(self) -> Any:
        place = hashlib.sha256(f"{self.run} {self.began}".encode()).hexdigest()[:8]
        if self.name == "trackio":
            project = os.environ.get("TRACKIO_PROJECT", "tfmt")
            return self.module.init(
                project=project, name=f"{self.run.name}-{place}", config=dict(self.settings), resume="allow"
            )
        tracked = self.module.init(
            project=os.environ.get("WANDB_PROJECT", "tfmt"),
            name=self.run.name,
            id=place,
            resume="allow",
            config=dict(self.settings),
        )
        tracked.define_metric("*", step_metric="step")
        return tracked

    def _do(self, work: Any) -> None:
        """Work of another program, which must not end training, whatever it raises."""
        if self.is_broken:
            return
        try:
            with contextlib.redirect_stdout(sys.stderr):  # what they print is no result of ours
                work()
        except Exception as error:
            self.is_broken = True
            logger.warning(f"{self.name} is told nothing more: {' '.join(str(error).split()) or type(error).__name__}")
