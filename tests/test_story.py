"""The whole job as a user types it, on a small part of the demo corpus, and what can go wrong on the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import datasets
import pytest

from tfmt.cli.demo import bundled
from tfmt.cli.main import run

SETTINGS = [
    "--set", "data.train=[\"data\"]", "--set", "data.valid_source=valid.zh", "--set", "data.valid_target=valid.en",
    "--set", "model.encoder_layers=1", "--set", "model.decoder_layers=1", "--set", "model.d_model=32",
    "--set", "model.d_ff=64", "--set", "train.max_steps=12", "--set", "train.save_every=4",
    "--set", "train.validate_every=12", "--set", "train.batch_tokens=500", "--set", "decode.max_length_offset=5",
    "--set", "train.precision=fp32",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A user's folder after train-tokenizer, prepare and train."""
    folder = tmp_path_factory.mktemp("story")
    corpus = bundled("data/demo")
    for name, count in (("train", 400), ("valid", 20), ("test", 20)):
        for language in ("zh", "en"):
            lines = (corpus / f"{name}.{language}").read_bytes().split(b"\n")[:count]
            (folder / f"{name}.{language}").write_bytes(b"\n".join(lines) + b"\n")
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert (
            run(
                [
                    "train-tokenizer",
                    "train.zh",
                    "train.en",
                    "--vocab-size",
                    "900",
                    "--output",
                    "tokenizer.model",
                ]
            )
            == 0
        )
        sides = ["--source", "train.zh", "--target", "train.en"]
        assert run(["prepare", *sides, "--tokenizer", "tokenizer.model", "--output", "data"]) == 0
        assert run(["train", str(bundled("configs") / "demo.toml"), "--output", "run", *SETTINGS]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture(autouse=True)
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def refused(words: list[str], capsys) -> str:
    """The one error line, after checking the status and that no file came or went."""
    before = sorted(Path().rglob("*"))
    assert run(words) == 2
    captured = capsys.readouterr()
    assert sorted(Path().rglob("*")) == before
    assert captured.err.count("\n") == 1, captured.err
    assert captured.err.startswith("error: ")
    return captured.err


def test_prepared_data_opens_with_datasets():
    report = json.loads(Path("data/report.json").read_text())
    assert report["seen"] == report["kept"] + sum(report["dropped"].values()) == 400
    assert len(datasets.load_from_disk("data/dataset")) == report["kept"]


def test_a_run_is_what_the_contract_says():
    assert {"config.toml", "log.jsonl", "checkpoints", "best", "last"} <= {path.name for path in Path("run").iterdir()}
    assert {path.name for path in Path("run/checkpoints/step-00000012").iterdir()} == {
        "model.safetensors", "config.toml", "tokenizer.model", "manifest.json", "state",
    }  # fmt: skip
    log = [json.loads(line) for line in Path("run/log.jsonl").read_text().split("\n") if line]
    assert {"step", "loss", "ppl", "lr", "tokens_per_s"} <= next(e for e in log if e["event"] == "train").keys()
    assert {"step", "loss", "ppl", "bleu"} <= next(e for e in log if e["event"] == "validate").keys()


def test_translations_come_line_by_line(capsys):
    Path("mixed.zh").write_bytes("我喜欢打篮球\n\n \n我是一条狗\u2028了\r\n".encode())
    assert run(["translate", "run", "--input", "mixed.zh", "--output", "mixed.en", "--overwrite"]) == 0
    lines = Path("mixed.en").read_bytes().split(b"\n")
    assert len(lines) == 5
    assert lines[1] == lines[2] == lines[4] == b""
    capsys.readouterr()
    assert run(["translate", "run", "--input", "mixed.zh", "--json", "--n-best", "2"]) == 0
    objects = [json.loads(line) for line in capsys.readouterr().out.split("\n") if line]
    assert [o["source"] for o in objects] == ["我喜欢打篮球", "", " ", "我是一条狗\u2028了"]
    assert objects[0]["hypotheses"][0] == {"text": objects[0]["text"], "score": objects[0]["score"]}
    assert len(objects[0]["hypotheses"]) == 2
    assert objects[1]["score"] is None


def test_evaluating_a_model_equals_evaluating_its_translations(capsys):
    assert run(["eval", "run", "--source", "test.zh", "--reference", "test.en", "--output", "e1", "--overwrite"]) == 0
    assert run(["translate", "run", "--input", "test.zh", "--output", "test.hyp", "--overwrite"]) == 0
    assert run(["eval", "--hypotheses", "test.hyp", "--reference", "test.en", "--output", "e2", "--overwrite"]) == 0
    one, two = (json.loads(Path(name, "report.json").read_text()) for name in ("e1", "e2"))
    for metric in ("bleu", "chrf", "ter"):
        assert one[metric] == two[metric]
    assert "tok:13a" in one["bleu"]["signature"]


def test_the_mean_of_checkpoints_is_a_model(capsys):
    parts = [f"run/checkpoints/step-{step:08d}" for step in (4, 8, 12)]
    assert run(["average", *parts, "--output", "mean"]) == 0
    assert capsys.readouterr().out == f"mean: the mean of {', '.join(parts)}\n"
    assert {path.name for path in Path("mean").iterdir()} == {
        "model.safetensors", "config.toml", "tokenizer.model", "manifest.json",
    }  # fmt: skip
    assert "already exists" in refused(["average", *parts, "--output", "mean"], capsys)
    assert "the only model named" in refused(["average", "run", "--output", "other"], capsys)
    assert run(["translate", "mean", "--input", "test.zh", "--output", "mean.en"]) == 0
    assert Path("mean.en").read_text(encoding="utf-8").count("\n") == 20


def test_a_missing_file_is_named(capsys):
    for words in (
        ["train-tokenizer", "missing.txt", "--vocab-size", "500", "--output", "new.model"],
        [
            "prepare",
            "--source",
            "missing.txt",
            "--target",
            "train.en",
            "--tokenizer",
            "tokenizer.model",
            "--output",
            "new",
        ],
        ["train", "missing.toml"],
        ["translate", "run", "--input", "missing.txt", "--output", "new.txt"],
        ["translate", "missing"],
        ["average", "run", "missing", "--output", "new"],
        ["eval", "--hypotheses", "missing.txt", "--reference", "test.en"],
    ):
        assert "missing" in refused(words, capsys)


def test_unequal_line_counts_are_named(capsys):
    words = [
        "--source",
        "train.zh",
        "--target",
        "test.en",
        "--tokenizer",
        "tokenizer.model",
        "--output",
        "new",
    ]
    message = refused(["prepare", *words], capsys)
    for part in ("train.zh", "400", "test.en", "20"):
        assert part in message


def test_a_wrong_tokenizer_is_told(capsys, tmp_path):
    assert run(["train-tokenizer", "train.en", "--vocab-size", "500", "--output", "other.model"]) == 0
    folder = Path("run/best").resolve()
    right = (folder / "tokenizer.model").read_bytes()
    try:
        (folder / "tokenizer.model").write_bytes(Path("other.model").read_bytes())
        capsys.readouterr()
        message = refused(["translate", "run", "--input", "test.zh"], capsys)
        assert "500 pieces, the model 900" in message
    finally:
        (folder / "tokenizer.model").write_bytes(right)
        Path("other.model").unlink()


def test_config_mistakes_are_named(capsys):
    Path("bad.toml").write_text("seed = 1\n[train]\nmax_step = 3\n")
    assert "bad.toml:3: train.max_step: unknown key; did you mean train.max_steps?" in refused(
        ["train", "bad.toml"], capsys
    )
    Path("bad.toml").write_text("seed = \n")
    assert "bad.toml: not TOML" in refused(["train", "bad.toml"], capsys)


def test_an_output_that_exists_is_not_replaced(capsys):
    for words in (
        ["train-tokenizer", "train.en", "--vocab-size", "500", "--output", "tokenizer.model"],
        [
            "prepare",
            "--source",
            "train.zh",
            "--target",
            "train.en",
            "--tokenizer",
            "tokenizer.model",
            "--output",
            "data",
        ],
        ["translate", "run", "--input", "test.zh", "--output", "test.en"],
    ):
        assert "already exists" in refused(words, capsys)


def test_a_damaged_model_is_named(capsys):
    file = Path("run/best").resolve() / "model.safetensors"
    whole = file.read_bytes()
    try:
        file.write_bytes(whole[:-100])
        assert "model.safetensors: damaged" in refused(["translate", "run", "--input", "test.zh"], capsys)
    finally:
        file.write_bytes(whole)


@pytest.mark.slow
def test_pipes_and_locales_do_not_matter(tmp_path):
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}
    command = [sys.executable, "-m", "tfmt", "translate", "run", "--threads", "1"]
    source = Path("test.zh").read_bytes()
    piped = subprocess.run(command, input=source, capture_output=True, env=environment, check=True)
    assert run(["translate", "run", "--input", "test.zh", "--output", str(tmp_path / "out"), "--threads", "1"]) == 0
    assert piped.stdout == (tmp_path / "out").read_bytes()
    assert b"error" not in piped.stderr
