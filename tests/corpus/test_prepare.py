"""Text to numbers on disk and back, and an account that adds up."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import pytest

from tfmt.corpus import prepare as module
from tfmt.corpus.filters import FilterConfig
from tfmt.corpus.prepare import check_prepared_output, prepare
from tfmt.corpus.readers import Pair, read_text_pairs
from tfmt.corpus.tokenizer import Tokenizer, train_tokenizer
from tfmt.errors import DataError, OutputExists

WORDS = [
    "der",
    "Hund",
    "sitzt",
    "auf",
    "die",
    "Matte",
    "the",
    "dog",
    "sat",
    "狗",
    "我",
    "😊",
    "▁",
    "a\u2028b",
    "é",
]


def sentences(number: int, seed: int) -> list[str]:
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randint(1, 12))) for _ in range(number)]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "text.txt").write_bytes("\n".join(sentences(200, seed=0)).encode())
    train_tokenizer([folder / "text.txt"], vocab_size=330, output=folder / "tokenizer.model")
    return Tokenizer.load(folder / "tokenizer.model")


class FakeTokenizer:
    """Ids are the code points of the text, moved behind the special ids."""

    fingerprint = "f" * 64

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [[min(ord(letter), self.vocab_size - 1) for letter in text] for text in texts]

    def save(self, path: Path) -> None:
        path.write_bytes(b"fake")


FAKE: Any = FakeTokenizer(65_536)


def pairs_of(*sides: tuple[str, str]) -> list[Pair]:
    return [Pair(source, target, f"a.de:{number}") for number, (source, target) in enumerate(sides, start=1)]


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def run(pairs: Any, tokenizer: Any, output: Path, **settings: Any) -> module.PrepareReport:
    filters = settings.pop("filters", FilterConfig())
    return prepare(pairs, tokenizer, output, filters=filters, inputs=["a.de + a.en"], **settings)


def test_encode_prepare_load_decode_is_identity(tokenizer: Tokenizer, tmp_path: Path) -> None:
    sources, targets = sentences(500, seed=1), sentences(500, seed=2)
    run(
        pairs_of(*zip(sources, targets, strict=True)),
        tokenizer,
        tmp_path / "out",
        filters=FilterConfig(max_ratio=0),
    )
    stored = datasets.load_from_disk(str(tmp_path / "out" / "dataset"))
    assert [tokenizer.decode(ids) for ids in stored["source"]] == sources
    assert [tokenizer.decode(ids) for ids in stored["target"]] == targets
    assert (tmp_path / "out" / "tokenizer.model").is_file()
    assert Tokenizer.load(tmp_path / "out" / "tokenizer.model").fingerprint == tokenizer.fingerprint


def test_chunks_do_not_change_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = pairs_of(*zip(sentences(100, seed=1), [*sentences(98, seed=2), "", "x"], strict=True))
    whole = run(pairs, FAKE, tmp_path / "a")
    monkeypatch.setattr(module, "_CHUNK_PAIRS", 7)
    seen: list[int] = []
    assert run(pairs, FAKE, tmp_path / "b", progress=seen.append) == whole
    monkeypatch.setattr(module, "_CHUNK_CHARACTERS", 1)
    assert run(pairs, FAKE, tmp_path / "c") == whole
    assert seen == [*range(7, 100, 7), 100]
    stored = [datasets.load_from_disk(str(tmp_path / name / "dataset")) for name in "abc"]
    assert stored[0].to_dict() == stored[1].to_dict() == stored[2].to_dict()


def test_prepare_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK_PAIRS", 10)
    taken = 0

    def endless() -> Iterator[Pair]:
        nonlocal taken
        for taken in range(1000):
            yield Pair("a", "b", f"a:{taken}")

    def look(seen: int) -> None:
        assert taken < seen + 10

    assert run(endless(), FAKE, tmp_path / "out", progress=look).seen == 1000


def test_an_empty_side_never_shifts_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text("eins\n\ndrei\nvier\n")
    (tmp_path / "a.en").write_text("one\ntwo\nthree\nfour\n")
    pairs = read_text_pairs(tmp_path / "a.de", tmp_path / "a.en")
    report = run(pairs, FAKE, tmp_path / "out")
    assert (report.seen, report.kept, report.dropped) == (4, 3, {"empty_source": 1})
    assert report.examples["empty_source"] == [{"where": f"{tmp_path}/a.de:2", "source": "", "target": "two"}]
    stored = datasets.load_from_disk(str(tmp_path / "out" / "dataset"))
    texts = [("".join(map(chr, row["source"])), "".join(map(chr, row["target"]))) for row in stored]
    assert texts == [("eins", "one"), ("drei", "three"), ("vier", "four")]


def test_drops_are_counted_by_reason_with_their_lines(tmp_path: Path) -> None:
    pairs = pairs_of(*[("abc", "def")] * 7, *[("x" * 11, "y" * 9)] * 3)
    report = run(pairs, FAKE, tmp_path / "out", filters=FilterConfig(max_tokens=10))
    saved = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert (saved["seen"], saved["kept"], saved["dropped"]) == (10, 7, {"too_long": 3})
    assert saved["kept"] + sum(saved["dropped"].values()) == saved["seen"]
    assert [example["where"] for example in saved["examples"]["too_long"]] == ["a.de:8", "a.de:9", "a.de:10"]
    assert saved["tokens"] == {"source": 21, "target": 21}
    assert report.kept == 7


def test_report_json_says_everything(tmp_path: Path) -> None:
    pairs = pairs_of(*[("x" * length, "ab") for length in range(1, 101)])
    filters = FilterConfig(max_ratio=0, drop_identical=True)
    run(pairs, FAKE, tmp_path / "out", filters=filters, source_language="de", target_language="en")
    saved = json.loads((tmp_path / "out" / "report.json").read_bytes())
    assert saved == {
        "seen": 100,
        "kept": 100,
        "dropped": {},
        "skipped": {},
        "examples": {},
        "tokens": {"source": 5050, "target": 200},
        "lengths": {
            "source": {"mean": 50.5, "p50": 50, "p90": 90, "p95": 95, "p99": 99, "max": 100},
            "target": {"mean": 2.0, "p50": 2, "p90": 2, "p95": 2, "p99": 2, "max": 2},
        },
        "weights": None,
        "tokenizer": "f" * 64,
        "vocab_size": 65_536,
        "source_language": "de",
        "target_language": "en",
        "filters": {"max_tokens": 256, "max_ratio": 0.0, "drop_identical": True},
        "inputs": ["a.de + a.en"],
    }


def test_report_md_shows_counts_reasons_and_lines(tmp_path: Path) -> None:
    pairs = pairs_of(("a", "b"), ("", "c|d\n<b>\u200b"), ("e" * 300, "f"))
    run(pairs, FAKE, tmp_path / "out", source_language="de")
    page = (tmp_path / "out" / "report.md").read_bytes().decode()
    assert "**1 of 3 pairs kept** (33.3 %), 2 dropped." in page
    assert "| empty_source | 1 | 33.3 % |" in page
    assert "    a.de:2\n      source: \n      target: c|d\\u000a<b>\\u200b\n" in page
    assert "source (de)" in page


@pytest.mark.parametrize(("vocab_size", "dtype"), [(65_536, "uint16"), (65_537, "int32")])
def test_ids_are_stored_in_the_narrowest_type_that_fits(tmp_path: Path, vocab_size: int, dtype: str) -> None:
    largest = chr(vocab_size - 1)
    run(pairs_of((largest, largest + "a")), FakeTokenizer(vocab_size), tmp_path / "out")
    stored = datasets.load_from_disk(str(tmp_path / "out" / "dataset"))
    assert stored.column_names == ["source", "target"]
    assert {feature.feature.dtype for feature in stored.features.values()} == {dtype}
    assert stored[0] == {"source": [vocab_size - 1], "target": [vocab_size - 1, 97]}


def test_the_dataset_is_memory_mapped_and_equals_one_that_datasets_saved(tmp_path: Path) -> None:
    run(pairs_of(("ab", "c")), FAKE, tmp_path / "out")
    ours = datasets.load_from_disk(str(tmp_path / "out" / "dataset"), keep_in_memory=False)
    assert isinstance(ours.data, datasets.table.MemoryMappedTable)
    datasets.disable_progress_bars()
    ours.save_to_disk(str(tmp_path / "theirs"))
    for name in ("state.json", "dataset_info.json"):
        saved = json.loads((tmp_path / "out" / "dataset" / name).read_bytes())
        theirs = json.loads((tmp_path / "theirs" / name).read_bytes())
        assert {**saved, "_fingerprint": ""} == {**theirs, "_fingerprint": ""}
    assert names_in(tmp_path / "theirs") == names_in(tmp_path / "out" / "dataset")


def test_the_same_input_gives_the_same_bytes(tokenizer: Tokenizer, tmp_path: Path) -> None:
    pairs = pairs_of(*zip(sentences(50, seed=1), sentences(50, seed=2), strict=True))
    for name in "ab":
        run(pairs, tokenizer, tmp_path / name)
    files = [file.relative_to(tmp_path / "a") for file in (tmp_path / "a").rglob("*") if file.is_file()]
    assert len(files) == 6
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_no_pair_left_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    pairs = pairs_of(("", "a"), ("b", " "), ("", ""))
    with pytest.raises(
        DataError, match=r"none of 3 pairs .* empty_source 2 \(a.de:1, \.\.\.\), empty_target 1 \(a.de:2\)"
    ):
        run(pairs, FAKE, tmp_path / "out")
    with pytest.raises(DataError, match=r"a.de \+ a.en: no pairs"):
        run([], FAKE, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_the_middle_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK_PAIRS", 2)

    def broken() -> Iterator[Pair]:
        yield from pairs_of(*[("a", "b")] * 5)
        raise DataError("a.de:6: bad")

    with pytest.raises(DataError, match=r"a\.de:6"):
        run(broken(), FAKE, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_output_that_exists_stays(tmp_path: Path) -> None:
    run(pairs_of(("a", "b")), FAKE, tmp_path / "out")
    before = (tmp_path / "out" / "report.json").read_bytes()
    with pytest.raises(OutputExists):
        run(pairs_of(("c", "d"), ("e", "f")), FAKE, tmp_path / "out")
    assert (tmp_path / "out" / "report.json").read_bytes() == before
    assert run(pairs_of(("c", "d"), ("e", "f")), FAKE, tmp_path / "out", overwrite=True).kept == 2
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_overwrite_never_deletes_what_prepare_did_not_make(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(DataError, match=r"holds thesis.tex"):
        check_prepared_output(tmp_path / "mine", overwrite=True)
    with pytest.raises(DataError, match="is a file"):
        check_prepared_output(tmp_path / "mine" / "thesis.tex", overwrite=True)
    check_prepared_output(tmp_path / "none", overwrite=True)
