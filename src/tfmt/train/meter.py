"""What a run's log says of its updates: means since the last line, summed where the model is."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from tfmt.train.learner import Measured


@dataclass(frozen=True)
class Reading:
    """Means over updates that were not skipped; target tokens and needed floating-point operations a second."""

    loss: float
    nll: float
    norm: float
    tokens_per_s: float
    flops_per_s: float


class Meter:
    """Means since the last reading, summed on the device so that no update waits for the CPU."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.restart()

    def restart(self) -> None:
        self.sums = torch.zeros(4, device=self.device)  # of loss, plain loss, gradient norm; updates not skipped
        self.num_tokens = 0
        self.flops = 0.0
        self.started = time.perf_counter()

    def add(self, measured: Measured, num_tokens: int, flops: float) -> None:
        found = torch.stack((measured.loss, measured.nll, measured.norm, torch.ones_like(measured.norm)))
        self.sums += torch.where(measured.is_finite, found, 0)
        self.num_tokens += num_tokens
        self.flops += flops

    def leave_out(self, seconds: float) -> None:
        """Do not count time that something else took."""
        self.started += seconds

    def read(self) -> Reading | None:
        """What the updates since the last reading were like; None when all were skipped."""
        *sums, num_updates = self.sums.tolist()
        seconds = time.perf_counter() - self.started
        tokens_per_s, flops_per_s = self.num_tokens / seconds, self.flops / seconds
        self.restart()
        if not num_updates:
            return None
        loss, nll, norm = (total / num_updates for total in sums)
        return Reading(loss, nll, norm, tokens_per_s, flops_per_s)
