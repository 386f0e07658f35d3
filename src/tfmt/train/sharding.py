"""What each process holds of the model that trains: all of it, or its share of every tensor.

Replicated: all hold all, and add up their gradients once an update. Sharded (Rajbhandari et al., 2020, "ZeRO", by
PyTorch's `fully_shard`): a tensor's rows are divided evenly, and so are those of its gradient, of the optimizer's state
and of the moving average. A block's rows are brought together only while it computes. What is loaded and saved is whole
tensors in rank 0, which alone has them, so that files do not tell how a run was held.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from tfmt.config import TrainConfig
from tfmt.corpus.batches import Batch
from tfmt.errors import TrainingError, is_out_of_memory
from tfmt.model.layers import Block
from tfmt.model.transformer import Transformer
from tfmt.special_ids import BOS, EOS
from tfmt.train.distributed import World, is_loss, lost
from tfmt.train.shortfall import Gradients, Shortfall
from tfmt.train.workers import Workers


def is_sharded(cfg: TrainConfig, world: World) -> bool:
    """One process holds all in any case."""
    return cfg.shard and world.size > 1


def where_models_begin(cfg: TrainConfig, world: World) -> AbstractContextManager[object]:
    """Within it a new model has its weights in rank 0 alone, where processes are to hold shares."""
    return torch.device("meta") if is_sharded(cfg, world) and not world.is_main else nullcontext()


class Replicated:
    """Every process holds all."""

    def __init__(self, model: Transformer, precision: Literal["fp32", "bf16"], world: World, *, compiled: bool) -> None:
        self.world = world
        self.model = model.to(world.device)
        world.copy_from_main(list(model.parameters()))
        self.workers: Workers | ShardedWorker = Workers(model, precision, compiled=compiled)

    def add_up(self, sums: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
        """Put the sum over all processes into each tensor."""
        self.world.add_up([*sums, *gradients])

    def norm(self, gradients: Sequence[Tensor]) -> Tensor:
        """Of all gradients together."""
        return get_total_norm(gradients)

    def to_use(self, model: Transformer) -> Transformer:
        """All of a model that is held as the one that trains is, in every process."""
        return model

    def to_save(self, model: Transformer) -> Transformer:
        """The same in rank 0 alone."""
        return model

    def gathered(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The whole of weights or of the optimizer's state, in rank 0."""
        return dict(tensors)

    def given_out(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What every process is to hold of what rank 0 has whole: `gathered` the other way."""
        if self.world.size == 1:
            return dict(tensors)
        here = dict(_alike(tensors, self.world))
        self.world.copy_from_main(list(here.values()))
        return here


class Sharded:
    """Every process holds its rows of each tensor.

    `model` holds them as plain parameters, under the names of the whole ones: optimizers and moving averages that work
    number by number see nothing else. It is never run; the worker's model is, which shares its memory.
    """

    def __init__(self, model: Transformer, precision: Literal["fp32", "bf16"], world: World) -> None:
        self.world = world
        plan = Transformer.without_weights(model.cfg, model.vocab_size, "meta").train()
        for one, other in zip(plan.parameters(), model.parameters(), strict=True):
            one.requires_grad_(other.requires_grad)
        self.plan = plan
        self.num_rows = {name: len(parameter) for name, parameter in plan.named_parameters()}
        work = _fully_sharded(copy.deepcopy(plan), precision, world)
        rows = dict(work.named_parameters())
        self.model = _with_parameters(plan, {name: _rows_here(parameter) for name, parameter in rows.items()})
        put(self.model, self.given_out(dict(model.named_parameters())).items())
        self.workers: Workers | ShardedWorker = ShardedWorker(self.model, work, world)

    def add_up(self, sums: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
        self.world.add_up(sums)  # gradients have been added up in the backward passes

    def norm(self, gradients: Sequence[Tensor]) -> Tensor:
        square = get_total_norm(gradients).double().square()
        self.world.add_up([square])
        return square.sqrt().float()

    def to_use(self, model: Transformer) -> Transformer:
        whole = Transformer.without_weights(model.cfg, model.vocab_size, self.world.device)
        put(whole, self._whole(dict(model.named_parameters())))
        return whole.eval()

    def to_save(self, model: Transformer) -> Transformer:
        weights = self.gathered(dict(model.named_parameters()))
        return _with_parameters(self.plan, weights) if self.world.is_main else model

    def gathered(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {name: whole.cpu() for name, whole in self._whole(tensors) if self.world.is_main}

    def given_out(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        here = {}
        for name, whole in _alike(tensors, self.world):
            self.world.copy_from_main([whole])
            here[name] = (whole[self._rows_of(name, self.world.rank)] if whole.ndim else whole).clone()
        return here

    def _whole(self, tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
        """Each tensor with all of its rows, one after the other; one without rows, such as a count, is alike in all."""
        for name, rows in tensors.items():
            if not rows.ndim:
                yield name, rows.clone()
                continue
            padded = rows.new_zeros(self._most_rows(name), *rows.shape[1:])
            padded[: len(rows)] = rows.detach()
            yield name, self.world.end_to_end(padded)[: self._all_rows(name)]

    def _rows_of(self, name: str, rank: int) -> slice:
        """As `torch.chunk` divides them: the last ones may have fewer, or none."""
        return slice(rank * self._most_rows(name), (rank + 1) * self._most_rows(name))

    def _most_rows(self, name: str) -> int:
        return math.ceil(self._all_rows(name) / self.world.size)

    def _all_rows(self, name: str) -> int:
        """Of a weight, or of an optimizer's state, whose name is that of a weight and one more."""
        return self.num_rows.get(name) or self.num_rows[name.rpartition(".")[0]]


class ShardedWorker:
    """Goes through the batches of its process, in step with all others: every pass is one of all processes."""

    num = 1

    def __init__(self, model: Transformer, work: Transformer, world: World) -> None:
        self.model = model
        self.work = work
        self.world = world

    def refresh(self) -> None:
        """Nothing: each pass takes the weights as they are."""

    def seed(self, *seed: int) -> None:
        self.work.seed_dropout(*seed, 0)

    def add_gradients(self, shares: Sequence[Iterable[Batch]], gradients: Gradients) -> tuple[Tensor, Shortfall]:
        """As `Workers.add_gradients`, but that the gradients are those of all processes' batches."""
        (share,) = shares
        batches, total = list(share), torch.zeros(2, device=self.model.device)
        num_rounds = int(self.world.most(len(batches))[0])
        for number in range(num_rounds):
            if number < len(batches):
                total += self._in_step(gradients, batches[number])
            else:
                self._in_step(gradients, _blank(self.model.device))
        self._move_gradients()
        return total, Shortfall()

    def _in_step(self, gradients: Gradients, batch: Batch) -> Tensor:
        try:
            return gradients(self.work, batch)
        except Exception as error:
            if is_loss(error):
                raise lost() from error
            if not is_out_of_memory(error):
                raise
            raise TrainingError(
                f"process {self.world.rank}: out of memory in a batch of {batch.src_BS.numel():,} + "
                f"{batch.tgt_in_BT.numel():,} tokens, padding included, and with train.shard no process can do one in "
                "halves: lower train.micro_batch_tokens, or start more processes"
            ) from error

    @torch.no_grad()
    def _move_gradients(self) -> None:
        """To the model's parameters; the mean over processes, as they come, becomes the sum."""
        moved = []
        for own, other in zip(self.model.parameters(), self.work.parameters(), strict=True):
            if other.grad is not None:
                own.grad = _rows_here(other.grad)
                other.grad = None
                moved.append(own.grad)
        torch._foreach_mul_(moved, self.world.size)


@torch.no_grad()
def put(model: nn.Module, tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Copy these numbers into the parameters of these names."""
    parameters = dict(model.named_parameters())
    for name, tensor in tensors:
        parameters[name].copy_(tensor)


def _fully_sharded(work: Transformer, precision: Literal["fp32", "bf16"], world: World) -> Transformer:
    """The model, whose blocks bring their weights together by themselves, with undefined weights.

    Embeddings, the output matrix (which is often one of them, and which the loss reads) and the last norms stay
    together, in fp32, from the first use in a pass to the end. The source's keys and values are made ahead of the
    blocks that read them, which is why that attention is brought together by itself.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method

    # no value that a block gives is changed in place
    warnings.filterwarnings("ignore", message="FSDP2-wrapped module .* returned a view tensor")
    mesh = init_device_mesh(world.device.type, (world.size,))
    low = MixedPrecisionPolicy()
    if precision == "bf16":
        low = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in cast(Iterable[Block], (*work.encoder, *work.decoder)):
        if hasattr(block, "cross_attention"):
            fully_shard(block.cross_attention, mesh=mesh, mp_policy=low)
            register_fsdp_forward_method(block.cross_attention, "keys_values")
        fully_shard(block, mesh=mesh, mp_policy=low)
    fully_shard(work, mesh=mesh, reshard_after_forward=False)
    for method in ("encode", "decode_hidden"):
        register_fsdp_forward_method(work, method)
    work.to_empty(device=world.device)
    work.positions.reset()
    work._tie()
    return work


def _rows_here(tensor: Tensor) -> Tensor:
    return cast(dist.tensor.DTensor, tensor.detach()).to_local()


def _with_parameters(plan: Transformer, tensors: Mapping[str, Tensor]) -> Transformer:
    """A copy of the plan with these as its parameters."""
    memo: dict[int, object] = {
        id(parameter): nn.Parameter(tensors[name], requires_grad=parameter.requires_grad)
        for name, parameter in plan.named_parameters()
    }
    return copy.deepcopy(plan, memo)


def _alike(tensors: Mapping[str, Tensor], world: World) -> Iterator[tuple[str, Tensor]]:
    """Rank 0's tensors on its device; in the others as large ones, under the same names, with any numbers."""
    kinds = world.told({name: (tensor.shape, tensor.dtype) for name, tensor in tensors.items()})
    for name, (shape, dtype) in kinds.items():
        here = tensors[name].detach() if world.is_main else torch.empty(shape, dtype=dtype, device=world.device)
        yield name, here.to(world.device)


def _blank(device: torch.device) -> Batch:
    """A pair without a word, which counts nothing: for a process that has no batch where others have one."""
    place = torch.zeros(1, dtype=torch.int64)
    return Batch(
        src_BS=torch.tensor([[EOS]]),
        tgt_in_BT=torch.tensor([[BOS]]),
        tgt_out_BT=torch.tensor([[EOS]]),
        num_tokens=0,
        weight_B=torch.zeros(1),
        src_place_P=place,
        tgt_place_P=place,
    ).to(device)
