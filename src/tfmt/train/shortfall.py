"""What memory did not hold: batches done in halves instead, and pairs too large even alone, which are left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tfmt.corpus.batches import Batch
from tfmt.errors import TrainingError, is_out_of_memory
from tfmt.model.transformer import Transformer

Gradients = Callable[[Transformer, Batch], Tensor]  # makes those of a batch, and gives the two sums of its loss
MAX_LEFT_OUT = 8  # pairs in one update; more would not be giants, but a model too large for the machine


@dataclass(frozen=True)
class LeftOut:
    """A pair too large for memory: its number in the corpus, from 0, and its tokens."""

    pair: int
    source_tokens: int
    target_tokens: int

    @classmethod
    def of(cls, batch: Batch) -> LeftOut:
        return cls(-1 if batch.pairs is None else int(batch.pairs[0]), batch.src_BS.shape[1], batch.num_tokens)

    def __str__(self) -> str:
        return f"pair {self.pair:,} of the training data ({self.source_tokens:,} + {self.target_tokens:,} tokens)"


@dataclass
class Shortfall:
    """Of one update."""

    num_split: int = 0  # batches
    left_out: list[LeftOut] = field(default_factory=list)

    def leave_out(self, batch: Batch) -> None:
        """Note a batch of one pair; raises TrainingError when that is too much to go on."""
        self.left_out.append(LeftOut.of(batch))
        if len(self.left_out) > MAX_LEFT_OUT:
            raise TrainingError(f"out of memory even for single pairs, as {self.left_out[0]}: make the model smaller")

    @property
    def num_tokens(self) -> int:
        """Target tokens of the pairs left out."""
        return sum(pair.target_tokens for pair in self.left_out)

    def __bool__(self) -> bool:
        return self.num_split > 0 or len(self.left_out) > 0


def tried(gradients: Gradients, work: Transformer, batch: Batch) -> Tensor | None:
    """What `gradients` gives; None, and no trace of it, when memory has run out."""
    try:
        return gradients(work, batch)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
    # only here, since an error being handled keeps alive all that the pass has made
    for parameter in work.parameters():
        parameter.grad = None
    if work.device.type == "cuda":
        torch.cuda.empty_cache()
    return None
