"""One update: the gradients of all its batches, on all processes; clipped; one step of each optimizer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from tfmt.checkpoint import optimizer_tensors, restore_optimizers
from tfmt.config import TrainConfig
from tfmt.corpus.batches import Batch
from tfmt.model.transformer import Transformer
from tfmt.train.distributed import World
from tfmt.train.loss import batch_loss_sums
from tfmt.train.optim import make_optimizers
from tfmt.train.shortfall import LeftOut
from tfmt.train.workers import Workers


@dataclass(frozen=True)
class Measured:
    """Of one update, still on the device: mean smoothed loss and mean plain loss a target token, gradient norm."""

    loss: Tensor
    nll: Tensor
    norm: Tensor
    is_finite: Tensor  # boolean; if not, the update was skipped
    shortfall: Tensor  # on all processes: target tokens left out, pairs left out, batches split


class Learner:
    def __init__(self, model: Transformer, cfg: TrainConfig, precision: Literal["fp32", "bf16"], world: World) -> None:
        self.model = model
        self.cfg = cfg
        self.world = world
        self.optimizers = make_optimizers(model, cfg)
        self.workers = Workers(model, precision, compiled=cfg.compile)
        self.left_out: list[LeftOut] = []  # in this process, until the trainer has told of them

    @property
    def num_shares(self) -> int:
        """Into how many an update's batches are divided, over all processes."""
        return self.world.size * self.workers.num

    def learn(self, shares: Sequence[Iterable[Batch]], num_tokens: int, lr: float, seed: Sequence[int]) -> Measured:
        """One step on the batches of all processes: a share for each of this one's workers.

        `num_tokens` counts the target tokens in all of them; those of pairs that memory does not hold are taken off.
        Nothing but `seed` decides what dropout draws. Weights and optimizers stay as they are when the loss or a
        gradient is not finite.
        """

        def gradients(work: Transformer, batch: Batch) -> Tensor:
            smoothed, plain = batch_loss_sums(work, batch, self.cfg.label_smoothing, self.cfg.r_drop)
            (smoothed / num_tokens).backward()
            return torch.stack((smoothed.detach(), plain))

        self.workers.seed(*seed, self.world.rank)
        sums, here = self.workers.add_gradients(shares, gradients)
        shortfall = sums.new_zeros(3)
        if here:
            self.left_out += here.left_out
            shortfall = sums.new_tensor((here.num_tokens, len(here.left_out), here.num_split))
        if self.world.size > 1:
            self.world.add_up([sums, shortfall, *self._gradients()])
        num_done = num_tokens - shortfall[0]
        if self.world.size > 1 or here:
            torch._foreach_mul_(self._gradients(), num_tokens / num_done)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip_norm or math.inf)
        loss, nll = sums / num_done
        is_finite = (norm + loss + nll).isfinite()
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = lr
            _step(optimizer, is_finite)
            optimizer.zero_grad(set_to_none=True)
        self.workers.refresh()
        return Measured(loss, nll, norm, is_finite, shortfall)

    def take_from_main(self) -> None:
        """Have the weights and the optimizers' state that rank 0 has."""
        self.world.copy_from_main(list(self.model.parameters()))
        tensors = optimizer_tensors(self.model, self.optimizers)
        kinds = self.world.told({name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()})
        if not self.world.is_main:
            tensors = {name: torch.empty(shape, dtype=dtype) for name, (shape, dtype) in kinds.items()}
        tensors = {name: tensor.to(self.model.device) for name, tensor in tensors.items()}
        self.world.copy_from_main(list(tensors.values()))
        restore_optimizers(self.model, self.optimizers, tensors)
        self.workers.refresh()

    def _gradients(self) -> list[Tensor]:
        """Of all the model's weights; zeros where this process had no batch."""
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        for parameter in trained:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [parameter.grad for parameter in trained if parameter.grad is not None]


def _step(optimizer: torch.optim.Optimizer, is_finite: Tensor) -> None:
    """A step or none; on a GPU fused Adam decides by itself, so that nothing waits for the answer."""
    if is_finite.device.type != "cpu" and isinstance(optimizer, torch.optim.Adam):
        optimizer.found_inf = (~is_finite).float()  # type: ignore[attr-defined]  # as torch's GradScaler does
        optimizer.step()
    elif is_finite:
        optimizer.step()
