"""Validation: perplexity on the dev text, and BLEU of translations made just as users will get them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tfmt.config import RunConfig
from tfmt.corpus.batches import Corpus, Side, cut_by_length
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.decode.translator import Translator
from tfmt.errors import DataError
from tfmt.evaluate.scores import bleu, chrf, warn_if_tokenised
from tfmt.files import read_lines
from tfmt.model.transformer import Transformer
from tfmt.train.loss import batch_loss_sums

AUTO_TOKENS = 4096  # at once, where training finds its own number: without gradients they take little memory


@dataclass(frozen=True)
class Validation:
    """`loss` has the training's label smoothing, `nll` and `ppl` have none; means over target tokens, in nats."""

    loss: float
    nll: float
    ppl: float
    bleu: float
    chrf: float
    signature: str  # of BLEU
    samples: list[dict[str, str | int]]  # line (from 1), source, reference and translation of a few sentences


@dataclass(frozen=True)
class Share:
    """What one of several processes does of a validation."""

    sums: Tensor  # over target tokens: loss with smoothing and without, in float64
    num_tokens: int
    translations: list[str]  # of every so manieth sentence


Shares = Callable[[Callable[[int, int], Share]], list[Share]]


def alone(work: Callable[[int, int], Share]) -> list[Share]:
    """The only share there is."""
    return [work(0, 1)]


class Validator:
    """The dev text, read and encoded once."""

    def __init__(self, cfg: RunConfig, tokenizer: Tokenizer) -> None:
        source = _require_file(cfg.data.valid_source, "data.valid_source")
        target = _require_file(cfg.data.valid_target, "data.valid_target")
        self.sources, self.references = list(read_lines(source)), list(read_lines(target))
        if len(self.sources) != len(self.references):
            raise DataError(
                f"{source} has {len(self.sources)} lines, {target} has {len(self.references)}; "
                "validation needs two files that match line by line"
            )
        if not self.sources:
            raise DataError(f"{source}: is empty; validation needs at least one line")
        warn_if_tokenised(self.references, f"data.valid_target: the lines of {target}")
        self.cfg = cfg
        self.tokenizer = tokenizer
        self.corpus = Corpus(Side.of(tokenizer.encode(self.sources)), Side.of(tokenizer.encode(self.references)))

    def fingerprint(self) -> str:
        """A hash of the text, the decoding settings and the score: bests by another one do not compare."""
        what = [self.sources, self.references, self.cfg.decode.model_dump(), self.cfg.train.best_by]
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()

    def __call__(self, model: Transformer, shares: Shares = alone) -> Validation:
        """`shares` has each process of a training do its share of the work, and gives all of them all shares."""
        parts = shares(lambda rank, size: self._share(model, rank, size))
        sums = torch.stack([part.sums for part in parts]).sum(dim=0)
        loss, nll = (sums / sum(part.num_tokens for part in parts)).tolist()
        translations = [""] * len(self.sources)
        for rank, part in enumerate(parts):
            translations[rank :: len(parts)] = part.translations
        score = bleu(translations, [self.references], target_language=self.cfg.data.target_language)
        return Validation(
            loss=loss,
            nll=nll,
            ppl=math.exp(min(nll, 700.0)),
            bleu=score.score,
            chrf=chrf(translations, [self.references]).score,
            signature=score.signature,
            samples=[
                {
                    "line": line + 1,
                    "source": self.sources[line],
                    "reference": self.references[line],
                    "translation": translations[line],
                }
                for line in self._sample_lines()
            ],
        )

    def _sample_lines(self) -> list[int]:
        """Spread over the text, counted from 0."""
        total, wanted = len(self.sources), min(self.cfg.train.samples, len(self.sources))
        return [total * number // wanted for number in range(wanted)]

    @torch.no_grad()
    def _share(self, model: Transformer, rank: int, size: int) -> Share:
        was_training = model.training
        model.eval()
        sums = torch.zeros(2, dtype=torch.float64)
        num_tokens = 0
        at_once = self.cfg.train.micro_batch_tokens
        for pairs in cut_by_length(self.corpus, AUTO_TOKENS if at_once == "auto" else at_once)[rank::size]:
            batch = self.corpus.batch(pairs).to(model.device)
            smoothed, plain = batch_loss_sums(model, batch, self.cfg.train.label_smoothing)
            sums += torch.stack((smoothed, plain)).double().cpu()
            num_tokens += batch.num_tokens
        translator = Translator(model, self.tokenizer, self.cfg.decode)
        translations = [translation.text for translation in translator.translate(self.sources[rank::size])]
        model.train(was_training)
        return Share(sums, num_tokens, translations)


def _require_file(path: str, key: str) -> Path:
    if not Path(path).is_file():
        raise DataError(f"{key}: {path or '(empty)'}: no such file")
    return Path(path)
