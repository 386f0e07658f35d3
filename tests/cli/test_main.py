"""Exit statuses, one-line errors, and what reaches which stream."""

from __future__ import annotations

import logging
import os
import signal

import pytest

from tfmt import __version__
from tfmt.cli import main as main_module
from tfmt.cli.main import run
from tfmt.errors import Interrupted, MissingExtra, TrainingError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "no such command 'trian'"),
        (["train", "--fo"], "no such option"),
        (["train"], "missing argument 'config'"),
        (["translate", "x", "--beam", "0"], "--beam"),
        (["translate", "x", "--n-best", "2"], "add --json"),
        (["translate", "x", "--length-penalty-alpha", "11"], "--length-penalty-alpha"),
        (["translate", "x", "--device", "tpu"], "no such model folder|choose cpu, cuda"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(words, message, capsys):
    assert run(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert any(part in captured.err for part in message.split("|"))


def test_version_and_bare_command(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"tfmt {__version__}\n"
    assert run([]) == 0
    assert "train-tokenizer" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (MissingExtra("reading zstd", "pip install 'tfmt[formats]'"), 2),
        (TrainingError("loss nan"), 1),
        (Interrupted(signal.SIGTERM, "stopped"), 143),
        (Interrupted(signal.SIGINT, "stopped"), 130),
        (PermissionError(13, "Permission denied", "/x"), 2),
        (OSError(28, "No space left on device", "/x"), 1),
        (ZeroDivisionError("division by zero"), 1),
    ],
)
def test_each_error_has_its_status_and_one_line(error, status, monkeypatch, capsys):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(main_module, "app", fail)
    assert run(["train"]) == status
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    run(["train"], show_traceback=True)
    assert "Traceback" in capsys.readouterr().err


def test_a_warning_reaches_the_user_as_one_line(monkeypatch, capsys):
    monkeypatch.setattr(main_module, "app", lambda *args, **kwargs: logging.getLogger("tfmt.x").warning("mind %s", 3))
    run(["train"])
    assert capsys.readouterr().err == "warning: mind 3\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_command_with_its_status(number, status, monkeypatch, capsys):
    monkeypatch.setattr(main_module, "app", lambda *args, **kwargs: os.kill(os.getpid(), number))
    assert run(["train"]) == status
    assert capsys.readouterr().err.count("\n") == 1
