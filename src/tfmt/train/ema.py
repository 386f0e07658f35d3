"""An exponential moving average of the weights, beside the ones that train."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from tfmt.model.transformer import Transformer


class MovingAverage:
    """A copy of a model whose weights follow the trained ones: average = d * average + (1 - d) * weights.

    d is the least of `decay` and (1 + step) / (10 + step), so that the first weights are soon forgotten (as Marian and
    TensorFlow do): a function of the step, so that the copy's weights are all that has to be saved.
    """

    def __init__(self, model: Transformer, decay: float) -> None:
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def follow(self, model: Transformer, step: int, is_made: Tensor) -> None:
        """Take in the weights after update `step` (from 1), or stay as it is if that was skipped."""
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        average: list[Tensor] = list(self.model.parameters())
        weights: list[Tensor] = list(model.parameters())
        if is_made.device.type != "cpu":  # without waiting for the answer
            change = torch._foreach_sub(weights, average)
            torch._foreach_mul_(change, is_made * share)
            torch._foreach_add_(average, change)
        elif is_made:
            torch._foreach_lerp_(average, weights, share)
