"""What many tests share: a toy language pair (words spelt backwards), its tokenizer, and a small model."""

from __future__ import annotations

import random
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from fakes import small_config

from tfmt.config import DecodeConfig
from tfmt.corpus.filters import FilterConfig
from tfmt.corpus.prepare import prepare
from tfmt.corpus.readers import read_text_pairs
from tfmt.corpus.tokenizer import Tokenizer, train_tokenizer
from tfmt.decode.translator import Translator
from tfmt.model.transformer import Transformer

torch.set_num_threads(1)  # the same sums in the same order, and no fight over cores
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell has its background jobs ignore


@dataclass(frozen=True)
class Toy:
    """Two hundred pairs, line by line, and a tokenizer of both sides."""

    folder: Path
    source: Path
    target: Path
    tokenizer: Path


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    folder = tmp_path_factory.mktemp("toy")
    generator = random.Random(1)
    words = ["".join(generator.choices("abcdefgh", k=generator.randint(2, 5))) for _ in range(30)]
    sources = [generator.choices(words, k=generator.randint(2, 9)) for _ in range(200)]
    toy = Toy(folder, folder / "toy.source", folder / "toy.target", folder / "tokenizer.model")
    toy.source.write_text("".join(" ".join(line) + "\n" for line in sources), encoding="utf-8")
    toy.target.write_text("".join(" ".join(w[::-1] for w in line) + "\n" for line in sources), encoding="utf-8")
    train_tokenizer([toy.source, toy.target], vocab_size=320, output=toy.tokenizer)
    return toy


@pytest.fixture(scope="session")
def tokenizer(toy: Toy) -> Tokenizer:
    return Tokenizer.load(toy.tokenizer)


@pytest.fixture(scope="session")
def prepared(toy) -> Path:
    folder = toy.folder / "prepared"
    pairs = read_text_pairs(toy.source, toy.target)
    prepare(pairs, Tokenizer.load(toy.tokenizer), folder, filters=FilterConfig(), inputs=["toy"])
    return folder


@pytest.fixture
def untrained(tokenizer: Tokenizer) -> Translator:
    """A translator whose weights are random: its output is nonsense, but determined."""
    torch.manual_seed(3)
    model = Transformer(small_config(), tokenizer.vocab_size).eval()
    return Translator(model, tokenizer, DecodeConfig(beam=4, max_length_ratio=1.0, max_length_offset=5))
