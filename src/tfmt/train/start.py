"""Starting from a trained model: its weights, laid out for the vocabulary of the data at hand.

A piece that both vocabularies have keeps its vector. A new one gets the mean of the vectors of the pieces that the old
tokenizer cuts it into (Gee et al., 2022, "Fast Vocabulary Transfer").

Letters: V vocabulary · D width.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tfmt.checkpoint import load_model
from tfmt.config import ModelConfig
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.errors import ConfigError, ModelError
from tfmt.model.transformer import Transformer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Start:
    """A run's first weights, and whose they are."""

    weights: dict[str, Tensor]
    origin: str  # the model's folder, and how many pieces are its own

    @torch.no_grad()
    def put_into(self, model: Transformer) -> None:
        for name, parameter in model.named_parameters():
            parameter.copy_(self.weights[name])


def start_from(path: Path, cfg: ModelConfig, tokenizer: Tokenizer) -> Start:
    """The weights of the model at `path` for this tokenizer; raises when its architecture is not that of `cfg`."""
    try:
        old = load_model(path)
    except ModelError as error:
        raise ModelError(f"train.start_from: {error}") from error
    _check_same_architecture(path, old.config.model, cfg)
    weights = {name: parameter.detach() for name, parameter in old.model.named_parameters()}
    if tokenizer.fingerprint == old.tokenizer.fingerprint:
        return Start(weights, f"{path}, all {tokenizer.vocab_size:,} pieces taken over")
    ids = {piece: number for number, piece in enumerate(old.tokenizer.pieces)}
    parts = [[ids[piece]] if piece in ids else old.tokenizer.cut(piece) for piece in tokenizer.pieces]
    num_kept = sum(piece in ids for piece in tokenizer.pieces)
    for name in ("source_embedding.weight", "target_embedding.weight", "head.weight"):
        if name in weights:
            weights[name] = _rows(weights[name], parts)
    if 2 * num_kept < tokenizer.vocab_size:
        logger.warning(
            f"train.start_from: only {num_kept:,} of the data's {tokenizer.vocab_size:,} pieces are pieces of {path}; "
            "data prepared with that model's tokenizer.model would start from all it knows"
        )
    made = f"{tokenizer.vocab_size - num_kept:,} new ones made of their parts"
    return Start(weights, f"{path}, {num_kept:,} of {tokenizer.vocab_size:,} pieces taken over, {made}")


def _check_same_architecture(path: Path, old: ModelConfig, new: ModelConfig) -> None:
    """Dropout may differ: it has no weights, and is for training only."""
    before, now = old.model_dump(), new.model_dump()
    differing = [key for key in now if before[key] != now[key] and not key.endswith("dropout")]
    if differing:
        shown = ", ".join(f"model.{key} is {before[key]} there and {now[key]} here" for key in differing)
        raise ConfigError(f"train.start_from: {path}: another architecture: {shown}; set [model] as it is there")


def _rows(weight_VD: Tensor, parts: list[list[int]]) -> Tensor:
    """A row for each list of ids: the mean of their rows, and the row itself, bit for bit, where there is one id."""
    counts = torch.tensor([len(ids) for ids in parts])
    flat = torch.tensor([number for ids in parts for number in ids])
    row = torch.arange(len(parts)).repeat_interleave(counts)
    sums_VD = weight_VD.new_zeros(len(parts), weight_VD.shape[1]).index_add_(0, row, weight_VD[flat])
    return sums_VD / counts.unsqueeze(1)
