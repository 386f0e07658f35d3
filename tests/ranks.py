"""Trainings, or other work, on several processes of this machine, without torchrun: what they say, how they end."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

import torch
from torch.distributed import TCPStore

from tfmt.train.distributed import World, joined

Fault = Callable[[int, list[str]], None]  # done in each process before it trains, given its rank and words
START = multiprocessing.get_context("forkserver")  # which imports all that is heavy once for all processes
START.set_forkserver_preload(["tfmt.cli.main", "tfmt.train.trainer", "ranks"])


@dataclass(frozen=True)
class Ended:
    """Exit statuses by rank (minus the signal that killed), and all that went to stderr, line by line."""

    statuses: list[int]
    lines: list[str]


def train_on(size: int, words: Sequence[object], folder: Path, *, fault: Fault | None = None) -> Ended:
    """Run `tfmt train` with these words in `size` processes."""
    return run_on(size, partial(_train, [str(word) for word in words], fault), folder)


def work_on(size: int, work: Callable[[World], None], folder: Path, *, device: str = "cpu") -> None:
    """Do this work in each of `size` processes, which are one training; raises what it raises in one of them."""
    ended = run_on(size, partial(_work, work, device), folder)
    assert ended.statuses == [0] * size, "\n".join(ended.lines)


def run_on(size: int, work: Callable[[int], int], folder: Path) -> Ended:
    """Do what gives the exit status, given the rank, in `size` processes; within a minute all must have ended."""
    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=60))
    folder.mkdir(exist_ok=True)
    outputs = [folder / f"stderr-{rank}" for rank in range(size)]
    processes = [START.Process(target=_run, args=(rank, size, store.port, work, outputs[rank])) for rank in range(size)]
    for process in processes:
        process.start()
    try:
        for _ in range(60):  # seconds, not counting those in which this machine stands still
            for process in processes:
                process.join(1 / size)
        assert not any(process.is_alive() for process in processes), [output.read_text() for output in outputs]
    finally:
        for process in processes:
            process.kill()
    lines = [line for output in outputs for line in output.read_text().splitlines()]
    return Ended([process.exitcode for process in processes], lines)


def _run(rank: int, size: int, port: int, work: Callable[[int], int], output: Path) -> None:
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    with output.open("wb", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    torch.set_num_threads(1)
    raise SystemExit(work(rank))


def _train(words: list[str], fault: Fault | None, rank: int) -> int:
    from tfmt.cli.main import run

    if fault:
        fault(rank, words)
    return run(["train", *words])


def _work(work: Callable[[World], None], device: str, rank: int) -> int:
    with joined(device) as world:
        work(world)
    return 0


@dataclass(frozen=True)
class hit_at:  # noqa: N801
    """One process sends itself a signal before its update `step` + 1."""

    step: int
    rank: int
    number: signal.Signals

    def __call__(self, rank: int, words: Sequence[str] = ()) -> None:
        from tfmt.train.trainer import Trainer

        update = Trainer.update

        def update_or_be_hit(trainer, planned):
            if trainer.state.step == self.step and rank == self.rank:
                os.kill(os.getpid(), self.number)
            return update(trainer, planned)

        Trainer.update = update_or_be_hit


@dataclass(frozen=True)
class out_of_memory_at:  # noqa: N801
    """Memory of one process runs out in its update `step` + 1, midway."""

    step: int
    rank: int

    def __call__(self, rank: int, words: Sequence[str] = ()) -> None:
        from tfmt.train import learner

        loss_sums, learn = learner.batch_loss_sums, learner.Learner.learn
        updates = []

        def learn_and_count(*args):
            updates.append(1)
            return learn(*args)

        def loss_sums_or_none(*args):
            if len(updates) > self.step and rank == self.rank:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
            return loss_sums(*args)

        learner.Learner.learn, learner.batch_loss_sums = learn_and_count, loss_sums_or_none


@dataclass(frozen=True)
class other_words:  # noqa: N801
    """One process, or all, are given a setting of their own."""

    rank: int | None
    word: str

    def __call__(self, rank: int, words: list[str]) -> None:
        if self.rank in (None, rank):
            words += ["--set", self.word]


@dataclass(frozen=True)
class full_disk_at:  # noqa: N801
    """The disk is full when the checkpoint of that update is written."""

    step: int

    def __call__(self, rank: int, words: list[str]) -> None:
        from tfmt import checkpoint

        save = checkpoint.save_config

        def full(cfg, path):
            if f"step-{self.step:08d}" in str(path):
                raise OSError(errno.ENOSPC, "No space left on device")
            save(cfg, path)

        checkpoint.save_config = full
