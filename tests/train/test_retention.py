"""Which checkpoints stay: the newest, the best, and what the links point at; never half a folder."""

from __future__ import annotations

import json
import random
from itertools import count

import pytest
import torch
from fakes import small_config
from runs import config, equal, run_training, weights

from tfmt.checkpoint import Scored, TrainState, checkpoint_folder, checkpoints, save_checkpoint
from tfmt.config import RunConfig, TrainConfig
from tfmt.model.transformer import Transformer
from tfmt.train import retention
from tfmt.train.trainer import Trainer
from tfmt.train.validate import Validation, Validator


@pytest.fixture
def save(tmp_path, tokenizer):
    """Saves a checkpoint of some step in tmp_path."""
    cfg = RunConfig(model=small_config())
    model = Transformer(cfg.model, tokenizer.vocab_size)

    def save_step(step: int):
        folder = checkpoint_folder(tmp_path, step)
        save_checkpoint(folder, model, cfg, tokenizer, state=TrainState(step=step), optimizer={})
        retention.link(tmp_path, "last", folder)
        return folder

    return save_step


def steps(run) -> list[int]:
    return [int(folder.name[5:]) for folder in checkpoints(run)]


def test_old_checkpoints_go_but_the_best_stays(tmp_path, save):
    for step in range(1, 6):
        folder = save(step)
        if step == 1:
            retention.link(tmp_path, "best", folder)
        retention.prune(tmp_path, keep=2)
    assert steps(tmp_path) == [1, 4, 5]
    assert not list(tmp_path.rglob("*.partial"))


def test_a_damaged_newest_checkpoint_is_named_and_passed_over(tmp_path, save, caplog):
    (first, second) = save(1), save(2)
    (second / "state/train.json").write_text("{}")
    assert retention.newest_whole_checkpoint(tmp_path) == first
    assert "train.json" in caplog.text


def test_ranking_keeps_the_best_and_of_equals_the_earlier():
    ranked: tuple[Scored, ...] = ()
    generator = random.Random(1)
    seen = []
    for step in range(1, 50):
        seen.append(Scored(float(generator.randint(0, 9)), step))
        ranked = retention.rank(ranked, seen[-1], 3)
        assert list(ranked) == sorted(seen, key=lambda scored: (-scored.score, scored.step))[:3]


def validations(patch, scores):
    """Validation that gives these BLEU scores by turns, whatever the model."""
    remaining = iter(scores)
    patch.setattr(Validator, "__call__", lambda *args: Validation(2.0, 1.5, 4.5, next(remaining), 60.0, "fake", []))


def test_the_best_k_and_the_last_n_stay(tmp_path, prepared, toy, monkeypatch):
    validations(monkeypatch, [10.0, 50.0, 40.0, 20.0, 45.0, 30.0])
    cfg = config(prepared, toy, max_steps=24, validate_every=4, save_every=3, keep=2, keep_best=3)
    run_training(cfg, tmp_path / "run")
    assert steps(tmp_path / "run") == [8, 12, 20, 21, 24]
    assert (tmp_path / "run/best").resolve().name == "step-00000008"
    assert (tmp_path / "run/last").resolve().name == "step-00000024"


@pytest.mark.slow
def test_what_is_kept_does_not_depend_on_a_kill(tmp_path, prepared, toy, monkeypatch):
    """Killed before every other change of links and folders, and gone on: the same folders, weights and links."""
    scores = {4: 10.0, 8: 50.0, 12: 40.0, 16: 45.0}
    validations(monkeypatch, count())
    monkeypatch.setattr(Trainer, "_score", lambda self, found: scores[self.state.step])
    cfg = config(prepared, toy, max_steps=16, validate_every=4, save_every=3, keep=2, keep_best=2)
    changes = []

    def kill_at(number, function):
        def change_or_be_killed(*args):
            changes.append(function.__name__)
            if len(changes) == number:
                raise KeyboardInterrupt
            return function(*args)

        return change_or_be_killed

    def train_until(number, run):
        changes.clear()
        with monkeypatch.context() as patch:
            for name in ("link", "_delete"):
                patch.setattr(retention, name, kill_at(number, getattr(retention, name)))
            run_training(cfg, run)

    train_until(None, tmp_path / "straight")
    for number in range(1, len(changes) + 1, 2):
        run = tmp_path / f"killed-{number}"
        with pytest.raises(KeyboardInterrupt):
            train_until(number, run)
        run_training(cfg, run)
        assert steps(run) == steps(tmp_path / "straight"), changes
        assert equal(weights(run), weights(tmp_path / "straight"))
        for name in ("best", "last"):
            assert (run / name).resolve().name == (tmp_path / "straight" / name).resolve().name, changes


def test_fewer_best_are_kept_when_fewer_are_asked_for(tmp_path, prepared, toy, monkeypatch):
    validations(monkeypatch, [10.0, 30.0, 20.0, 5.0])
    settings = {"validate_every": 2, "save_every": 100}
    run_training(config(prepared, toy, max_steps=6, keep_best=3, **settings), tmp_path / "run")
    assert steps(tmp_path / "run") == [2, 4, 6]
    run_training(config(prepared, toy, max_steps=8, keep_best=1, **settings), tmp_path / "run")
    assert steps(tmp_path / "run") == [4, 8]


def test_training_defaults_keep_what_they_average():
    assert TrainConfig().average <= TrainConfig().keep


def test_the_best_checkpoints_are_averaged(tmp_path, prepared, toy, monkeypatch):
    validations(monkeypatch, [10.0, 50.0, 40.0, 20.0, 60.0])  # the last of them is the average's
    cfg = config(
        prepared, toy, max_steps=16, validate_every=4, save_every=100, keep_best=2, average=2, average_of="best"
    )
    run_training(cfg, tmp_path / "run")
    summary = json.loads((tmp_path / "run/finished.json").read_text())
    assert summary["averaged"] == ["step-00000008", "step-00000012"]
    parts = [weights(tmp_path / "run/checkpoints", name) for name in summary["averaged"]]
    for name, weight in weights(tmp_path / "run", "best").items():
        torch.testing.assert_close(weight, sum(part[name].double() for part in parts).div(2).float())
