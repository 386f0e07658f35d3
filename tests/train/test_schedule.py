"""Learning rates against the paper's equation and torch's own schedulers."""

from __future__ import annotations

import math

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, LRScheduler, SequentialLR

from tfmt.config import TrainConfig
from tfmt.train.schedule import lr_at

PEAK, FLOOR, WARMUP, LAST = 2e-3, 1e-4, 20, 120


def config(schedule: str, floor: float = FLOOR) -> TrainConfig:
    return TrainConfig(
        schedule=schedule, learning_rate=PEAK, min_learning_rate=floor, warmup_steps=WARMUP, max_steps=LAST
    )


def after_warmup(optimizer: torch.optim.Optimizer, schedule: str) -> LRScheduler:
    """What torch has for the way down; its epoch 0 is our update `WARMUP`."""
    steps = LAST - WARMUP
    match schedule:
        case "inverse_sqrt":
            return LambdaLR(optimizer, lambda done: (WARMUP / (WARMUP + done)) ** 0.5)
        case "linear":
            return LinearLR(optimizer, start_factor=1.0, end_factor=FLOOR / PEAK, total_iters=steps)
        case "cosine":
            return CosineAnnealingLR(optimizer, T_max=steps, eta_min=FLOOR)
        case "constant":
            return LambdaLR(optimizer, lambda done: 1.0)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "linear", "cosine", "constant"])
def test_each_schedule_is_torchs(schedule):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    up = LinearLR(optimizer, start_factor=1 / WARMUP, end_factor=1.0, total_iters=WARMUP - 1)
    torchs = SequentialLR(optimizer, [up, after_warmup(optimizer, schedule)], milestones=[WARMUP - 1])
    for step in range(1, LAST + 1):
        assert math.isclose(lr_at(step, config(schedule), 512), optimizer.param_groups[0]["lr"], rel_tol=1e-9), step
        optimizer.step()
        torchs.step()


def test_the_paper_s_is_equation_3():
    cfg = TrainConfig(warmup_steps=4000)
    for step in (1, 10, 3999, 4000, 4001, 100_000):
        assert math.isclose(lr_at(step, cfg, 512), 512**-0.5 * min(step**-0.5, step * 4000**-1.5))
    assert math.isclose(lr_at(4000, cfg, 512), 6.988e-4, rel_tol=1e-4)
    assert math.isclose(lr_at(4000, cfg, 1024), 4.941e-4, rel_tol=1e-4)


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_those_with_an_end_fall_to_it_and_stay(schedule):
    assert lr_at(LAST, config(schedule, floor=0.0), 8) == 0.0
    assert lr_at(LAST, config(schedule), 8) == lr_at(LAST + 50, config(schedule), 8) == FLOOR
    assert math.isclose(lr_at((WARMUP + LAST) // 2, config(schedule), 8), (PEAK + FLOOR) / 2)


def test_no_schedule_falls_below_the_floor():
    assert lr_at(10**6, config("inverse_sqrt"), 8) == FLOOR
    assert lr_at(1, config("inverse_sqrt"), 8) == PEAK / WARMUP < FLOOR * 1.01  # but the way up starts at 0
