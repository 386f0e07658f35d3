"""Text to numbers and back without loss: byte-pair encoding (Sennrich et al., 2016) by sentencepiece.

decode(encode(text)) == text for any text: no normalisation, white space kept, characters outside the
vocabulary as their UTF-8 bytes. sentencepiece writes a space as U+2581, so a U+2581 of the text itself is
escaped as ESCAPE followed by "_", and ESCAPE as ESCAPE twice. Ids 0 to 3 are `special_ids`.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import logging
import os
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import sentencepiece

from tfmt.corpus.readers import kind_of, read_corpus
from tfmt.errors import DataError, ModelError
from tfmt.files import check_input, read_lines, whole_file
from tfmt.special_ids import BOS, EOS, PAD, UNK

SPACE = "\u2581"
ESCAPE = "\U0010fffd"  # the last private-use character: text rarely holds it
DEFAULT_MAX_LINES = 2_000_000
_NUM_SPECIAL = 4 + 256  # special ids and bytes
_MAX_CHARACTERS = 10_000  # longer lines are cut into such chunks for training
_TRAINING_THREADS = 4  # written into the model: fixed, or the bytes would depend on the machine
_LOG_ERRORS_ONLY = 2
_BATCH_FOR_THREADS = 500  # fewer texts are encoded sooner than threads start

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TokenizerReport:
    vocab_size: int
    requested: int
    lines_seen: int  # lines that hold text
    lines_used: int


def train_tokenizer(
    files: Sequence[Path],
    *,
    vocab_size: int,
    output: Path,
    seed: int = 1,
    max_lines: int = DEFAULT_MAX_LINES,
    character_coverage: float = 0.9995,
    columns: tuple[int, int] | None = None,
    source_language: str = "",
    target_language: str = "",
    overwrite: bool = False,
) -> TokenizerReport:
    """Train one vocabulary on all the files together: text, or a corpus both of whose sides are read.

    Above `max_lines` lines a uniform sample is used. The same files, size and seed give the same bytes.
    """
    for path in files:
        check_input(path)
        if output.exists() and path.samefile(output):
            raise DataError(f"{output}: is one of the files to train on; choose another --output")
    with whole_file(output, overwrite=overwrite) as beside:
        texts = (
            text for path in files for text in _texts(path, columns, source_language, target_language) if text.strip()
        )
        sample, lines_seen = _sample(texts, max_lines, seed)
        if not sample:
            raise DataError(f"{', '.join(map(str, files))}: no text to train a tokenizer on")
        lines_used = len(sample)
        if lines_seen > lines_used:
            logger.warning(f"training on a sample of {lines_used:,} of {lines_seen:,} lines; --max-lines sets how many")
        model = _train(sample, vocab_size, character_coverage)
        beside.write_bytes(model)
    size = Tokenizer(model).vocab_size
    if size < vocab_size:
        logger.warning(
            f"--vocab-size {vocab_size:,} is more than the text supports; made the largest possible, {size:,}"
        )
    return TokenizerReport(size, vocab_size, lines_seen, lines_used)


class Tokenizer:
    """A trained vocabulary; `fingerprint` is the SHA-256 of its file."""

    def __init__(self, model: bytes) -> None:
        """Raises ModelError with the reason when the bytes are not a tokenizer of this toolkit."""
        self._bytes = model
        self._model = _open_model(model)
        self.fingerprint = hashlib.sha256(model).hexdigest()
        self.vocab_size: int = self._model.get_piece_size()

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        if not path.exists():
            raise ModelError(f"{path}: no such tokenizer; `tfmt train-tokenizer` makes one")
        if not path.is_file():
            raise ModelError(f"{path}: is not a file; expected a tokenizer such as {path / 'tokenizer.model'}")
        try:
            return cls(path.read_bytes())
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from error

    def save(self, path: Path) -> None:
        path.write_bytes(self._bytes)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, without bos and eos."""
        threads = 1 if len(texts) < _BATCH_FOR_THREADS else _num_cpus()
        ids: list[list[int]] = self._model.encode([_escape(text) for text in texts], num_threads=threads)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; special ids say nothing, bytes that are not UTF-8 become U+FFFD."""
        return _unescape(self._model.decode([int(id) for id in ids if id > UNK]))

    @property
    def pieces(self) -> list[str]:
        """Each id's piece, as sentencepiece writes it: a space is U+2581, a byte <0x0A>."""
        return [self._model.id_to_piece(number) for number in range(self.vocab_size)]

    def cut(self, piece: str) -> list[int]:
        """Ids of the pieces here that another vocabulary's piece comes to; merged as in encoding, best score first."""
        parts = list(piece)
        while merges := [
            (-self._model.get_score(number), place)
            for place, pair in enumerate(itertools.pairwise(parts))
            if (number := self._text_piece("".join(pair))) is not None
        ]:
            _, place = min(merges)
            parts[place : place + 2] = ["".join(parts[place : place + 2])]
        ids: list[int] = []
        for part in parts:
            number = self._text_piece(part)
            ids += [self._byte(byte) for byte in part.encode()] if number is None else [number]
        return ids

    def _text_piece(self, piece: str) -> int | None:
        """The id of a piece that stands for its own text: no special id, no byte."""
        number: int = self._model.piece_to_id(piece)
        return None if number <= UNK or self._model.is_byte(number) else number

    def _byte(self, byte: int) -> int:
        number: int = self._model.piece_to_id(f"<0x{byte:02X}>")
        return number


