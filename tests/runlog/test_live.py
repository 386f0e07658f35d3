"""What stands on a terminal, at the widths terminals have."""

import io

import pytest
from fakes import TRAIN, VALIDATION
from rich.console import Console

from tfmt.runlog.live import LiveView

START = {"event": "start", "step": 0, "run": "runs/tiny", "message": "starting: [3] pairs"}


@pytest.fixture
def view(monkeypatch):
    view = LiveView()
    view._live.console.file = io.StringIO()
    return view


def screen(view: LiveView, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(view)
    return [line.rstrip() for line in console.file.getvalue().split("\n")]


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_every_figure_that_fits_is_there_and_no_line_is_broken(view, width):
    for event in (START, TRAIN, VALIDATION | {"step": 1000}):
        view.show(event)
    view.advance(1234, 0.51)
    lines = screen(view, width)
    text = "\n".join(lines)
    assert len([line for line in lines if line]) == 6
    assert all(len(line) <= min(width, 120) for line in lines)
    assert "51%" in text
    if width >= 80:
        assert all(part in lines[0] for part in ("runs/tiny", "step 1,234", "epoch 3", "1 h 02 min left"))
        labels = "smoothed loss perplexity tokens/s grad norm rate matrix rate memory"
        assert " ".join(lines[1].split()) == labels
        assert " ".join(lines[2].split()) == "2.500 7.389 8,123 0.5 1.00e-03 31% 1.2 GB"
        assert " ".join(lines[4].split()) == "validation at step smoothed loss perplexity BLEU chrF"
        assert " ".join(lines[5].split()) == "1,000 2.100 3 35.12 60.00 best"


def test_what_went_wrong_is_counted_before_eyes(view):
    view.show(TRAIN | {"skipped": 3, "left_out": 1})
    assert screen(view, 120)[1].split()[3:6] == ["left", "out", "skipped"]


def test_the_last_validations_are_shown_and_the_best_though_it_is_older(view):
    past = [VALIDATION | {"step": step, "is_best": step == 100} for step in (100, 200, 300)]
    view.begin(past)
    for step in (400, 500):
        view.show(VALIDATION | {"step": step, "is_best": False})
    shown = [line.split()[0] for line in screen(view, 80)[-6:] if line[:20].strip()[:1].isdigit()]
    assert shown == ["500", "400", "300", "100"]
    view.show({"event": "rewind", "step": 300, "message": "going back"})
    assert [event["step"] for event in view.validations] == [100, 200, 300]


def test_messages_scroll_above_as_they_are(view):
    view.show(START)
    view.show({"event": "warning", "step": 3, "message": "warning: [bold]loss[/bold] explodes"})
    view.close()
    text = view._live.console.file.getvalue()
    assert "starting: [3] pairs" in text
    assert "warning: [bold]loss[/bold] explodes" in text
