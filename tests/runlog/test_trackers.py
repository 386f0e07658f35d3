"""What Weights & Biases and Trackio are told, with stand-ins for both."""

import itertools
import sys
import types

import pytest
from fakes import TRAIN, VALIDATION

from tfmt.runlog.log import RunLog, read_events
from tfmt.runlog.trackers import trackers

SETTINGS = {"seed": 1, "train": {"max_steps": 3}}


class Tracker:
    """Stands in for either package, and keeps what it is given."""

    def __init__(self):
        self.inits, self.logged, self.metrics, self.num_finished = [], [], [], 0

    def init(self, **options):
        print("hello from the tracker")
        self.inits.append(options)
        return self

    def define_metric(self, name, step_metric):
        self.metrics.append((name, step_metric))

    def log(self, figures, step=None):
        self.logged.append((figures, step))

    def finish(self):
        self.num_finished += 1


@pytest.fixture(params=["wandb", "trackio"])
def name(request):
    return request.param


@pytest.fixture
def tracker(name, monkeypatch):
    tracker = Tracker()
    module = types.ModuleType(name)
    module.init = lambda **options: tracker.init(**options)
    monkeypatch.setitem(sys.modules, name, module)
    for variable in ("WANDB_PROJECT", "TRACKIO_PROJECT"):
        monkeypatch.delenv(variable, raising=False)
    return tracker


def log_all(folder, name, *events: dict) -> None:
    with RunLog(folder / "log.jsonl", trackers([name], folder, SETTINGS)) as log:
        for event in events:
            log.event(**{"name" if key == "event" else key: value for key, value in event.items()})


def test_figures_go_there_and_nothing_to_stdout(tmp_path, name, tracker, capsys):
    events = ({"event": "start", "step": 0}, TRAIN | {"step": 2}, VALIDATION | {"step": 3})
    log_all(tmp_path, name, *events, VALIDATION | {"step": 3, "averaged": 5}, {"event": "end", "step": 3})
    (options,) = tracker.inits
    assert options["project"] == "tfmt"
    assert options["config"] == SETTINGS
    assert options["resume"] == "allow"
    assert options["name"].startswith(tmp_path.name)
    (training, step), (validation, _) = tracker.logged
    assert (training.get("step"), step) == ((2, None) if name == "wandb" else (None, 2))
    assert training["training/loss"] == TRAIN["loss"]
    assert training["training/ppl"] == TRAIN["ppl"]
    assert validation["validation/bleu"] == VALIDATION["bleu"]
    assert not any("samples" in key for key in validation)
    assert tracker.metrics == ([("*", "step")] if name == "wandb" else [])
    assert tracker.num_finished == 1
    assert capsys.readouterr().out == ""


def test_a_run_that_goes_on_is_the_same_run_there_and_one_begun_anew_is_another(tmp_path, name, tracker, monkeypatch):
    monkeypatch.setattr("time.time", itertools.count(1.0).__next__)
    for folder in ("one", "one", "two"):
        (tmp_path / folder).mkdir(exist_ok=True)
        log_all(tmp_path / folder, name, TRAIN)
    one, again, two = (options["id" if name == "wandb" else "name"] for options in tracker.inits)
    assert one == again != two
    (tmp_path / "one/log.jsonl").unlink()
    log_all(tmp_path / "one", name, TRAIN | {"step": 7})
    assert tracker.inits[-1]["id" if name == "wandb" else "name"] != one


def test_one_that_is_not_installed_is_named_and_training_goes_on(tmp_path, name, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, name, None)
    log_all(tmp_path, name, TRAIN)
    assert f"train.report_to: {name} is not installed, and not told; run: pip install 'tfmt[{name}]'" in caplog.text
    assert len(read_events(tmp_path / "log.jsonl")) == 1


def test_one_that_fails_is_given_up_with_a_word(tmp_path, name, tracker, caplog):
    def fails(**options):
        raise ConnectionError("no\nnetwork")

    tracker.init = fails
    log_all(tmp_path, name, TRAIN, TRAIN)
    assert [record.getMessage() for record in caplog.records] == [f"{name} is told nothing more: no network"]
    assert len(read_events(tmp_path / "log.jsonl")) == 2
