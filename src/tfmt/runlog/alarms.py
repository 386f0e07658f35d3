"""What a training's log gives cause to warn of: a loss that explodes or stands still, a model that overfits.

All is read off the events of log.jsonl, losses without label smoothing. Each warning is given once a run. The bounds
are wide: what noise could do, or a run that does well, gives no alarm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import Any, Literal

Kind = Literal["explodes", "plateau", "overfits"]

NUM_SMOOTHED = 5  # lines of the log whose median stands for the loss now
RISE = 1.0  # nats above the lowest loss so far
PLATEAU_UPDATES = 1000  # at least, in each of two windows of updates that are compared; a quarter of all in long runs
PLATEAU_LINES = 20  # of the log, at least, in each
NEAR_THE_END = 0.9  # share of the training after which a plateau is of no interest
PROGRESS = 0.005  # share of the loss by which it should fall from one window to the next
NUM_WORSE = 3  # validations in a row
WORSE = 0.02  # nats above the lowest validation loss: a perplexity 2 % higher


@dataclass(frozen=True)
class Alarm:
    kind: Kind
    message: str


@dataclass(frozen=True)
class _Point:
    step: int
    nll: float
    score: float = 0.0  # BLEU, of a validation


class Alarms:
    """Sees each event of a run in order, those of earlier processes first."""

    def __init__(self, warmup_steps: int) -> None:
        self.warmup_steps = warmup_steps
        self.told: set[str] = set()
        self.training: list[_Point] = []
        self.lows: list[_Point] = []  # smoothed, each the lowest so far
        self.validations: list[_Point] = []

    def see(self, event: dict[str, Any]) -> list[Alarm]:
        """What this event gives cause to warn of."""
        found: list[Alarm | None] = []
        match event["event"]:
            case "start":
                self._forget_after(0)
            case "resume" | "rewind":
                self._forget_after(event["step"])
            case "train":
                self.training.append(_Point(event["step"], event["nll"]))
                found = [self._explodes(), self._plateau() if event["progress"] < NEAR_THE_END else None]
            case "validate" if not event["averaged"]:
                self.validations.append(_Point(event["step"], event["nll"], event["bleu"]))
                found = [self._overfits()]
            case "warning":
                self.told.add(event["kind"])
        new = [alarm for alarm in found if alarm and alarm.kind not in self.told]
        self.told |= {alarm.kind for alarm in new}
        return new

    def _forget_after(self, step: int) -> None:
        self.training = [point for point in self.training if point.step <= step]
        self.lows = [point for point in self.lows if point.step <= step]
        self.validations = [point for point in self.validations if point.step <= step]

    def _explodes(self) -> Alarm | None:
        step, now = self.training[-1].step, median(point.nll for point in self.training[-NUM_SMOOTHED:])
        if not self.lows or now < self.lows[-1].nll:
            self.lows.append(_Point(step, now))
        low = self.lows[-1]
        if now <= low.nll + RISE:
            return None
        return Alarm(
            "explodes",
            f"training loss, without smoothing, has risen from {low.nll:.2f} at update {low.step:,} to {now:.2f}: "
            "if it does not recover, lower train.learning_rate, raise train.warmup_steps, or set train.clip_norm",
        )

    def _plateau(self) -> Alarm | None:
        if "explodes" in self.told or len(self.training) % PLATEAU_LINES:  # each line would take time in a long log
            return None
        first, last = self.warmup_steps, self.training[-1].step
        span = max(PLATEAU_UPDATES, (last - first) // 4)
        if last - 2 * span < first:
            return None
        before = [point.nll for point in self.training if last - 2 * span < point.step <= last - span]
        after = [point.nll for point in self.training if last - span < point.step]
        if min(len(before), len(after)) < PLATEAU_LINES:
            return None
        noise = math.sqrt(stdev(before) ** 2 / len(before) + stdev(after) ** 2 / len(after))
        if fmean(before) - fmean(after) + 2 * noise >= PROGRESS * fmean(before):
            return None
        return Alarm(
            "plateau",
            f"training loss, without smoothing, is {fmean(after):.2f} and has not fallen for {2 * span:,} updates: "
            "the model may have learnt all it can (see train.patience), or train.learning_rate does not suit it",
        )

    def _overfits(self) -> Alarm | None:
        best = min(self.validations, key=lambda point: point.nll)
        worse = [point for point in self.validations if point.step > best.step]
        if len(worse) < NUM_WORSE or any(point.nll < best.nll + WORSE for point in worse[-NUM_WORSE:]):
            return None
        if max(point.score for point in worse) >= max(point.score for point in self.validations):
            return None  # translations still get better, which is what counts
        since = [point.nll for point in self.training if point.step > best.step]
        until = [point.nll for point in self.training if point.step <= best.step][-len(since) :]
        if not until or not since or fmean(since) >= fmean(until):
            return None
        return Alarm(
            "overfits",
            f"validation perplexity has risen from {math.exp(best.nll):.2f} at update {best.step:,} to "
            f"{math.exp(worse[-1].nll):.2f}, while training's has fallen: the model overfits; "
            "more model.dropout or data helps, and train.patience ends training in time",
        )
