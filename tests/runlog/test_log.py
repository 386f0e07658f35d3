"""The file that holds a run's events, those who are told of them, and the lines a person reads."""

import json

import pytest
from fakes import TRAIN, VALIDATION

from tfmt.runlog.log import RunLog, View, read_events, without_forgotten
from tfmt.runlog.plain import PlainView, as_line


class Told(View):
    def __init__(self):
        self.past, self.events, self.is_closed = None, [], False

    def begin(self, past):
        self.past = list(past)

    def show(self, event):
        self.events.append(event)

    def close(self):
        self.is_closed = True


class Broken(View):
    """Fails at the first event, and must not be asked again."""

    num_asked = 0

    def show(self, event):
        self.num_asked += 1
        raise BrokenPipeError


def test_events_are_lines_of_json(tmp_path, capsys):
    with RunLog(tmp_path / "log.jsonl", [PlainView()]) as log:
        log.event("start", step=0, message="starting: 3 pairs")
        log.event("end", step=1, message="finished\u2028")
    first, second = (tmp_path / "log.jsonl").read_text(encoding="utf-8").strip("\n").split("\n")
    assert json.loads(first)["event"] == "start"
    assert json.loads(second)["message"] == "finished\u2028"
    assert capsys.readouterr().err == "starting: 3 pairs\nfinished\u2028\n"


def test_what_is_no_json_is_never_written(tmp_path):
    with RunLog(tmp_path / "log.jsonl") as log, pytest.raises(ValueError, match="JSON"):
        log.event("train", loss=float("nan"))
    assert (tmp_path / "log.jsonl").read_text() == ""


def test_all_views_are_told_though_one_breaks(tmp_path):
    broken, told = Broken(), Told()
    with RunLog(tmp_path / "log.jsonl", [broken, told]) as log:
        log.event("start", step=0)
        log.event("end", step=1)
    assert broken.num_asked == 1
    assert [event["event"] for event in told.events] == ["start", "end"]
    assert told.is_closed


def test_a_view_begins_with_what_the_log_holds_but_for_half_lines(tmp_path):
    path = tmp_path / "log.jsonl"
    with RunLog(path) as log:
        log.event("start", step=0)
    path.write_bytes(path.read_bytes() + b'{"event": "tra')
    told = Told()
    with RunLog(path, [told]) as log:
        log.event("resume", step=0)
    assert [event["event"] for event in told.past] == ["start"]
    assert [event["event"] for event in read_events(path)] == ["start", "resume"]


def test_the_log_says_why_training_stopped(tmp_path):
    with pytest.raises(KeyError), RunLog(tmp_path / "log.jsonl"):
        raise KeyError("gone")
    assert read_events(tmp_path / "log.jsonl")[-1] | {"time": 0} == {"event": "stopped", "time": 0, "reason": "'gone'"}


def test_what_training_has_gone_back_from_does_not_hold():
    steps = [("start", 0), ("train", 1), ("train", 2), ("train", 3), ("rewind", 1), ("train", 2), ("resume", 1)]
    kept = without_forgotten({"event": name, "step": step} for name, step in steps)
    assert [(event["event"], event["step"]) for event in kept] == [
        ("start", 0), ("train", 1), ("rewind", 1), ("resume", 1),
    ]  # fmt: skip


def test_a_person_reads_both_losses_speed_and_time_left():
    assert as_line(TRAIN) == (
        "step 1,200  epoch 3  smoothed loss 2.500  ppl 7.389  lr 1.00e-03  8,123 tokens/s  1 h 02 min left"
    )
    assert as_line(VALIDATION) == (
        "step 9  validation  smoothed loss 2.100  ppl 3  BLEU 35.12  chrF 60.00  best so far"
    )
    assert as_line(VALIDATION | {"averaged": 5, "is_best": False}) == (
        "step 9  mean of 5 checkpoints  smoothed loss 2.100  ppl 3  BLEU 35.12  chrF 60.00"
    )
