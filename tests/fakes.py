"""Stand-ins that answer by rule, so that a test knows the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tfmt.config import ModelConfig


def small_config(**changes: object) -> ModelConfig:
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 32, "num_heads": 4, "d_ff": 64}
    return ModelConfig.model_validate(sizes | changes)


@dataclass
class TableState:
    rows: list[tuple[int, ...]]  # what each row has read, <bos> first
    sources: list[tuple[int, ...]]  # of each row


class TableScorer:
    """A scorer that looks log-probabilities up: `logp(source, prefix)` gives those of all V tokens."""

    def __init__(self, logp: Callable[[tuple[int, ...], tuple[int, ...]], Tensor]) -> None:
        self.logp = logp
        self.num_steps = 0

    def start(self, src_BS: Tensor, beam: int) -> TableState:
        sources = [tuple(row) for row in src_BS.tolist() for _ in range(beam)]
        return TableState([() for _ in sources], sources)

    def step(self, ids_R: Tensor, state: TableState) -> Tensor:
        self.num_steps += 1
        state.rows = [(*row, token) for row, token in zip(state.rows, ids_R.tolist(), strict=True)]
        return torch.stack([self.logp(s, row[1:]) for s, row in zip(state.sources, state.rows, strict=True)])

    def select(self, rows_R: Tensor, state: TableState) -> TableState:
        picked = rows_R.tolist()
        return TableState([state.rows[row] for row in picked], [state.sources[row] for row in picked])
