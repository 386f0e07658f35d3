"""BLEU, chrF and TER as sacrebleu computes them, with the signatures that make them comparable.

The only home of sacrebleu. Values and signatures equal those of its own command on the same files,
`sacrebleu REFERENCE... -i HYPOTHESES -m bleu chrf ter` (with `-tok` where the target language asks for it).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sacrebleu.metrics import BLEU, CHRF, TER

from tfmt.errors import DataError, MissingExtra

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Score:
    """One corpus-level value from 0 to 100 (TER may exceed it); the details are BLEU's alone."""

    score: float
    signature: str
    precisions: tuple[float, ...] = ()  # of 1- to 4-grams, in percent
    brevity_penalty: float | None = None
    hypothesis_length: int | None = None  # in BLEU's words
    reference_length: int | None = None  # of the reference closest in length, in BLEU's words

    def as_dict(self) -> dict[str, object]:
        plain: dict[str, object] = {"score": self.score, "signature": self.signature}
        if self.precisions:
            plain["precisions"] = list(self.precisions)
            plain["brevity_penalty"] = self.brevity_penalty
            plain["hypothesis_length"] = self.hypothesis_length
            plain["reference_length"] = self.reference_length
        return plain


@dataclass(frozen=True)
class Scores:
    bleu: Score
    chrf: Score
    ter: Score

    def as_dict(self) -> dict[str, dict[str, object]]:
        return {"bleu": self.bleu.as_dict(), "chrf": self.chrf.as_dict(), "ter": self.ter.as_dict()}


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    target_language: str = "",
    tokenize: str = "",
) -> Scores:
    """All three scores against one or more whole references; raises DataError on unequal counts."""
    _check_counts(hypotheses, references)
    warn_if_tokenised(hypotheses, "the hypotheses")
    return Scores(
        bleu=bleu(hypotheses, references, target_language=target_language, tokenize=tokenize),
        chrf=chrf(hypotheses, references),
        ter=_plain_score(TER(), hypotheses, references),
    )


def bleu(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    target_language: str = "",
    tokenize: str = "",
) -> Score:
    """BLEU alone (Papineni et al., 2002), case kept; the word split is chosen by `word_split`."""
    _check_counts(hypotheses, references)
    # force: our own warning of tokenised text stands in for sacrebleu's
    metric = BLEU(tokenize=word_split(target_language, tokenize), force=True)
    result = metric.corpus_score(hypotheses, references)
    return Score(
        score=float(result.score),
        signature=str(metric.get_signature()),
        precisions=tuple(float(precision) for precision in result.precisions),
        brevity_penalty=float(result.bp),
        hypothesis_length=int(result.sys_len),
        reference_length=int(result.ref_len),
    )


def chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    """chrF alone (Popovic, 2015): character 6-grams, no words."""
    _check_counts(hypotheses, references)
    return _plain_score(CHRF(), hypotheses, references)


def segment_chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """chrF of each segment alone, against the reference it is closest to."""
    _check_counts(hypotheses, references)
    metric = CHRF()
    return [
        float(metric.sentence_score(hypothesis, list(segment)).score)
        for hypothesis, *segment in zip(hypotheses, *references, strict=True)
    ]


def word_split(target_language: str = "", tokenize: str = "") -> str:
    """Name of the word split BLEU uses: `tokenize` where given, else the one the target language needs.

    zh, ja and ko have their own, as with sacrebleu's `-l`; every other language has 13a. Japanese and Korean
    need an extra package: without it they are split into characters, with a warning; asked for by name, a
    split that cannot be had raises MissingExtra or DataError.
    """
    if not tokenize:
        return _split_of_language(re.split("[-_]", target_language.lower())[0])
    if tokenize not in BLEU.TOKENIZERS:
        raise DataError(f"tokenize {tokenize!r}: unknown word split; choose one of {', '.join(BLEU.TOKENIZERS)}")
    try:
        BLEU(tokenize=tokenize)
    except RuntimeError as error:  # sacrebleu's way to say that MeCab is missing
        raise MissingExtra(f"word split {tokenize}", _install(tokenize)) from error
    except OSError as error:  # the flores splits fetch their model on first use
        raise DataError(f"tokenize {tokenize!r}: its model could not be fetched ({error}); choose another") from error
    return tokenize


@lru_cache  # so that a missing package is told of once, not at every validation
def _split_of_language(primary: str) -> str:
    match primary:
        case "zh" | "zho" | "cmn":
            return "zh"
        case "ja" | "jpn":
            wanted = "ja-mecab"
        case "ko" | "kor":
            wanted = "ko-mecab"
        case _:
            return "13a"
    try:
        BLEU(tokenize=wanted)
    except RuntimeError:
        logger.warning(
            "BLEU splits %s into characters (char) as %s is not installed; for comparable scores run: %s",
            primary,
            wanted,
            _install(wanted),
        )
        return "char"
    return wanted


def _install(split: str) -> str:
    return f"pip install 'sacrebleu[{split[:2]}]'"


def _plain_score(metric: CHRF | TER, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    result = metric.corpus_score(hypotheses, references)
    return Score(score=float(result.score), signature=str(metric.get_signature()))


def _check_counts(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    assert references, "no reference"
    assert not any(isinstance(lines, str) for lines in references), "references are lists of lines"
    for number, lines in enumerate(references, start=1):
        if len(lines) != len(hypotheses):
            raise DataError(
                f"{len(hypotheses)} hypotheses but {len(lines)} lines in reference {number}; "
                "they must match line by line"
            )
    if not hypotheses:
        raise DataError("no hypotheses to score; expected at least one line")


_SPACED_PUNCTUATION = re.compile(r"\S [.,](?: |$)")
_SUBWORDS = re.compile(r"@@(?: |$)|\u2581")


def warn_if_tokenised(lines: Sequence[str], what: str) -> None:
    """Scores of tokenised text cannot be compared; sacrebleu's own check sees 100 or more such lines only."""
    filled = sum(1 for line in lines if line.strip())
    for pattern, looks in ((_SUBWORDS, "pieces of words"), (_SPACED_PUNCTUATION, "spaces before . and ,")):
        found = sum(1 for line in lines if pattern.search(line))
        if found and found >= filled / 10:
            logger.warning(
                "%s look tokenised (%s in %d of %d lines); detokenise them first, "
                "or the scores cannot be compared with others",
                what,
                looks,
                found,
                len(lines),
            )
            return
