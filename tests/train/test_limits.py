"""When training ends and how far it is, as functions of configuration and state."""

from __future__ import annotations

import math

import pytest

from tfmt.checkpoint import TrainState
from tfmt.config import TrainConfig
from tfmt.corpus.batches import Cursor
from tfmt.train.limits import progress, warn_of_rates, why_end


def limits(**changes) -> TrainConfig:
    return TrainConfig.model_validate({"max_steps": 0} | changes)


@pytest.mark.parametrize(
    ("limit", "before", "after", "reason"),
    [
        ({"max_steps": "2ku"}, {"step": 1999}, {"step": 2000}, "max_steps 2,000 reached"),
        ({"max_epochs": 3}, {"cursor": Cursor(2, 9, 10)}, {"cursor": Cursor(3, 0)}, "max_epochs 3 reached"),
        ({"max_epochs": "0.5e"}, {"cursor": Cursor(0, 4, 10)}, {"cursor": Cursor(0, 5, 10)}, "max_epochs 0.5 reached"),
        ({"max_tokens": "1Mt"}, {"tokens_seen": 999_999}, {"tokens_seen": 1_000_050}, "max_tokens 1,000,000 reached"),
        ({"max_minutes": "1.5h"}, {"seconds": 5399.9}, {"seconds": 5400.0}, "max_minutes 90 reached"),
    ],
)
def test_each_limit_ends_training_when_it_is_reached(limit, before, after, reason):
    cfg = limits(**limit)
    assert why_end(cfg, TrainState(**before)) is None
    assert why_end(cfg, TrainState(**after)) == reason
    assert progress(cfg, TrainState(**before)) < 1 == progress(cfg, TrainState(**after))


def test_the_first_limit_reached_ends_and_the_nearest_tells_how_far():
    cfg = limits(max_steps="50ku", max_epochs="30e", max_minutes="90m")
    state = TrainState(step=10_000, cursor=Cursor(15, 1, 2), seconds=600)
    assert why_end(cfg, state) is None
    assert math.isclose(progress(cfg, state), 15.5 / 30)
    assert why_end(cfg, TrainState(step=10_000, seconds=5400)) == "max_minutes 90 reached"


@pytest.mark.parametrize(
    ("changes", "warning"),
    [
        ({"max_steps": 10, "warmup_steps": 11}, "train.max_steps ends training after update 10, before the learning"),
        (
            {"max_epochs": 2, "warmup_steps": 300},
            "train.max_epochs ends training about update 200, before the",
        ),
        ({"max_tokens": 4000, "warmup_steps": 50}, "train.max_tokens ends training about update 40, before"),
        (
            {"max_epochs": 2, "max_steps": 5000, "warmup_steps": 10, "schedule": "linear"},
            "about update 200, before the learning rate has fallen: schedule linear falls until train.max_steps 5,000",
        ),
        ({"max_epochs": 2, "max_steps": 5000, "warmup_steps": 10}, ""),
        ({"max_epochs": 2, "max_steps": 200, "warmup_steps": 10, "schedule": "linear"}, ""),
        ({"max_minutes": 5, "warmup_steps": 4000}, ""),
    ],
)
def test_an_end_before_the_rate_has_had_its_course_is_told(changes, warning, caplog):
    warn_of_rates(limits(batch_tokens=100, **changes), tokens_per_epoch=10_000)
    assert warning in caplog.text
    assert bool(caplog.text) == bool(warning)
