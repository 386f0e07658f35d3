"""Text in, text out: the one Translator behind `translate`, `eval` and validation.

Lines are taken in windows, encoded, sorted by length, cut into batches by a token budget, searched, and given back in
their order. A blank line gives a blank translation; the same line twice in a window is searched once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import torch
from pydantic import ValidationError
from torch import Tensor

from tfmt.checkpoint import load_model
from tfmt.config import DecodeConfig
from tfmt.corpus.filters import is_blank
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.decode.scorer import ModelScorer
from tfmt.decode.search import Hypothesis, beam_search
from tfmt.device import Precision, autocast, pick_decode_precision, pick_device, set_threads
from tfmt.errors import ConfigError
from tfmt.model.transformer import Transformer
from tfmt.special_ids import EOS, PAD

WINDOW = 4096  # lines read ahead, to find some of like length
BATCH_TOKENS = 4096  # source tokens searched at once


@dataclass(frozen=True)
class Alternative:
    text: str
    score: float


@dataclass(frozen=True)
class Translation:
    """A line's translation; `score` is in nats, divided by the length penalty, and None for a blank line."""

    source: str
    text: str
    score: float | None
    hypotheses: list[Alternative]
    flags: list[Literal["blank", "truncated"]]


class Translator:
    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        cfg: DecodeConfig,
        *,
        precision: Precision = "auto",
        target_language: str = "",
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.cfg = cfg
        self.precision = pick_decode_precision(precision, model.device)
        self.target_language = target_language
        self.batch_tokens = batch_tokens

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        device: str = "auto",
        precision: Precision = "auto",
        threads: int = 0,
        beam: int | None = None,
        length_penalty_alpha: float | None = None,
        batch_tokens: int = BATCH_TOKENS,
    ) -> Translator:
        """Open a MODEL, with its own decoding settings but for those given; raises ModelError."""
        set_threads(threads)
        where = pick_device(device)
        loaded = load_model(path, device=where)
        given = {"beam": beam, "length_penalty_alpha": length_penalty_alpha}
        changes = {key: value for key, value in given.items() if value is not None}
        try:
            cfg = DecodeConfig.model_validate(loaded.config.decode.model_dump() | changes)
        except ValidationError as error:
            first = error.errors()[0]
            raise ConfigError(f"{first['loc'][0]} {first['input']}: {first['msg'].lower()}") from error
        return cls(
            loaded.model,
            loaded.tokenizer,
            cfg,
            precision=precision,
            target_language=loaded.config.data.target_language,
            batch_tokens=batch_tokens,
        )

    def translate(self, lines: Sequence[str], *, num_best: int = 1) -> list[Translation]:
        return list(self.stream(lines, num_best=num_best))

    def stream(self, lines: Iterable[str], *, num_best: int = 1, window: int = WINDOW) -> Iterator[Translation]:
        """A translation for each line, in order, given out a window of lines at a time."""
        rest = iter(lines)
        while read := list(islice(rest, window)):
            yield from self._translate(read, num_best)

    def _translate(self, lines: list[str], num_best: int) -> list[Translation]:
        texts = list(dict.fromkeys(line for line in lines if not is_blank(line)))
        encoded = self.tokenizer.encode(texts)
        found: dict[str, list[Hypothesis]] = {}
        was_training = self.model.training
        self.model.eval()
        for batch in _cut_by_length(encoded, self.batch_tokens):
            hypotheses = self._search([encoded[number] for number in batch], num_best)
            found |= {texts[number]: best for number, best in zip(batch, hypotheses, strict=True)}
        self.model.train(was_training)
        return [self._translation(line, found.get(line)) for line in lines]

    def _search(self, sources: list[list[int]], num_best: int) -> list[list[Hypothesis]]:
        device = self.model.device
        with autocast(self.precision, device):
            return beam_search(ModelScorer(self.model), _rectangle(sources).to(device), self.cfg, num_best=num_best)

    def _translation(self, line: str, best: list[Hypothesis] | None) -> Translation:
        if best is None:
            return Translation(line, "", None, [], ["blank"])
        alternatives = [Alternative(self._text(one), one.score) for one in best]
        flags: list[Literal["blank", "truncated"]] = ["truncated"] if best[0].truncated else []
        return Translation(line, alternatives[0].text, alternatives[0].score, alternatives, flags)

    def _text(self, hypothesis: Hypothesis) -> str:
        """One line: a model can make any character, line ends among them."""
        return self.tokenizer.decode(hypothesis.ids).replace("\r", " ").replace("\n", " ")


def _cut_by_length(encoded: list[list[int]], max_tokens: int) -> Iterator[list[int]]:
    """Numbers of sentences, longest first, at most `max_tokens` (padded) at a time; a longer one comes alone."""
    order = sorted(range(len(encoded)), key=lambda number: -len(encoded[number]))
    while order:
        size = max(1, max_tokens // (len(encoded[order[0]]) + 1))
        yield order[:size]
        order = order[size:]


def _rectangle(sources: list[list[int]]) -> Tensor:
    longest = max(len(ids) for ids in sources) + 1
    return torch.tensor([[*ids, EOS, *[PAD] * (longest - len(ids) - 1)] for ids in sources])
