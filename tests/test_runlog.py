import json

import pytest

from tfmt.runlog import LiveView, PlainView, RunLog, as_line

TRAIN = {
    "event": "train", "step": 1200, "epoch": 3, "loss": 2.5, "ppl": 7.389, "lr": 1e-3, "tokens_per_s": 8123.4,
    "seconds_left": 3725.0, "progress": 0.5,
}  # fmt: skip


def test_events_are_lines_of_json(tmp_path, capsys):
    with RunLog(tmp_path / "log.jsonl", PlainView()) as log:
        log.event("start", step=0, message="starting: 3 pairs")
        log.event("end", step=1, message="finished\u2028")
    first, second = (tmp_path / "log.jsonl").read_text(encoding="utf-8").strip("\n").split("\n")
    assert json.loads(first)["event"] == "start"
    assert json.loads(second)["message"] == "finished\u2028"
    assert capsys.readouterr().err == "starting: 3 pairs\nfinished\u2028\n"


def test_what_is_no_json_is_never_written(tmp_path):
    with RunLog(tmp_path / "log.jsonl", PlainView()) as log, pytest.raises(ValueError, match="JSON"):
        log.event("train", loss=float("nan"))
    assert (tmp_path / "log.jsonl").read_text() == ""


def test_a_person_reads_step_loss_speed_and_time_left():
    assert as_line(TRAIN) == "step 1,200  epoch 3  loss 2.500  ppl 7.389  lr 1.00e-03  8,123 tokens/s  1 h 02 min left"
    validation = {"event": "validate", "step": 9, "ppl": 3.0, "bleu": 35.123, "is_best": True, "averaged": 0}
    assert as_line(validation) == "step 9  validation  ppl 3  BLEU 35.12  best so far"
    assert as_line(validation | {"averaged": 5}) == "step 9  mean of 5 checkpoints  ppl 3  BLEU 35.12  best so far"


def test_the_live_view_shows_every_kind_of_event():
    view = LiveView()
    for event in (TRAIN, {"event": "start", "message": "starting [brackets]"}):
        view.show(event)
    view.close()
