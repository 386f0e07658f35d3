"""What a run's log says of its updates: means since the last line, summed where the model is."""

from __future__ import annotations

import time

import torch

from tfmt.train.learner import Measured


class Meter:
    """Means since the last reading, summed on the device so that no update waits for the CPU."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.restart()

    def restart(self) -> None:
        self.sums = torch.zeros(3, device=self.device)
        self.num_tokens = 0
        self.num_updates = 0
        self.started = time.perf_counter()

    def add(self, measured: Measured, num_tokens: int) -> None:
        self.sums += torch.stack((measured.loss, measured.nll, measured.norm))
        self.num_tokens += num_tokens
        self.num_updates += 1

    def is_finite(self) -> bool:
        return bool(self.sums.isfinite().all())

    def leave_out(self, seconds: float) -> None:
        """Do not count time that something else took."""
        self.started += seconds

    def read(self) -> tuple[float, float, float, float]:
        """Mean loss, plain loss and gradient norm of the updates since the last reading, and target tokens a second."""
        loss, nll, norm = (self.sums / self.num_updates).tolist()
        tokens_per_s = self.num_tokens / (time.perf_counter() - self.started)
        self.restart()
        return loss, nll, norm, tokens_per_s
