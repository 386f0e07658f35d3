"""`tfmt prepare` as a user meets it."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import datasets
import pytest

from tfmt.cli.main import run
from tfmt.corpus.tokenizer import Tokenizer

SOURCE = "Der Hund schläft.\nDie Katze\u2028sitzt.\nJa\r\n\nÄpfel 😊\n"
TARGET = "The dog sleeps.\nThe cat sits.\nYes\nempty\nApples 😊\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.de").write_bytes(SOURCE.encode())
    (tmp_path / "a.en").write_bytes(TARGET.encode())
    files = [str(tmp_path / name) for name in ("a.de", "a.en")]
    assert run(["train-tokenizer", *files, "--vocab-size", "310", "--output", str(tmp_path / "t.model")]) == 0
    return tmp_path


def prepare(folder: Path, *words: str) -> int:
    """Run the command on names of the folder's files; --tokenizer and --output are added."""
    known = {file.name for file in folder.iterdir()}
    words = tuple(str(folder / word) if word in known else word for word in words)
    if "--tokenizer" not in words:
        words = (*words, "--tokenizer", str(folder / "t.model"))
    return run(["prepare", *words, "--output", str(folder / "out")])


def stored(folder: Path) -> list[tuple[str, str]]:
    tokenizer = Tokenizer.load(folder / "out" / "tokenizer.model")
    dataset = datasets.load_from_disk(str(folder / "out" / "dataset"))
    return [(tokenizer.decode(row["source"]), tokenizer.decode(row["target"])) for row in dataset]


KEPT = [
    ("Der Hund schläft.", "The dog sleeps."),
    ("Die Katze\u2028sitzt.", "The cat sits."),
    ("Ja", "Yes"),
    ("Äpfel 😊", "Apples 😊"),
]