def _texts(path: Path, columns: tuple[int, int] | None, source_language: str, target_language: str) -> Iterator[str]:
    if kind_of(path) is None:
        yield from read_lines(path)
        return
    for pair in read_corpus(path, columns=columns, source_language=source_language, target_language=target_language):
        yield pair.source
        yield pair.target


def _sample(texts: Iterable[str], size: int, seed: int) -> tuple[list[str], int]:
    """At most `size` of the texts, each as likely (Vitter, 1985, algorithm R), and how many there were."""
    generator = random.Random(seed)
    sample: list[str] = []
    seen = 0
    for text in texts:
        seen += 1
        if len(sample) < size:
            sample.append(text)
        elif (place := int(generator.random() * seen)) < size:
            sample[place] = text
    return sample, seen


def _train(texts: list[str], vocab_size: int, character_coverage: float) -> bytes:
    """The model; empties `texts`, which sentencepiece holds a second time."""
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_chunks(texts),
            model_writer=model,
            model_type="bpe",
            vocab_size=max(vocab_size, _NUM_SPECIAL),  # less trips over its special ids before it says what it needs
            hard_vocab_limit=False,  # fewer pieces when the text has no more
            character_coverage=character_coverage,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            max_sentence_length=8 * _MAX_CHARACTERS,  # bytes; longer ones would be skipped without a word
            num_threads=_TRAINING_THREADS,
            minloglevel=_LOG_ERRORS_ONLY,
        )
    except RuntimeError as error:
        raise _training_error(error, vocab_size) from error
    return model.getvalue()


def _chunks(texts: list[str]) -> Iterator[str]:
    while texts:
        # sentencepiece keeps U+2585 for itself and would skip the line; it is encoded as bytes
        text = _escape(texts.pop()).replace("\u2585", " ")
        for start in range(0, len(text), _MAX_CHARACTERS):
            yield text[start : start + _MAX_CHARACTERS]


def _training_error(error: RuntimeError, vocab_size: int) -> DataError:
    message = " ".join(str(error).split())
    if too_small := re.search(r"required_chars\. -?\d+ vs (\d+)", message):
        return DataError(
            f"--vocab-size {vocab_size} is too small; this text needs at least {too_small[1]} "
            f"(its characters, and {_NUM_SPECIAL} for bytes and special ids), or a lower --character-coverage"
        )
    if "sentences_.empty()" in message:
        return DataError("no text to train a tokenizer on")
    return DataError(f"sentencepiece cannot train this vocabulary: {message}")


def _open_model(model: bytes) -> sentencepiece.SentencePieceProcessor:
    opened = sentencepiece.SentencePieceProcessor()
    try:
        if not model:
            raise ModelError("is empty; expected a sentencepiece model")
        opened.load_from_serialized_proto(model)
    except (RuntimeError, OSError) as error:
        raise ModelError("is damaged, or not a sentencepiece model") from error
    ids = (opened.pad_id(), opened.bos_id(), opened.eos_id(), opened.unk_id())
    if ids != (PAD, BOS, EOS, UNK):
        raise ModelError(
            f"has special ids pad {ids[0]}, bos {ids[1]}, eos {ids[2]}, unk {ids[3]}; expected 0, 1, 2, 3, "
            "as `tfmt train-tokenizer` makes them"
        )
    if opened.piece_to_id("<0x00>") == UNK:
        raise ModelError("has no byte pieces, so it would lose characters; make one with `tfmt train-tokenizer`")
    return opened


def _escape(text: str) -> str:
    if SPACE in text or ESCAPE in text:
        return text.replace(ESCAPE, ESCAPE * 2).replace(SPACE, f"{ESCAPE}_")
    return text


def _unescape(text: str) -> str:
    if ESCAPE in text:
        return re.sub(f"{ESCAPE}([{ESCAPE}_])", lambda match: SPACE if match[1] == "_" else ESCAPE, text)
    return text


def _num_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
