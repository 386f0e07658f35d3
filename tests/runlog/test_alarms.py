"""Warnings on curves made up to deserve them, and none on those of runs that did well."""

from __future__ import annotations

import math
import random
import re

import pytest

from tfmt.runlog.alarms import Alarms
from tfmt.runlog.log import RunLog, read_events


def train(step: int, nll: float, progress: float = 0.5) -> dict:
    return {"event": "train", "step": step, "nll": nll, "progress": progress}


def validation(step: int, ppl: float, bleu: float, averaged: int = 0) -> dict:
    return {"event": "validate", "step": step, "nll": math.log(ppl), "bleu": bleu, "averaged": averaged}


def noisy(nll, num_lines: int = 400, every: int = 50, noise: float = 0.05, seed: int = 1) -> list[dict]:
    """A line of the log every so many updates, of a loss that is a function of the update."""
    generator = random.Random(seed)
    steps = range(every, (num_lines + 1) * every, every)
    return [train(step, nll(step) + generator.gauss(0, noise)) for step in steps]


def kinds(events: list[dict], warmup_steps: int = 500) -> list[str]:
    alarms = Alarms(warmup_steps)
    return [alarm.kind for event in events for alarm in alarms.see(event)]


def falls(step: int) -> float:
    """As the loss of a Transformer does: fast, then ever slower."""
    return 1.5 + 8 / (1 + step / 400) ** 0.7


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("every", "noise"), [(1, 0.3), (50, 0.05), (500, 0.02)])
def test_a_loss_that_falls_gives_no_alarm(seed, every, noise):
    assert kinds(noisy(falls, every=every, noise=noise, seed=seed, num_lines=600)) == []


def test_a_hundred_thousand_updates_of_slow_progress_give_no_alarm():
    assert kinds(noisy(lambda step: 2 + 3 * (step / 1000) ** -0.5, num_lines=2000, noise=0.02), 4000) == []


def test_a_spike_gives_no_alarm():
    events = noisy(falls)
    events[200]["nll"] += 6
    events[201]["nll"] += 3
    assert kinds(events) == []


def test_a_loss_that_explodes_is_told_once_and_soon():
    events = noisy(lambda step: falls(step) + (4 if step > 10_000 else 0))
    alarms = Alarms(500)
    found = {event["step"]: alarm for event in events for alarm in alarms.see(event)}
    ((step, alarm),) = found.items()
    assert 10_000 < step <= 10_200
    assert alarm.kind == "explodes"
    assert re.search(r"has risen from 2\.\d\d at update 9,\d50 to 6\.\d\d: if it does not", alarm.message)


def test_a_loss_that_creeps_up_is_told_too():
    assert kinds(noisy(lambda step: falls(step) + max(0, step - 8000) / 4000)) == ["plateau", "explodes"]


def test_a_loss_that_stands_still_is_told():
    assert kinds(noisy(lambda step: max(falls(step), 5.0))) == ["plateau"]


def test_a_plateau_within_the_warm_up_or_at_the_end_is_none():
    stuck = [train(step, 6.5, progress=0.1) for step in range(50, 4000, 50)]
    assert kinds(stuck, warmup_steps=4000) == []
    at_the_end = [event | {"progress": 0.95} for event in noisy(lambda step: 5.0)]
    assert kinds(at_the_end) == []


def test_a_rise_of_validation_while_training_falls_is_told():
    training = noisy(falls)
    events = sorted(
        [*training, *(validation(1000 * k, 5 + abs(k - 5) / 2, 30 - abs(k - 5)) for k in range(1, 12))],
        key=lambda event: event["step"],
    )
    alarms = Alarms(500)
    ((step, alarm),) = [(event["step"], alarm) for event in events for alarm in alarms.see(event)]
    assert (step, alarm.kind) == (8000, "overfits")
    assert "has risen from 5.00 at update 5,000 to 6.50" in alarm.message


def test_a_rise_of_perplexity_while_bleu_rises_is_none():
    events = [*noisy(falls)[:100], *(validation(1000 * k, 5 + abs(k - 5) / 2, 20 + k) for k in range(1, 12))]
    assert kinds(sorted(events, key=lambda event: event["step"])) == []


def test_a_rise_of_both_is_no_overfitting():
    events = [*noisy(lambda step: 2 + step / 30_000), *(validation(1000 * k, 5 + k / 2, 30 - k) for k in range(1, 12))]
    assert "overfits" not in kinds(sorted(events, key=lambda event: event["step"]))


def test_what_training_went_back_from_is_forgotten():
    events = noisy(lambda step: falls(step) + (4 if 5000 < step <= 5100 else 0), num_lines=102)
    events += [{"event": "rewind", "step": 5000}, *(train(step, falls(step)) for step in range(5050, 9000, 50))]
    assert kinds(events) == []


def test_a_warning_is_a_line_of_the_log_and_not_told_again_by_a_process_that_goes_on(tmp_path):
    exploded = noisy(lambda step: falls(step) + (4 if step > 10_000 else 0))
    for part in (exploded[:300], exploded[300:]):
        path = tmp_path / "log.jsonl"
        with RunLog(path, alarms=Alarms(500)) as log:
            for event in part:
                log.event(**{"name" if key == "event" else key: value for key, value in event.items()})
    (warning,) = [event for event in read_events(path) if event["event"] == "warning"]
    assert warning["kind"] == "explodes"
    assert warning["message"].startswith("warning: training loss, without smoothing, has risen from")
