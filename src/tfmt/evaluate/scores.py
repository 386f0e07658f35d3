"""BLEU, chrF and TER as sacrebleu computes them, with the signatures that make them comparable.

And, when asked for, BLEU as the paper has it, which compares with none of these.

The only home of sacrebleu and sacremoses. Values and signatures equal those of its own command on the same files,
`sacrebleu REFERENCE... -i HYPOTHESES -m bleu chrf ter` (with `-tok` where the target language asks for it).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

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
    compound_split_bleu: Score | None = None

    def as_dict(self) -> dict[str, dict[str, object]]:
        return {name: score.as_dict() for name, score in vars(self).items() if score}


def score(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    target_language: str = "",
    tokenize: str = "",
    compound_split: bool = False,
) -> Scores:
    """All scores against one or more whole references; raises DataError on unequal counts."""
    _check_counts(hypotheses, references)
    warn_if_tokenised(hypotheses, "the hypotheses")
    return Scores(
        bleu=bleu(hypotheses, references, target_language=target_language, tokenize=tokenize),
        chrf=chrf(hypotheses, references),
        ter=_plain_score(TER(), hypotheses, references),
        compound_split_bleu=compound_split_bleu(hypotheses, references, target_language) if compound_split else None,
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
    return _bleu_score(BLEU(tokenize=word_split(target_language, tokenize), force=True), hypotheses, references)


def _bleu_score(metric: BLEU, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Score:
    result = metric.corpus_score(hypotheses, references)
    return Score(
        score=float(result.score),
        signature=str(metric.get_signature()),
        precisions=tuple(float(precision) for precision in result.precisions),
        brevity_penalty=float(result.bp),
        hypothesis_length=int(result.sys_len),
        reference_length=int(result.ref_len),
    )


def compound_split_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], target_language: str = ""
) -> Score:
    """The BLEU that Vaswani et al. (2017) report: of words by Moses's tokenizer, compounds split at their hyphens.

    As tensor2tensor's utils/get_ende_bleu.sh and Moses's multi-bleu.perl make it, with no smoothing. It is higher than
    BLEU of plain text, by 0.7 to 1.0 from English to German, and compares with its own kind only. Raises MissingExtra.
    """
    moses = _moses(re.split("[-_]", target_language.lower())[0] or "en")

    def split(lines: Sequence[str]) -> list[str]:
        return [_COMPOUND.sub(r"\1 ##AT##-##AT## \2", moses.tokenize(line, return_str=True)) for line in lines]

    _check_counts(hypotheses, references)
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    found = _bleu_score(metric, split(hypotheses), [split(lines) for lines in references])
    return replace(found, signature=found.signature.replace("|tok:none|", "|tok:moses-compounds-split|"))


_COMPOUND = re.compile(r"(\S)-(\S)")


def _moses(language: str) -> Any:
    try:
        from sacremoses import MosesTokenizer
    except ImportError as error:
        raise MissingExtra("BLEU of Moses's words", "pip install 'tfmt[moses]'") from error
    return MosesTokenizer(language)


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
