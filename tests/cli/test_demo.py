"""The demo's own steps, on a corpus and a model small enough for a test; its files, as they travel in the package."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tfmt.cli import demo as demo_module
from tfmt.cli.demo import bundled
from tfmt.cli.main import run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, and a demo of 300 pairs and 4 updates."""
    corpus, configs = tmp_path / "corpus", tmp_path / "configs"
    corpus.mkdir()
    configs.mkdir()
    for name, count in (("train", 300), ("valid", 10), ("test", 10)):
        for language in ("zh", "en"):
            lines = (bundled("data/demo") / f"{name}.{language}").read_bytes().split(b"\n")[:count]
            (corpus / f"{name}.{language}").write_bytes(b"\n".join(lines) + b"\n")
    (configs / "demo.toml").write_text(
        '[data]\ntrain = "runs/demo/data"\nvalid_source = "runs/demo/corpus/valid.zh"\n'
        'valid_target = "runs/demo/corpus/valid.en"\n'
        "[model]\nencoder_layers = 1\ndecoder_layers = 1\nd_model = 16\nnum_heads = 2\nd_ff = 32\n"
        "[train]\nbatch_tokens = 500\nmax_steps = 4\nsave_every = 2\naverage = 2\n[decode]\nmax_length_offset = 3\n"
    )
    monkeypatch.setattr(demo_module, "bundled", {"data/demo": corpus, "configs": configs}.get)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_demo_runs_every_step_and_can_be_repeated(small, capsys):
    assert run(["demo"]) == 0
    shown = capsys.readouterr().out
    for command in ("train-tokenizer", "prepare", "train", "translate", "eval"):
        assert f"$ tfmt {command} " in shown
    assert shown.count("reference") >= demo_module.NUM_SAMPLES
    assert "BLEU" in shown
    assert "nrefs:1" in shown
    assert shown.count("\n  echo ") == 2
    assert Path("runs/demo/report/report.json").is_file()

    assert run(["demo"]) == 0
    again = capsys.readouterr()
    assert "is there already" in again.out
    assert "finished" in again.err


def test_what_the_demo_needs_travels_in_the_package():
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"][
        "force-include"
    ]
    for name in ("train", "valid", "test"):
        for language in ("zh", "en"):
            assert included[f"data/demo/{name}.{language}"] == f"tfmt/bundled/demo/{name}.{language}"
    assert included["configs"] == "tfmt/bundled/configs"
    assert all((ROOT / path).exists() for path in included)
