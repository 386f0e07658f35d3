"""Stand-ins that answer by rule, so that a test knows the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from tfmt.config import ModelConfig

# events of a log
TRAIN = {
    "event": "train", "step": 1200, "epoch": 3, "loss": 2.5, "nll": 2.0, "ppl": 7.389, "lr": 1e-3, "grad_norm": 0.5,
    "tokens_per_s": 8123.4, "matrix_share": 0.312, "peak_memory_bytes": 1.25e9, "seconds_left": 3725.0,
    "progress": 0.5, "skipped": 0, "left_out": 0,
}  # fmt: skip
VALIDATION = {
    "event": "validate", "step": 9, "loss": 2.1, "nll": 1.1, "ppl": 3.0, "bleu": 35.123, "chrf": 60.0, "is_best": True,
    "averaged": 0, "samples": [],
}  # fmt: skip


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
