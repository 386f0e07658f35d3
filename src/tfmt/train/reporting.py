"""Who is told of a run: its log and samples, TensorBoard, whatever tracker is asked for, and the person who waits."""

from __future__ import annotations

import os
from pathlib import Path

from tfmt.config import RunConfig
from tfmt.runlog.alarms import Alarms
from tfmt.runlog.log import RunLog, View
from tfmt.runlog.samples import SampleSheet
from tfmt.runlog.tensorboard import TensorBoardView
from tfmt.runlog.trackers import trackers


def open_log(run: Path, cfg: RunConfig, view: View) -> RunLog:
    """The log of a run folder, and everybody who watches it."""
    views = [view, TensorBoardView(run / "tensorboard"), SampleSheet(run / "samples.md")]
    views += trackers(cfg.train.report_to, run, cfg.model_dump(mode="json"))
    return RunLog(run / "log.jsonl", views, Alarms(cfg.train.warmup_steps))


def no_log() -> RunLog:
    """For processes that are not to speak."""
    return RunLog(Path(os.devnull))
