"""How many tokens memory holds at once, for train.micro_batch_tokens = "auto".

On a GPU the largest batches that training could come to are tried out in updates at rate 0. A CPU whose memory runs out
kills the process, so that there the bytes of two small batches are counted, and what is free decides. What is found is
what all processes hold.
"""

from __future__ import annotations

import os
import platform
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from tfmt.config import RunConfig
from tfmt.corpus.batches import Batch, Corpus, Side, largest_update
from tfmt.errors import ConfigError, TrainingError
from tfmt.special_ids import EOS
from tfmt.train.learner import Learner
from tfmt.train.loss import batch_loss_sums
from tfmt.train.sharding import is_sharded
from tfmt.train.workers import Workers

MARGIN = 0.9  # what is taken of a GPU's largest size: batches of other shapes leave gaps between them
CPU_SHARE = 0.5  # of what is free: a process grows by up to 1.5 times the bytes counted (LOG.md), others want some too
PROBE = 1024  # tokens in a batch of which bytes are counted
UNKNOWN_MEMORY = 2 << 30  # bytes, where the system does not say

Judge = Callable[[int], bool]  # whether a micro-batch of so many tokens goes through on all processes


def fitting_micro_batch(learner: Learner, corpus: Corpus, cfg: RunConfig) -> int:
    """The largest train.micro_batch_tokens of use that every process has the memory for; all must ask.

    Weights stay as they are, and nothing is left of the trials. Raises TrainingError when not even the longest pair
    fits, ConfigError where a trial would be the end of all.
    """
    if is_sharded(cfg.train, learner.world):
        raise ConfigError(
            'train.micro_batch_tokens: "auto" lets memory run out to find what it holds, which processes that share a '
            "model (train.shard) do not survive; set a number"
        )
    longer = np.maximum(corpus.source.lengths, corpus.target.lengths)
    pair, longest = int(longer.argmax()), int(longer.max())
    most = max(-(-largest_update(corpus, cfg.train.batch_tokens, cfg.seed) // learner.num_shares), longest)
    try:
        _update_nothing(learner, worst_batches(corpus, 1)[0])  # so that the optimizers' state takes its memory
        judge = (by_estimate if learner.model.device.type == "cpu" else by_trial)(learner, corpus)
        if not judge(longest):
            raise TrainingError(
                f"out of memory for the longest pair of the training data, pair {pair:,} "
                f"({corpus.source.lengths[pair]:,} + {corpus.target.lengths[pair]:,} tokens): lower --max-tokens of "
                "`tfmt prepare`, make the model smaller, or set train.micro_batch_tokens to a number: pairs that do "
                "not fit are then left out"
            )
        found = _largest(judge, longest, most)
    finally:
        _forget(learner)
    return found * (2 if cfg.train.r_drop else 1)


def by_trial(learner: Learner, corpus: Corpus) -> Judge:
    """Judges by updates that change nothing."""

    def holds(tokens: int) -> bool:
        return not any(_update_nothing(learner, batch).any() for batch in worst_batches(corpus, int(tokens / MARGIN)))

    return holds


def by_estimate(learner: Learner, corpus: Corpus) -> Judge:
    """Judges by bytes counted, and what is free."""
    here = learner.world.gathered(platform.node()).count(platform.node())  # processes that share this memory
    free = CPU_SHARE * free_memory() / here / learner.workers.num
    foresee = foresight(learner, corpus)

    def holds(tokens: int) -> bool:
        return learner.world.most(foresee(tokens) - free)[0] <= 0

    return holds


def foresight(learner: Learner, corpus: Corpus) -> Callable[[int], float]:
    """The bytes that one worker will hold for a micro-batch of so many tokens, by two small ones; rather too many."""
    longest, shortest = worst_batches(corpus, PROBE)
    # more of the longest pairs stand in more padding, and more of the shortest in less
    bytes_a_place = count_bytes(learner, longest) / longest.tgt_in_BT.numel()
    bytes_a_token = count_bytes(learner, shortest) / shortest.num_tokens

    def foresee(tokens: int) -> float:
        return max(worst_batches(corpus, tokens)[0].tgt_in_BT.numel() * bytes_a_place, tokens * bytes_a_token)

    return foresee


def count_bytes(learner: Learner, batch: Batch) -> int:
    """The most that one worker holds at once while it makes a batch's gradients."""
    assert isinstance(learner.workers, Workers)
    work = learner.workers.copies[0]
    with LiveBytes() as live:
        smoothed, _ = batch_loss_sums(work, batch, learner.cfg.label_smoothing, learner.cfg.r_drop)
        smoothed.backward()
    for parameter in work.parameters():
        parameter.grad = None
    return int(live.most)


def worst_batches(corpus: Corpus, tokens: int) -> tuple[Batch, Batch]:
    """The two that take most: of the longest pairs, for attention, and of the shortest, for padding to a least width.

    Each has so many tokens on both sides, or one pair: a side that is shorter would take less.
    """
    lengths = np.sort(np.maximum(corpus.source.lengths, corpus.target.lengths))
    return _batch_of(_within(lengths[::-1], tokens)), _batch_of(_within(lengths, tokens))


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of all tensors made under it, while they live: `most` at once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = 0
        self.most = 0
        self._known = WeakIdKeyDictionary()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for storage in _storages((args, kwargs)):
            self._known.setdefault(storage, True)  # from before
        result = func(*args, **(kwargs or {}))
        for storage in _storages(result):
            if storage not in self._known:
                self._known[storage] = True
                self.now += storage.nbytes()
                self.most = max(self.most, self.now)
                weakref.finalize(storage, self._forget, storage.nbytes())
        return result

    def _forget(self, num_bytes: int) -> None:
        self.now -= num_bytes


def free_memory(root: Path = Path("/")) -> int:
    """Bytes that are free to this process: on the machine, and within the limits of its control groups."""
    return min([_free_on_machine(root), *_free_in_groups(root)])


def _free_on_machine(root: Path) -> int:
    fields = _fields(root / "proc/meminfo")
    if "MemAvailable:" in fields:
        return 1024 * fields["MemAvailable:"]
    try:  # not Linux: half of what there is
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (ValueError, OSError):
        return UNKNOWN_MEMORY


def _free_in_groups(root: Path) -> Iterator[int]:
    """Limit less use of each control group that this process is in, of either version; files read are no use."""
    for line in filter(None, _text(root / "proc/self/cgroup").split("\n")):
        _, controllers, path = line.split(":", 2)
        if not controllers:
            base, limit, use, cached = "", "memory.max", "memory.current", "inactive_file"
        elif "memory" in controllers.split(","):
            base, limit, use, cached = "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        else:
            continue
        top = root / "sys/fs/cgroup" / base
        folder = top / path.lstrip("/")  # in a container the path may be that outside, and the top be its own group
        for group in (folder, *(parent for parent in folder.parents if parent.is_relative_to(top))):
            numbers = [_text(group / name).strip() for name in (limit, use)]
            if all(number.isdecimal() for number in numbers):  # not "max", and there
                most, used = map(int, numbers)
                yield max(0, most - used + _fields(group / "memory.stat").get(cached, 0))


def _fields(file: Path) -> dict[str, int]:
    """First word and number of each line."""
    words = [line.split() for line in _text(file).split("\n")]
    return {line[0]: int(line[1]) for line in words if len(line) > 1 and line[1].isdecimal()}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""


def _within(lengths: NDArray[np.int64], tokens: int) -> NDArray[np.int64]:
    """As many of the first as have so many tokens in all; at least one."""
    return lengths[: max(1, int(np.searchsorted(np.cumsum(lengths), tokens, side="right")))]


def _batch_of(lengths: NDArray[np.int64]) -> Batch:
    """Sentences of these lengths on both sides; one less in one, since a batch without any padding takes less."""
    one_less = np.arange(len(lengths)) == 1
    side = Side.of([[EOS] * max(0, length - 1) for length in (lengths - one_less).tolist()])
    return Corpus(side, side).batch(np.arange(len(lengths)))


def _update_nothing(learner: Learner, batch: Batch) -> Tensor:
    """Go through an update at rate 0, each worker with this batch; its shortfall, over all processes."""
    shares = [[batch.to(learner.model.device)] for _ in range(learner.workers.num)]
    return learner.learn(shares, batch.num_tokens * learner.num_shares, lr=0.0, seed=(0,)).shortfall


def _forget(learner: Learner) -> None:
    for optimizer in learner.optimizers:
        optimizer.state.clear()
    learner.left_out.clear()
    if learner.model.device.type == "cuda":
        torch.cuda.empty_cache()  # blocks of sizes that training may never ask for
        torch.cuda.reset_peak_memory_stats(learner.model.device)


def _largest(judge: Judge, low: int, high: int) -> int:
    """The largest number up to `high` that is judged well, within a twentieth; `low` is known to be one."""
    if low == high or judge(high):
        return high
    while high - low > max(1, low // 20):
        middle = (low + high) // 2
        low, high = (middle, high) if judge(middle) else (low, middle)
    return low


def _storages(tree: Any) -> list[torch.UntypedStorage]:
    return [leaf.untyped_storage() for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
