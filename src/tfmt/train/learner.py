"""One update: gradients of all its batches, summed; clipped; one step of the optimizer.

The model's weights are fp32. In bf16 a working copy goes through the batches: its linear layers, which are nearly all
of the work, have bf16 weights, made anew from the model's after each update; embeddings and norms are the model's own.
So products and all between them run in bf16, while small changes add up in fp32 (Micikevicius et al., 2018).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
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


@dataclass(frozen=True)
class Measured:
    """Of one update, still on the device: mean smoothed loss and mean plain loss a target token, gradient norm."""

    loss: Tensor
    nll: Tensor
    norm: Tensor


class Learner:
    def __init__(self, model: Transformer, cfg: TrainConfig, precision: Literal["fp32", "bf16"], world: World) -> None:
        self.model = model
        self.cfg = cfg
        self.world = world
        self.optimizers = make_optimizers(model, cfg)
        self.work = model
        self.pairs: list[tuple[nn.Parameter, nn.Parameter]] = []  # of the model and of its copy, where these differ
        if precision == "bf16":
            self.work = _working_copy(model)
            self.pairs = [
                (own, low)
                for own, low in zip(model.parameters(), self.work.parameters(), strict=True)
                if own is not low
            ]

    @torch.no_grad()
    def refresh(self) -> None:
        """Make the working copy anew, after the model's weights have changed."""
        if self.pairs:
            torch._foreach_copy_([low for _, low in self.pairs], [own for own, _ in self.pairs])

    def learn(self, batches: Iterable[Batch], num_tokens: int, lr: float) -> Measured:
        """One step on all batches of all processes; `num_tokens` counts the target tokens in them."""
        sums = torch.zeros(2, device=self.model.device)
        for batch in batches:
            smoothed, plain = batch_loss_sums(self.work, batch, self.cfg.label_smoothing, self.cfg.r_drop)
            (smoothed / num_tokens).backward()
            sums += torch.stack((smoothed.detach(), plain))
            self._gather_gradients()
        if self.world.size > 1:
            self.world.add_up([sums, *self._gradients()])
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip_norm or math.inf)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = lr
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.refresh()
        loss, nll = sums / num_tokens
        return Measured(loss, nll, norm)

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
        self.refresh()

    def _gradients(self) -> list[Tensor]:
        """Of all the model's weights; zeros where this process had no batch."""
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        for parameter in trained:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        return [parameter.grad for parameter in trained if parameter.grad is not None]

    @torch.no_grad()
    def _gather_gradients(self) -> None:
        """Add the copy's gradients to the model's, in fp32."""
        for own, low in self.pairs:
            if low.grad is None:
                continue
            if own.grad is None:
                own.grad = low.grad.float()
            else:
                own.grad += low.grad
            low.grad = None


def _working_copy(model: Transformer) -> Transformer:
    """The same model with bf16 weights of its own in all linear layers but the head."""
    shared = {id(parameter): parameter for parameter in model.parameters()}
    work = copy.deepcopy(model, memo=dict(shared))
    for module in work.modules():
        if isinstance(module, nn.Linear) and module is not work.head:
            module.weight = _in_bf16(module.weight)
            if module.bias is not None:
                module.bias = _in_bf16(module.bias)
    return work


def _in_bf16(weight: Tensor) -> nn.Parameter:
    return nn.Parameter(weight.detach().bfloat16(), requires_grad=weight.requires_grad)
