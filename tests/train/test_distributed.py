"""Training on several processes against training on one, and what happens when one of them ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from ranks import Fault, full_disk_at, hit_at, other_words, train_on
from runs import config, equal, events, losses, run_training, same_but_for_rounding, weights, without_dropout, words

pytestmark = pytest.mark.slow


def test_any_number_of_processes_makes_the_same_updates(tmp_path, prepared, toy):
    cfg = without_dropout(config(prepared, toy, max_steps=20, average=2))  # updates of two or three micro-batches
    run_training(cfg, tmp_path / "one")
    for size in (2, 3):
        run = tmp_path / str(size)
        ended = train_on(size, words(cfg, run), tmp_path / f"out-{size}")
        assert ended.statuses == [0] * size
        assert ended.lines[-2:] == [f"{events(run, 'end')[0]['message']}", str(run)]
        assert [event["step"] for event in events(run, "train")] == list(range(1, 21))  # one process writes
        same_but_for_rounding(tmp_path / "one", run)


def test_a_process_without_a_pair_takes_part(tmp_path, prepared):
    cfg = without_dropout(config(prepared, batch_tokens=10, max_steps=12, validate_every=0))  # updates of one pair
    run_training(cfg, tmp_path / "one")
    assert train_on(3, words(cfg, tmp_path / "three"), tmp_path / "out").statuses == [0, 0, 0]
    same_but_for_rounding(tmp_path / "one", tmp_path / "three")


def test_a_signal_to_one_process_stops_all_and_changes_nothing(tmp_path, prepared, toy):
    cfg = config(prepared, toy, max_steps=30, save_every=10, ema=0.9)  # with dropout, each process its own
    assert train_on(2, words(cfg, tmp_path / "straight"), tmp_path / "out").statuses == [0, 0]
    ended = train_on(2, words(cfg, tmp_path / "hit"), tmp_path / "out", fault=hit_at(16, 1, signal.SIGTERM))
    assert ended.statuses == [143, 143]
    assert sum("stopped by SIGTERM after update 17, which is saved" in line for line in ended.lines) == 1
    assert train_on(2, words(cfg, tmp_path / "hit"), tmp_path / "out").statuses == [0, 0]
    assert events(tmp_path / "hit", "resume")[0]["step"] == 17
    assert losses(tmp_path / "hit") == losses(tmp_path / "straight")
    assert equal(weights(tmp_path / "hit"), weights(tmp_path / "straight"))


@pytest.mark.parametrize("killed", [0, 1])
def test_when_one_process_is_killed_the_other_ends_and_the_command_goes_on(tmp_path, prepared, killed):
    cfg = config(prepared, max_steps=30, save_every=10, validate_every=0)
    assert train_on(2, words(cfg, tmp_path / "straight"), tmp_path / "out").statuses == [0, 0]
    ended = train_on(2, words(cfg, tmp_path / "hit"), tmp_path / "out", fault=hit_at(16, killed, signal.SIGKILL))
    assert sorted(ended.statuses) == [-signal.SIGKILL, 1]
    assert [line for line in ended.lines if "error" in line] == [
        "error: another process of this training has ended or cannot be reached; "
        "the same command goes on from the last checkpoint"
    ]
    assert train_on(2, words(cfg, tmp_path / "hit"), tmp_path / "out").statuses == [0, 0]
    assert events(tmp_path / "hit", "resume")[0]["step"] == 10
    assert equal(weights(tmp_path / "hit"), weights(tmp_path / "straight"))


def test_a_run_goes_on_with_another_number_of_processes(tmp_path, prepared):
    cfg = without_dropout(config(prepared, max_steps=20, validate_every=0))
    run_training(cfg, tmp_path / "one")
    for size in (3, 2):
        halves = words(cfg, tmp_path / "parts")
        if size == 3:
            halves += ["--set", "train.max_steps=10"]
        assert train_on(size, halves, tmp_path / "out").statuses == [0] * size
    same_but_for_rounding(tmp_path / "one", tmp_path / "parts")


@pytest.mark.parametrize(
    ("fault", "statuses", "message"),
    [
        (other_words(rank=None, word="train.max_stepz=3"), [2, 2], "train.max_stepz: unknown key"),
        (other_words(rank=1, word="train.max_stepz=3"), [1, 2], "train.max_stepz: unknown key"),
        (other_words(rank=1, word="train.warmup_steps=11"), [2, 2], "train.warmup_steps: is 10 in process 0 and 11 in"),
        (other_words(rank=1, word="data.train=nowhere"), [1, 2], "nowhere: not a folder made by"),
        (full_disk_at(10), [1, 1], "step-00000010: no space left on its disk"),
    ],
)
def test_an_error_in_one_process_or_in_all_is_told_once(tmp_path, prepared, fault: Fault, statuses, message):
    ended = train_on(2, words(config(prepared, validate_every=0), tmp_path / "run"), tmp_path / "out", fault=fault)
    assert ended.statuses == statuses
    told = [line for line in ended.lines if not line.startswith(("step ", "starting"))]
    assert len(told) == 1
    assert told[0].startswith("error: ")
    assert message in told[0]


KILLED_ONCE = """
import os, signal, sys, torch
from ranks import hit_at
from tfmt.cli.main import run
torch.set_num_threads(1)
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    hit_at(16, 1, signal.SIGKILL)(int(os.environ["RANK"]))
sys.exit(run(sys.argv[1:]))
"""


def test_torchrun_restarts_and_the_training_goes_on(tmp_path, prepared):
    cfg = config(prepared, max_steps=25, save_every=10, validate_every=0)
    script = tmp_path / "killed_once.py"
    script.write_text(KILLED_ONCE)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, "--max-restarts", "1", script, "train", *words(cfg, tmp_path / "run")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=120, env=env)
    assert [event["step"] for event in events(tmp_path / "run", "resume")] == [10]
    assert train_on(2, words(cfg, tmp_path / "straight"), tmp_path / "out").statuses == [0, 0]
    assert equal(weights(tmp_path / "run"), weights(tmp_path / "straight"))
