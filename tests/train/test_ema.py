"""The moving average of weights: torch's own numbers, and what a stop must not change."""

from __future__ import annotations

import copy
import os
import signal

import pytest
import torch
from fakes import small_config
from runs import config, equal, events, losses, run_training, weights
from safetensors.torch import load_file
from torch.optim.swa_utils import AveragedModel

from tfmt.checkpoint import load_model
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.errors import Interrupted
from tfmt.model.transformer import Transformer
from tfmt.train.ema import MovingAverage
from tfmt.train.trainer import Trainer
from tfmt.train.validate import Validator


def test_it_is_torchs_average_with_the_usual_warm_up():
    decay = 0.8
    model = Transformer(small_config(), 50)
    ours = MovingAverage(model, decay)

    def mean(average, weight, num_averaged):
        d = min(decay, (1 + num_averaged) / (10 + num_averaged))
        return d * average + (1 - d) * weight

    torchs = AveragedModel(model, avg_fn=mean)
    torchs.update_parameters(model)  # its first call copies
    generator = torch.Generator().manual_seed(1)
    for step in range(1, 60):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator))
        ours.follow(model, step, torch.tensor(True))
        torchs.update_parameters(model)
    for one, other in zip(ours.model.parameters(), torchs.module.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_a_skipped_update_leaves_it_alone():
    model = Transformer(small_config(), 50)
    ours = MovingAverage(model, 0.8)
    before = copy.deepcopy(ours.model.state_dict())
    model.head.weight.data += 1
    ours.follow(model, 1, torch.tensor(False))
    torch.testing.assert_close(ours.model.state_dict(), before, atol=0, rtol=0)


def test_training_itself_is_not_touched(tmp_path, prepared):
    run_training(config(prepared, max_steps=12), tmp_path / "without")
    run_training(config(prepared, max_steps=12, ema=0.9), tmp_path / "with")
    assert losses(tmp_path / "with") == losses(tmp_path / "without")
    assert equal(load_file(tmp_path / "with/last/state/weights.safetensors"), weights(tmp_path / "without"))
    assert not equal(weights(tmp_path / "with"), weights(tmp_path / "without"))
    assert not (tmp_path / "without/last/state/weights.safetensors").exists()


def test_a_stop_changes_nothing(tmp_path, prepared, monkeypatch):
    cfg = config(prepared, max_steps=20, ema=0.9, save_every=7)
    run_training(cfg, tmp_path / "straight")
    original = Trainer.update

    def update_then_signal(self, update):
        if self.state.step == 10:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, update)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", update_then_signal)
        with pytest.raises(Interrupted):
            run_training(cfg, tmp_path / "hit")
    run_training(cfg, tmp_path / "hit")
    assert losses(tmp_path / "hit") == losses(tmp_path / "straight")
    assert equal(weights(tmp_path / "hit"), weights(tmp_path / "straight"))
    for name in ("weights", "optimizer"):
        states = [load_file(tmp_path / run / f"last/state/{name}.safetensors") for run in ("hit", "straight")]
        assert equal(*states)


def test_what_is_validated_is_what_users_get(tmp_path, prepared, toy):
    cfg = config(prepared, toy, max_steps=10, ema=0.5)
    run_training(cfg, tmp_path / "run")
    logged = events(tmp_path / "run", "validate")[-1]
    found = Validator(cfg, Tokenizer.load(toy.tokenizer))(load_model(tmp_path / "run").model)
    assert (found.nll, found.bleu) == (logged["nll"], logged["bleu"])
