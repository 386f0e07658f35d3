"""Trouble in training, counted where it arises: numbers that are not finite, memory that does not hold a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from tfmt.runlog.log import RunLog
from tfmt.train.learner import Measured
from tfmt.train.shortfall import LeftOut


class Diverged(Exception):
    """Training cannot go on from here; what it can go back to is for the trainer to find."""


class Counts(NamedTuple):
    num_skipped: int = 0  # updates whose loss or gradient was not finite
    num_skipped_in_row: int = 0  # those since the last update that was made
    num_left_out: int = 0  # pairs too large for memory
    num_split: int = 0  # batches done in halves


class TroubleCounter:
    """Counts on the device, so that no update waits to know whether it went well."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.set(Counts())

    def set(self, counts: Counts) -> None:
        self.counts = torch.tensor(counts, device=self.device)
        self.told = counts

    def add(self, measured: Measured) -> None:
        skipped, in_a_row, left_out, split = self.counts
        is_skipped = (~measured.is_finite).to(self.counts.dtype)
        _, left_out_now, split_now = measured.shortfall.to(self.counts.dtype)
        self.counts = torch.stack(
            (skipped + is_skipped, (in_a_row + is_skipped) * is_skipped, left_out + left_out_now, split + split_now)
        )

    def read(self) -> Counts:
        return Counts(*self.counts.tolist())

    def tell(self, log: RunLog, step: int, left_out: Callable[[], list[LeftOut]]) -> None:
        """Log what has come since this was last done; `left_out` names the pairs, asked for only if there are some."""
        before, counts = self.told, self.read()
        self.told = counts
        if new := counts.num_skipped - before.num_skipped:
            what = "an update was" if new == 1 else f"{new:,} updates were"
            message = (
                f"up to update {step:,} {what} skipped: loss or gradient not finite ({counts.num_skipped:,} in all)"
            )
            log.event("skip", step=step, skipped=counts.num_skipped, message=message)
        if counts.num_split and not before.num_split:
            message = (
                f"update {step:,}: memory does not hold every batch; such are done in halves, which takes longer: "
                "lower train.micro_batch_tokens"
            )
            log.event("split", step=step, message=message)
        if counts.num_left_out > before.num_left_out:
            for pair in left_out():
                message = f"{pair} does not fit into memory and is left out ({counts.num_left_out:,} in all)"
                log.event("left_out", step=step, pair=pair.pair, message=message)


@torch.no_grad()
def all_finite(*models: nn.Module) -> bool:
    """Whether every weight is a number; waits for the device once."""
    return bool(torch.stack([weight.isfinite().all() for model in models for weight in model.parameters()]).all())
