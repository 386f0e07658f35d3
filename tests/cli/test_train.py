"""What `tfmt train` shows before anything is trained."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tfmt.cli.demo import bundled
from tfmt.cli.main import run
from tfmt.config import RunConfig
from tfmt.config_file import load_config

SOURCES = ["Der Hund schläft.", 'Ein "Zitat"  mit \\ darin', "Zeile\u2028eins 😊", "▁a ꙮ", "kurz", "zwei\nZeilen\tda"]
TARGETS = ["The dog sleeps.", 'A "quote"  with \\ in it', "line\u2028one 😊", "b▁ 𝔘", "short", "two\nlines\tthere"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pairs = [json.dumps({"source": s, "target": t}) for s, t in zip(SOURCES, TARGETS, strict=True)]
    Path("corpus.jsonl").write_text("\n".join(pairs) + "\n")
    Path("weights").write_text("1\n2\n1\n1\n1\n1\n")
    assert run([*["train-tokenizer", "corpus.jsonl", "--vocab-size", "320", "--output"], "t.model"]) == 0
    words = "prepare --corpus corpus.jsonl --weights weights --tokenizer t.model --output"
    assert run([*words.split(), "prepared"]) == 0
    return tmp_path


def show(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert run(["train", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert not Path("runs").exists()
    return out


def test_a_batch_is_the_text_that_was_prepared_on_both_sides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = show(capsys, "tiny", "--show-batch").split("\n")
    assert lines[0].startswith("update 1 of 1 of the first epoch: ")
    weights = {}
    for place, heading in enumerate(lines):
        if heading.startswith("pair "):
            number = int(heading.split()[1]) - 1
            assert json.loads(lines[place + 1].removeprefix("  source ")) == SOURCES[number]
            assert json.loads(lines[place + 4].removeprefix("  target ")) == TARGETS[number]
            weights[number] = float(heading.split()[-1])
    assert sorted(weights) == list(range(len(SOURCES)))
    assert weights[1] == pytest.approx(2 * weights[0], rel=1e-3)


def test_a_batch_is_the_first_of_several(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--set", "train.batch_tokens=40", "--set", "train.micro_batch_tokens=20"]
    out = show(capsys, "tiny", *sizes, "--show-batch")
    assert out.startswith("update 1 of 2 of the first epoch: ")
    first = int(out.split(" micro-batches of ")[1].split()[0].rstrip(","))
    assert out.count("\npair ") == first < len(SOURCES)


def test_a_batch_has_its_counts_ends_and_masks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = show(capsys, "tiny", "--set", "train.r_drop=1", "--show-batch").split("\n")
    assert "it goes through the model twice" in lines[3]
    fills = [line.replace(",", "").split() for line in lines[1:3]]
    place = {"source": 2, "target": 7}
    num_pairs = sum(line.startswith("pair ") for line in lines)
    for fill in fills:
        rows, length, tokens, padding = (int(fill[n]) for n in (1, 3, 4, 7))
        assert rows == num_pairs == 6
        assert rows * length == tokens + padding
        starts = [n for n, line in enumerate(lines) if line.startswith("pair ")]
        masks = [lines[n + place[fill[0].rstrip(":")] + 1].split()[1] for n in starts]
        listed = [lines[n + place[fill[0].rstrip(":")]] for n in starts]
        assert sum(mask.count("1") for mask in masks) == tokens
        assert {len(mask) for mask in masks} == {length}
        for mask, line in zip(masks, listed, strict=True):
            assert mask == mask.rstrip("0") + "0" * mask.count("0")  # padding comes last
            assert line.endswith(" </s>")
            assert int(line.split()[1]) == mask.count("1")
    reads = [lines[n + 5] for n, line in enumerate(lines) if line.startswith("pair ")]
    assert all(" tokens: <s> " in line and "</s>" not in line for line in reads)


def test_the_papers_configuration_is_printed_resolved_and_says_which_bleu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    out = show(capsys, "paper-base", "--set", "train.max_steps=50_000", "--show-config")
    expected = load_config(bundled("configs") / "paper-base.toml", ["train.max_steps=50_000"])
    assert RunConfig.model_validate(tomllib.loads(out)) == expected
    for key in ("d_k = 64", "beam = 4", "length_penalty_alpha = 0.6", "average = 5", "max_steps = 50000"):
        assert key in out.split("\n")
    assert "computed on tokenised text with compounds split" in out  # which BLEU the paper's is
    assert "By sacrebleu" in out
    Path("saved.toml").write_text(out, encoding="utf-8")
    assert show(capsys, "saved.toml", "--show-config") == out


def test_a_batch_needs_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["train", "tiny", "--show-batch"]) == 2
    assert "prepared: not a folder made by `tfmt prepare`" in capsys.readouterr().err
