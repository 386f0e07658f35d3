"""One update: the gradients of all its batches, on all processes; clipped; one step of each optimizer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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
from tfmt.train.sharding import Replicated, Sharded, is_sharded, put
from tfmt.train.shortfall import LeftOut


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
        """`model` is whole in rank 0, whose weights all take over; what this process trains of it is `self.model`."""
        self.cfg = cfg
        self.world = world
        if is_sharded(cfg, world):
            self.held: Replicated | Sharded = Sharded(model, precision, world)
        else:
            self.held = Replicated(model, precision, world, compiled=cfg.compile)
        self.model, self.workers = self.held.model, self.held.workers
        self.optimizers = make_optimizers(self.model, cfg)
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
            self.held.add_up([sums, shortfall], self._gradients())
        num_done = num_tokens - shortfall[0]
        if self.world.size > 1 or here:
            torch._foreach_mul_(self._gradients(), num_tokens / num_done)
        norm = self.held.norm([own.grad for own in self.model.parameters() if own.grad is not None])
        nn.utils.clip_grads_with_norm_(self.model.parameters(), self.cfg.clip_norm or math.inf, norm)
        loss, nll = sums / num_done
        is_finite = (norm + loss + nll).isfinite()
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = lr
            _step(optimizer, is_finite)
            optimizer.zero_grad(set_to_none=True)
        self.workers.refresh()
        return Measured(loss, nll, norm, is_finite, shortfall)

    def optimizer_state(self) -> dict[str, Tensor]:
        """All of it, in rank 0."""
        return self.held.gathered(optimizer_tensors(self.model, self.optimizers))

    def take(self, weights: Mapping[str, Tensor], optimizer_state: Mapping[str, Tensor]) -> None:
        """Have what rank 0 gives whole."""
        put(self.model, self.held.given_out(weights).items())
        restore_optimizers(self.model, self.optimizers, self.held.given_out(optimizer_state))
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
