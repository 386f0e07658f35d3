"""Exit statuses, one-line errors, and what reaches which stream."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys

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


@pytest.mark.slow
def test_names_of_files_are_utf8_whatever_the_locale(tmp_path):
    (tmp_path / "源.zh").write_text("我\n", encoding="utf-8")
    environment = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "tfmt", "translate", "无", "--input", "源.zh"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.decode() == "error: 无: no such model folder\n"


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_is_no_crash(closed, tmp_path):
    words = f"{sys.executable} -m tfmt translate nowhere {closed}"
    done = subprocess.run(["sh", "-c", words], cwd=tmp_path, capture_output=True, check=False, text=True)
    assert done.returncode == 2
    assert "fault of tfmt" not in done.stderr


def test_a_signal_during_an_import_is_still_a_signal(monkeypatch, capsys):
    def import_broken_off(*args, **kwargs):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except BaseException as error:
            raise RuntimeError("Error calling __set_name__") from error

    monkeypatch.setattr(main_module, "app", import_broken_off)
    assert run(["train"]) == 143
    assert capsys.readouterr().err == "error: stopped by SIGTERM\n"