def test_it_says_what_was_kept_what_was_dropped_and_where_things_lie(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert prepare(folder, "--source", "a.de", "--target", "a.en") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.split("\n")[0] == f"kept 4 of 5 pairs; dropped 1: empty_source 1 ({folder}/a.de:4)"
    for name in ("dataset", "report.md", "report.json"):
        assert f"{folder}/out/{name}" in out
        assert (folder / "out" / name).exists()
    assert stored(folder) == KEPT


def test_inputs_repeat_and_pair_up_in_order(folder: Path) -> None:
    (folder / "b.de").write_text("eins\n")
    (folder / "b.en.gz").write_bytes(gzip.compress(b"one\n"))
    (folder / "c.tsv").write_text("x\tzwei\ttwo\n")
    (folder / "d.jsonl").write_text('{"translation": {"de": "drei", "en": "three"}}\n')
    words = ["--source", "a.de", "--source", "b.de", "--target", "a.en", "--target", "b.en.gz"]
    assert prepare(folder, *words, "--corpus", "d.jsonl", "--source-language", "de", "--target-language", "en") == 0
    assert stored(folder) == [*KEPT, ("eins", "one"), ("drei", "three")]
    saved = json.loads((folder / "out" / "report.json").read_bytes())
    assert len(saved["inputs"]) == 3
    assert prepare(folder, "--corpus", "c.tsv", "--columns", "2,3", "--overwrite") == 0
    assert stored(folder) == [("zwei", "two")]


def test_weights_stay_with_their_pairs(folder: Path) -> None:
    (folder / "a.weights").write_text("1\n2.5\n0\n9\n1e-1\n")
    (folder / "b.weights").write_text("7\n")
    (folder / "b.tsv").write_text("eins\tone\n")
    words = ["--source", "a.de", "--target", "a.en", "--corpus", "b.tsv"]
    assert prepare(folder, *words, "--weights", "a.weights", "--weights", "b.weights") == 0
    assert stored(folder) == [*KEPT, ("eins", "one")]
    dataset = datasets.load_from_disk(str(folder / "out" / "dataset"))
    assert dataset["weight"][:] == pytest.approx([1, 2.5, 0, 0.1, 7])
    report = json.loads((folder / "out" / "report.json").read_bytes())
    assert report["weights"] == pytest.approx({"min": 0, "mean": 2.12, "max": 7})
    assert "Weights: min 0, mean 2.12, max 7." in (folder / "out" / "report.md").read_text()


def test_format_reads_a_file_whatever_its_name(folder: Path) -> None:
    (folder / "corpus.dat").write_text("eins\tone\n")
    assert prepare(folder, "--corpus", "corpus.dat", "--format", "tsv") == 0
    assert stored(folder) == [("eins", "one")]


def test_filters_are_options(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "f.tsv").write_text(f"same\tsame\nlong\t{'x y ' * 80}\nratio\t{'x y ' * 12}\nok\tgood\n")
    words = ["--max-tokens", "70", "--max-ratio", "3", "--drop-identical"]
    assert prepare(folder, "--corpus", "f.tsv", *words) == 0
    report = json.loads((folder / "out" / "report.json").read_bytes())
    assert report["dropped"] == {"identical": 1, "length_ratio": 1, "too_long": 1}
    assert stored(folder) == [("ok", "good")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--source a.de --target short.en", "a.de has 5 lines but {tmp}/short.en has 2"),
        ("--source a.de", "1 --source but 0 --target"),
        ("--source a.de --source a.de --target a.en", "2 --source but 1 --target"),
        ("", "--corpus"),
        ("--source a.de --target none.en", "none.en: no such file"),
        ("--source a.de --target a.de", "expected two files"),
        ("--source a.de --target latin1.en", "latin1.en:3: byte 4 (0xe9)"),
        ("--source a.de --target nul.en", "nul.en:3: byte 2 is NUL"),
        ("--source a.de --target damaged.gz", "damaged.gz: damaged"),
        ("--corpus three.tsv", "three.tsv:2: expected 2 tab-separated columns, found 3"),
        ("--corpus bad.jsonl", "bad.jsonl:1: not JSON"),
        ("--corpus memory.tmx", "tmx is not among the kinds read: tsv, jsonl"),
        ("--corpus a.de", "--format"),
        ("--corpus three.tsv --columns 3", "--columns 3"),
        ("--corpus three.tsv --format excel", "excel"),
        ("--corpus blank.tsv", "none of 2 pairs is left"),
        ("--source a.de --target a.en --tokenizer none.model", "none.model: no such tokenizer"),
        ("--source a.de --target a.en --tokenizer a.de", "a.de: is damaged, or not a sentencepiece model"),
        ("--source a.de --target a.en --max-tokens 0", "max-tokens"),
        ("--source a.de --target a.en --weights nan.txt", "nan.txt:3: weight 'nan': expected a number from 0 to"),
        ("--source a.de --target a.en --weights short.txt", "short.txt has 2 lines but {tmp}/a.de has 5 pairs"),
        ("--source a.de --target a.en --weights none.txt", "none.txt: no such file"),
        ("--source a.de --target a.en --weights zero.txt", "all pairs kept weigh 0"),
        ("--source a.de --target a.en --weights nan.txt --weights nan.txt", "2 --weights for 1 inputs"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(
    folder: Path, words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "short.en").write_text("one\ntwo")
    (folder / "latin1.en").write_bytes(b"1\n2\ncaf\xe9\n4\n5\n")
    (folder / "nul.en").write_bytes(b"1\n2\na\0\n4\n5\n")
    (folder / "damaged.gz").write_bytes(gzip.compress(TARGET.encode())[:-9])
    (folder / "three.tsv").write_text("a\tb\na\tb\tc\n")
    (folder / "blank.tsv").write_text("\ta\n \tb\n")
    (folder / "bad.jsonl").write_text("[\n")
    (folder / "memory.tmx").write_text("<tmx/>\n")
    (folder / "nan.txt").write_text("1\n1\nnan\n1\n1\n")
    (folder / "short.txt").write_text("1\n1\n")
    (folder / "zero.txt").write_text("0\n0\n0\n5\n0\n")  # that of the pair that is dropped does not count
    before = sorted(file.name for file in folder.iterdir())
    capsys.readouterr()
    assert prepare(folder, *words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message.replace("{tmp}", str(folder)) in err
    assert sorted(file.name for file in folder.iterdir()) == before


def test_output_that_exists_is_refused_before_any_work(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "mine").write_text("x")
    capsys.readouterr()
    assert prepare(folder, "--source", "none", "--target", "none") == 2
    assert "--overwrite" in capsys.readouterr().err
    assert prepare(folder, "--source", "a.de", "--target", "a.en", "--overwrite") == 2
    assert "holds mine" in capsys.readouterr().err
    assert [file.name for file in (folder / "out").iterdir()] == ["mine"]


@pytest.mark.slow
def test_locale_home_and_cache_play_no_part(folder: Path) -> None:
    words = ["--source", str(folder / "a.de"), "--target", str(folder / "a.en")]
    digests = []
    for name, extra in (("utf8", {"PYTHONUTF8": "1"}), ("c", {"PYTHONUTF8": "0", "LC_ALL": "C"})):
        environment = {**os.environ, **extra, "HOME": str(folder / "home"), "PYTHONCOERCECLOCALE": "0"}
        model, output = folder / f"{name}.model", folder / name
        for command in (
            ["train-tokenizer", *words[1::2], "--vocab-size", "310", "--output", model],
            ["prepare", *words, "--tokenizer", model, "--output", output],
        ):
            done = subprocess.run(
                [sys.executable, "-m", "tfmt", *command], env=environment, capture_output=True, check=True
            )
            assert done.stderr == b""  # no progress when nobody watches
        files = sorted(file for file in output.rglob("*") if file.is_file())
        digests.append([hashlib.sha256(file.read_bytes()).hexdigest() for file in files])
    assert digests[0] == digests[1]
    assert len(digests[0]) == 6
    assert not (folder / "home").exists()
