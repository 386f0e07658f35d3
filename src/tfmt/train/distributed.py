"""One training on several processes, which `torchrun` starts: who is who, what all agree on, who speaks.

Every process plans the same updates, does its share of each (`batches.share_of`) and adds its gradients to the others'.
So all hold the same weights and make the same choices, but for what only one of them knows: a signal, the time, the
disk. That is agreed upon after each update, or told by rank 0, which alone reads and writes the run folder.

But for `train.shard` (`sharding.py`) nothing is exchanged inside a forward or backward pass: what happens to one
process there (memory that runs out, say) is its own affair. One that ends closes its connections, which the others see
when they next exchange something.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from tfmt.device import pick_device
from tfmt.errors import ConfigError, ToldElsewhere, TrainingError

T = TypeVar("T")
UPDATE_TIMEOUT = timedelta(minutes=10)  # that one process may be behind another within an update
PATIENCE = timedelta(days=1)  # while rank 0 saves or validates
EXIT_TIMEOUT = 30  # seconds, after which a GPU that waits for a lost process no longer holds up the exit
BUCKET = 25_000_000  # numbers added up over processes in one call: 100 MB


class World:
    """The processes of this training as one of them sees it; alone, each of these methods gives back what it got."""

    def __init__(
        self, device: torch.device, rank: int = 0, size: int = 1, patient: dist.ProcessGroup | None = None
    ) -> None:
        self.device = device
        self.rank = rank
        self.size = size
        self._patient = patient  # all processes, given more time

    @property
    def is_main(self) -> bool:
        """Whether this process reads, writes and speaks for all."""
        return self.rank == 0

    def most(self, *values: float) -> tuple[float, ...]:
        """The largest of each over all processes; all are at the same point after it."""
        if self.size == 1:
            return values
        found = torch.tensor(values, dtype=torch.float64)
        with _loss_named():
            dist.all_reduce(found, dist.ReduceOp.MAX)
        return tuple(found.tolist())

    def told(self, value: T) -> T:
        """What rank 0 has, however long it takes to have it."""
        return self.gathered(value)[0]

    def gathered(self, value: T) -> list[T]:
        """What each has, by rank."""
        if self.size == 1:
            return [value]
        values: list[T] = [value] * self.size
        with _loss_named():
            dist.all_gather_object(values, value, group=self._patient)
        return values

    def on_main(self, work: Callable[[], T]) -> T:
        """What rank 0 gets by this work, while the others wait."""
        return self.told(work() if self.is_main else None)  # type: ignore[return-value]

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Put the sum over all processes into each tensor."""
        if self.size > 1:
            self._in_buckets(tensors, dist.all_reduce)

    def end_to_end(self, rows: Tensor) -> Tensor:
        """The rows of all, by rank; each gives as many."""
        found = rows.new_empty(self.size * len(rows), *rows.shape[1:])
        with _loss_named():
            dist.all_gather(list(found.chunk(self.size)), rows)
        return found

    def copy_from_main(self, tensors: Sequence[Tensor]) -> None:
        """Put rank 0's numbers into each tensor."""
        if self.size > 1:
            self._in_buckets(tensors, lambda flat: dist.broadcast(flat, src=0))

    @torch.no_grad()
    def _in_buckets(self, tensors: Sequence[Tensor], exchange: Callable[[Tensor], object]) -> None:
        """End to end: many small tensors cost a call each."""
        for bucket in _buckets(tensors):
            flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
            with _loss_named():
                exchange(flat)
            parts = flat.split([tensor.numel() for tensor in bucket])
            torch._foreach_copy_(
                list(bucket), [part.view_as(tensor) for part, tensor in zip(parts, bucket, strict=True)]
            )


@contextmanager
def joined(device: str = "auto") -> Iterator[World]:
    """The processes of this training: those that `torchrun` has started, or this one alone.

    Only one tells of an error: what was raised in a process that is not to speak of it comes out as the cause of
    ToldElsewhere.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield World(pick_device(device))
        return
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and device != "cpu" else "gloo"
    with _loss_named():
        store, rank, size = next(rendezvous("env://", timeout=UPDATE_TIMEOUT))
        # a restart by torchrun finds the store of the attempt before
        store = PrefixStore(f"tfmt/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=UPDATE_TIMEOUT)
        patient = dist.new_group(backend="gloo", timeout=PATIENCE)
    logger = logging.getLogger("tfmt")
    level = logger.level
    if rank:
        logger.setLevel(logging.ERROR)  # what rank 0 warns of holds for all
    try:
        yield World(_own_device(device), rank, size, patient)
        with _loss_named():
            dist.barrier()
        dist.destroy_process_group()
    except BaseException as error:
        if torch.cuda.is_initialized():
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(EXIT_TIMEOUT)
        if not _may_speak(store):
            raise ToldElsewhere from error
        raise
    finally:
        logger.setLevel(level)


@contextmanager
def _loss_named() -> Iterator[None]:
    """Say in plain words that an exchange failed."""
    try:
        yield
    except RuntimeError as error:
        raise lost() from error


def lost() -> TrainingError:
    return TrainingError(
        "another process of this training has ended or cannot be reached; "
        "the same command goes on from the last checkpoint"
    )


def is_loss(error: BaseException) -> bool:
    """Whether an error that may be of any kind is that of an exchange, by the words of its libraries."""
    return isinstance(error, RuntimeError) and any(name in str(error).lower() for name in ("gloo", "nccl"))


def _own_device(name: str) -> torch.device:
    """The GPU that is this process's own, or the CPU; raises ConfigError where there are fewer GPUs than processes."""
    device, place = pick_device(name), int(os.environ["LOCAL_RANK"])
    if device.type == "cpu":
        return device
    if device.index is not None:
        raise ConfigError(f"--device {name}: every process takes a GPU of its own; choose cuda, cpu or auto")
    if place >= torch.cuda.device_count():
        raise ConfigError(
            f"process {place} of this machine has no GPU, of which there are {torch.cuda.device_count()}; "
            "start as many processes (torchrun --nproc-per-node), or choose --device cpu"
        )
    torch.cuda.set_device(place)
    return torch.device("cuda", place)


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    bucket: list[Tensor] = []
    for tensor in tensors:
        is_full = bool(bucket) and sum(other.numel() for other in bucket) + tensor.numel() > BUCKET
        if is_full or (bucket and bucket[0].dtype != tensor.dtype):
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket


def _may_speak(store: Store) -> bool:
    """Whether no other process has told of an error yet; all speak when they have lost one another."""
    store.set_timeout(timedelta(seconds=5))
    try:
        return bool(store.add("errors told", 1) == 1)
    except RuntimeError:
        return True
