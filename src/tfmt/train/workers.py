"""The threads that go through an update's batches side by side, each with a copy of the model.

On a CPU two threads that each do a whole batch are faster than two that share every product: a small model's operations
are too short to be shared. A copy holds the model's own weights and no memory for them, but for its linear layers in
bf16, which are nearly all of the work: these are made anew after each update. So products and all between them run in
bf16, while small changes add up in the model's fp32 (Micikevicius et al., 2018). Gradients are added in a fixed order.

A batch that memory does not hold is done in halves; a pair that it does not hold alone is left out.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import zip_longest
from typing import Literal

import torch
from torch import Tensor, nn

from tfmt.corpus.batches import Batch
from tfmt.model.transformer import Transformer
from tfmt.train.shortfall import Gradients, Shortfall, tried

MAX_WORKERS = 4  # more threads than that share products: batches would get small, gradients many


def num_workers(device: torch.device) -> int:
    """How many share an update's batches on this device."""
    return min(MAX_WORKERS, torch.get_num_threads()) if device.type == "cpu" else 1


class Workers:
    def __init__(self, model: Transformer, precision: Literal["fp32", "bf16"], *, compiled: bool = False) -> None:
        self.model = model
        self.num = num_workers(model.device)
        self.copies = [_working_copy(model, precision)]
        self.copies += [_sharing_copy(self.copies[0]) for _ in range(1, self.num)]
        if compiled:
            for work in self.copies:
                _compile_blocks(work)
        self.pool: ThreadPoolExecutor | None = None
        if self.num > 1:
            threads = max(1, torch.get_num_threads() // self.num)
            self.pool = ThreadPoolExecutor(self.num, "worker", initializer=torch.set_num_threads, initargs=(threads,))

    @torch.no_grad()
    def refresh(self) -> None:
        """Make the copies anew, after the model's weights have changed."""
        pairs = zip(self.model.parameters(), self.copies[0].parameters(), strict=True)
        changed = [(own, low) for own, low in pairs if own.dtype != low.dtype]
        if changed:
            torch._foreach_copy_([low for _, low in changed], [own for own, _ in changed])

    def seed(self, *seed: int) -> None:
        """Seed each copy's dropout."""
        for number, work in enumerate(self.copies):
            work.seed_dropout(*seed, number)

    def add_gradients(self, shares: Sequence[Iterable[Batch]], gradients: Gradients) -> tuple[Tensor, Shortfall]:
        """Let each worker do the batches of its share by `gradients`, whose results are summed; those of the weights
        end up on the model's."""
        total, shortfall = torch.zeros(2, device=self.model.device), Shortfall()
        for batches in zip_longest(*shares):
            at_hand = [(work, batch) for work, batch in zip(self.copies, batches, strict=True) if batch is not None]
            results = self._side_by_side(gradients, at_hand)
            self._gather([work for (work, _), found in zip(at_hand, results, strict=True) if found is not None])
            for (work, batch), found in zip(at_hand, results, strict=True):
                total += self._in_halves(gradients, work, batch, shortfall) if found is None else found
        return total, shortfall

    def _side_by_side(self, gradients: Gradients, at_hand: Sequence[tuple[Transformer, Batch]]) -> list[Tensor | None]:
        if self.pool is None:
            return [tried(gradients, work, batch) for work, batch in at_hand]
        futures = [self.pool.submit(tried, gradients, work, batch) for work, batch in at_hand]
        wait(futures)  # an error of one is raised when none is at work
        return [future.result() for future in futures]

    def _in_halves(self, gradients: Gradients, work: Transformer, batch: Batch, shortfall: Shortfall) -> Tensor:
        """Do a batch that memory did not hold; one pair is left out."""
        total = torch.zeros(2, device=self.model.device)
        if len(batch.src_BS) == 1:
            shortfall.leave_out(batch)
            return total
        shortfall.num_split += 1
        for half in batch.halves():
            found = tried(gradients, work, half)
            self._gather([work])
            total += self._in_halves(gradients, work, half, shortfall) if found is None else found
        return total

    @torch.no_grad()
    def _gather(self, copies: Sequence[Transformer]) -> None:
        """Move the copies' gradients to the model's, in fp32."""
        for own, *others in zip(self.model.parameters(), *(work.parameters() for work in copies), strict=True):
            for other in others:
                if other.grad is None:
                    continue
                own.grad = other.grad.to(own.dtype) if own.grad is None else own.grad.add_(other.grad)
                other.grad = None


def _compile_blocks(work: Transformer) -> None:
    """Each block by itself: they are all alike, so that two are compiled, for all lengths of a strip."""
    import torch._dynamo

    torch._dynamo.config.recompile_limit = 64  # with padding on either side or none, and the like; all blocks count
    for block in (*work.encoder, *work.decoder):
        block.compile(dynamic=True)


def _working_copy(model: Transformer, precision: Literal["fp32", "bf16"]) -> Transformer:
    """The same model, which shares the model's memory; in bf16, linear layers but the head have their own."""
    work = _sharing_copy(model)
    if precision == "bf16":
        for module in work.modules():
            if isinstance(module, nn.Linear) and module is not work.head:
                for name, parameter in list(module.named_parameters()):
                    setattr(module, name, _parameter(parameter.detach().bfloat16(), like=parameter))
    return work


def _sharing_copy(model: Transformer) -> Transformer:
    """The same model with parameters, and so gradients, of its own, which share the model's memory."""
    memo: dict[int, object] = {id(one): _parameter(one.detach(), like=one) for one in model.parameters()}
    return copy.deepcopy(model, memo)


def _parameter(values: Tensor, *, like: nn.Parameter) -> nn.Parameter:
    return nn.Parameter(values, requires_grad=like.requires_grad)
