"""Numbers that are not finite: counted where they arise, and what is done about too many of them."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Diverged(Exception):
    """Training cannot go on from here; what it can go back to is for the trainer to find."""


class SkipCounter:
    """Counts updates skipped, on the device, so that no update waits to know whether it was."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.set(0, 0)

    def set(self, total: int, in_a_row: int) -> None:
        self.counts = torch.tensor((total, in_a_row), device=self.device)
        self.told = total

    def add(self, is_finite: Tensor) -> None:
        total, in_a_row = self.counts
        is_skipped = (~is_finite).to(self.counts.dtype)
        self.counts = torch.stack((total + is_skipped, (in_a_row + is_skipped) * is_skipped))

    def read(self) -> tuple[int, int]:
        """All in this training, and those since the last update that was made."""
        total, in_a_row = self.counts.tolist()
        return total, in_a_row

    def news(self, total: int) -> str | None:
        """What has been skipped since this was last asked, in words."""
        new, self.told = total - self.told, total
        if not new:
            return None
        what = "an update was" if new == 1 else f"{new:,} updates were"
        return f"{what} skipped: loss or gradient not finite ({total:,} in all)"


@torch.no_grad()
def all_finite(*models: nn.Module) -> bool:
    """Whether every weight is a number; waits for the device once."""
    return bool(torch.stack([weight.isfinite().all() for model in models for weight in model.parameters()]).all())
