"""An exponential moving average of the weights, beside the ones that train."""

from __future__ import annotations

import copy

import torch

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
    def follow(self, model: Transformer, step: int) -> None:
        """Take in the weights after update `step` (from 1)."""
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.model.parameters()), list(model.parameters()), share)
