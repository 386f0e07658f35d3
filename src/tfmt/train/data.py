"""What a run trains on: opened once, and one batch of it to look at.

Letters: B sentences · S source length · T target length.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from torch import Tensor

from tfmt.config import RunConfig
from tfmt.corpus.batches import Corpus, open_prepared, plan_epoch, prepared_tokenizer
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.errors import ConfigError
from tfmt.special_ids import PAD


def open_data(cfg: RunConfig) -> tuple[Tokenizer, Corpus]:
    """The tokenizer and all pairs of data.train."""
    if not cfg.data.train:
        raise ConfigError("data.train: is empty; name the folder that `tfmt prepare` made")
    folders = [Path(folder) for folder in cfg.data.train]
    tokenizer = Tokenizer.load(prepared_tokenizer(folders))
    return tokenizer, open_prepared(folders, tokenizer.vocab_size)


def first_batch(cfg: RunConfig) -> Iterator[str]:
    """Lines that show a run's first micro-batch as the model gets it: texts decoded from its ids, pieces, masks.

    Text stands in quotes, as in JSON. In a mask 1 is a token, which may be attended to, and 0 is padding.
    """
    tokenizer, corpus = open_data(cfg)
    is_auto = cfg.train.micro_batch_tokens == "auto"
    at_once = cfg.train.tokens_at_once(sys.maxsize)  # auto: training alone finds out what memory holds
    updates = plan_epoch(
        corpus, batch_tokens=cfg.train.batch_tokens, micro_batch_tokens=at_once, seed=cfg.seed, epoch=0
    )
    pairs = updates[0].micro_batches[0]
    batch = corpus.batch(pairs)
    names = [_printable(piece) for piece in tokenizer.pieces]
    yield (
        f"update 1 of {len(updates):,} of the first epoch: {updates[0].num_tokens:,} target tokens in micro-batches of "
        f"{', '.join(f'{len(some):,}' for some in updates[0].micro_batches)} pairs; the first of them:"
    )
    if is_auto:
        yield "  (with train.micro_batch_tokens auto, training cuts these as memory demands)"
    yield f"  source: {_fill(batch.src_BS)}"
    yield f"  target: {_fill(batch.tgt_out_BT)}; of these each token attends to itself and those before it"
    if cfg.train.r_drop:
        yield "  it goes through the model twice (train.r_drop)"
    for row, pair in enumerate(pairs.tolist()):
        weight = "" if batch.weight_B is None else f", weight {batch.weight_B[row]:.4g}"
        yield ""
        yield f"pair {pair + 1:,} of {len(corpus):,}{weight}"
        yield f"  source {_quoted(tokenizer, batch.src_BS[row])}"
        yield from _row("reads", batch.src_BS[row], names)
        yield f"  target {_quoted(tokenizer, batch.tgt_out_BT[row])}"
        yield from _row("reads", batch.tgt_in_BT[row], names)
        yield from _row("learns", batch.tgt_out_BT[row], names)


def _quoted(tokenizer: Tokenizer, ids_T: Tensor) -> str:
    return json.dumps(tokenizer.decode(ids_T.tolist()), ensure_ascii=False)


def _row(label: str, ids_T: Tensor, names: Sequence[str]) -> Iterator[str]:
    tokens = ids_T[ids_T != PAD].tolist()
    yield f"    {label:<6} {len(tokens):,} tokens: {' '.join(names[token] for token in tokens)}"
    yield f"    mask   {''.join('01'[int(is_token)] for is_token in ids_T != PAD)}"


def _printable(piece: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in piece)


def _fill(ids_BT: Tensor) -> str:
    """Size, tokens, and share of padding."""
    rows, length = ids_BT.shape
    tokens = int((ids_BT != PAD).sum())
    return (
        f"{rows:,} x {length:,}, {tokens:,} tokens and {ids_BT.numel() - tokens:,} of padding "
        f"({100 * (1 - tokens / ids_BT.numel()):.1f} %)"
    )
