"""What a run tells those who watch it."""

from __future__ import annotations

import shutil

import pytest
import torch
from runs import config, events, run_training

from tfmt.corpus.batches import open_prepared
from tfmt.device import matrix_rate, peak_memory
from tfmt.model.flops import forward_flops
from tfmt.runlog.log import read_events


def test_every_figure_of_an_update_is_in_the_log(tmp_path, prepared):
    cfg = config(prepared, max_epochs=2, max_steps=0, log_every="1e")
    run_training(cfg, tmp_path / "run")
    assert events(tmp_path / "run", "start")[0]["matrix_flops_per_s"] == 1e11
    train = events(tmp_path / "run", "train")
    assert {
        "step", "epoch", "loss", "nll", "ppl", "lr", "grad_norm", "tokens_per_s", "matrix_share", "peak_memory_bytes",
        "tokens_seen", "skipped", "left_out", "seconds", "progress", "seconds_left",
    } <= train[-1].keys()  # fmt: skip
    corpus = open_prepared([prepared], 320)
    flops = 3 * forward_flops(cfg.model, 320, corpus.source.lengths, corpus.target.lengths)
    num_tokens = int(corpus.target.lengths.sum())
    for event in train:  # an epoch each
        assert event["matrix_share"] * 1e11 / event["tokens_per_s"] == pytest.approx(flops / num_tokens)
        assert 1e7 < event["peak_memory_bytes"] < 1e11


def test_r_drop_needs_twice_the_products(tmp_path, prepared):
    shares = []
    for r_drop in (0.0, 1.0):
        run_training(config(prepared, max_steps=1, r_drop=r_drop), tmp_path / str(r_drop))
        (event,) = events(tmp_path / str(r_drop), "train")
        shares.append(event["matrix_share"] / event["tokens_per_s"])
    assert shares[1] == pytest.approx(2 * shares[0], rel=0.1)  # updates are cut a little differently


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_matrix_rate_is_measured_without_a_trace(precision):
    before = torch.get_rng_state()
    assert 1e8 < matrix_rate(torch.device("cpu"), precision, seconds=0.0) < 1e15
    assert torch.get_rng_state().equal(before)
    assert peak_memory(torch.device("cpu")) > 1024 * 1024**2 / 1000


def test_a_run_has_charts_and_samples_and_overwriting_begins_them_anew(tmp_path, prepared, toy):
    for overwrite in (False, True):
        run_training(config(prepared, toy, max_steps=3), tmp_path / "run", overwrite=overwrite)
        assert len(list((tmp_path / "run/tensorboard").glob("events.out.tfevents.*"))) == 1
        assert (tmp_path / "run/samples.md").exists()
    run_training(config(prepared, toy, max_steps=3), tmp_path / "run")  # finished: says so, and no more
    assert len(list((tmp_path / "run/tensorboard").iterdir())) == 1
    run_training(config(prepared, toy, max_steps=4), tmp_path / "run")
    assert len(list((tmp_path / "run/tensorboard").iterdir())) == 2
    assert (tmp_path / "run/samples.md").read_text().count("| step 3 |") == 5


def test_charts_that_cannot_be_written_do_not_stop_training(tmp_path, prepared):
    run_training(config(prepared, max_steps=2), tmp_path / "run")
    shutil.rmtree(tmp_path / "run/tensorboard")
    (tmp_path / "run/tensorboard").touch()
    run_training(config(prepared, max_steps=4), tmp_path / "run")
    assert read_events(tmp_path / "run/log.jsonl")[-1]["event"] == "end"


def test_a_loss_that_rises_is_warned_of(tmp_path, prepared):
    run_training(config(prepared, max_steps=40, learning_rate=3.0, warmup_steps=20, clip_norm=0), tmp_path / "run")
    assert [event["kind"] for event in events(tmp_path / "run", "warning")] == ["explodes"]


def test_the_log_says_why_training_stopped(tmp_path, prepared, monkeypatch):
    monkeypatch.setattr("tfmt.train.trainer.Trainer.update", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_training(config(prepared), tmp_path / "run")
    assert read_events(tmp_path / "run/log.jsonl")[-1]["reason"] == "division by zero"
