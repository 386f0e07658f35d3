"""Small trainings on the toy pair, and what they leave, for tests of training."""

from __future__ import annotations

import json
from pathlib import Path
from unittest import mock

import pytest
import torch
from safetensors.torch import load_file

from tfmt.config import RunConfig
from tfmt.config_file import save_config
from tfmt.files import read_lines
from tfmt.runlog.log import View
from tfmt.train.distributed import World
from tfmt.train.trainer import train


def config(prepared: Path, toy=None, **train_changes) -> RunConfig:
    """Ten updates an epoch of about three micro-batches each, with dropout, in fp32."""
    values = {
        "data": {"train": [str(prepared)]},
        "model": {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "num_heads": 2, "d_ff": 32, "dropout": 0.2},
        "train": {
            "batch_tokens": 250, "micro_batch_tokens": 120, "max_steps": 40, "warmup_steps": 10, "precision": "fp32",
            "log_every": 1, "save_every": 10, "validate_every": 10, "average": 0,
        } | train_changes,
        "decode": {"beam": 2, "max_length_ratio": 1.0, "max_length_offset": 5},
    }  # fmt: skip
    if toy:
        values["data"] |= {"valid_source": str(toy.source), "valid_target": str(toy.target)}
    return RunConfig.model_validate(values)


def run_training(cfg: RunConfig, run: Path, **options) -> None:
    with mock.patch("tfmt.train.trainer.matrix_rate", return_value=1e11):  # measuring it takes time
        train(cfg, run, view=View(), world=World(torch.device("cpu")), **options)


def events(run: Path, name: str) -> list[dict]:
    lines = [json.loads(line) for line in read_lines(run / "log.jsonl")]
    return [line for line in lines if line["event"] == name]


def losses(run: Path) -> dict[int, float]:
    return {event["step"]: event["loss"] for event in events(run, "train")}


def weights(run: Path, link: str = "last") -> dict[str, torch.Tensor]:
    return load_file(run / link / "model.safetensors")


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(one[name].equal(other[name]) for name in one)


def state(run: Path, link: str = "last") -> dict:
    """What a checkpoint says of where training stands, but for the clock."""
    found = json.loads((run / link / "state/train.json").read_text())
    del found["seconds"], found["saved"]["minutes"], found["validated"]["minutes"]
    return found


def words(cfg: RunConfig, run: Path) -> list[object]:
    """Of `tfmt train`, to train by this configuration."""
    file = run.parent / f"{run.name}.toml"
    save_config(cfg, file)
    return [file, "--output", run, "--device", "cpu"]


def without_dropout(cfg: RunConfig) -> RunConfig:
    return cfg.model_copy(update={"model": cfg.model.model_copy(update={"dropout": 0.0})})


def same_but_for_rounding(one: Path, other: Path) -> None:
    for step, loss in losses(one).items():
        assert losses(other)[step] == pytest.approx(loss, abs=1e-5)
    ours, theirs = weights(one), weights(other)
    for name in ours:
        if "key.bias" not in name:  # without effect on the loss: its gradient is rounding alone, which Adam scales up
            torch.testing.assert_close(theirs[name], ours[name], atol=2e-4, rtol=1e-3)
    found = [[value for e in events(run, "validate") for value in (e["nll"], e["bleu"])] for run in (one, other)]
    assert found[0] == pytest.approx(found[1], abs=1e-4)
