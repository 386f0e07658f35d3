"""Trainings on several processes of this machine, without torchrun: what the processes say and how they end."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from torch.distributed import TCPStore

Fault = Callable[[int, list[str]], None]  # done in each process before it trains, given its rank and words
START = multiprocessing.get_context("forkserver")  # which imports all that is heavy once for all processes
START.set_forkserver_preload(["tfmt.cli.main", "tfmt.train.trainer", "ranks"])


@dataclass(frozen=True)
class Ended:
    """Exit statuses by rank (minus the signal that killed), and all that went to stderr, line by line."""

    statuses: list[int]
    lines: list[str]


def train_on(size: int, words: Sequence[object], folder: Path, *, fault: Fault | None = None) -> Ended:
    """Run `tfmt train` with these words in `size` processes; within a minute all must have ended."""
    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=60))
    folder.mkdir(exist_ok=True)
    outputs = [folder / f"stderr-{rank}" for rank in range(size)]
    processes = [
        START.Process(target=_train, args=(rank, size, store.port, [str(word) for word in words], outputs[rank], fault))
        for rank in range(size)
    ]
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


def _train(rank: int, size: int, port: int, words: list[str], output: Path, fault: Fault | None) -> None:
    import torch

    from tfmt.cli.main import run

    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    with output.open("wb", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    torch.set_num_threads(1)
    if fault:
        fault(rank, words)
    raise SystemExit(run(["train", *words]))


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
