"""Events of a run: one JSON object a line in log.jsonl, and a view of them for the person who waits.

`{"event": "train", "step": 50, "loss": 5.1, ...}`. The file is the truth; what the console shows is a view of it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn


class View(Protocol):
    """Somebody who is told of each event as it happens."""

    def show(self, event: dict[str, Any]) -> None: ...

    def close(self) -> None: ...


class RunLog:
    """Appends events to a file, each line whole, and tells a view."""

    def __init__(self, path: Path, view: View) -> None:
        _end_half_line(path)
        self._file = path.open("a", encoding="utf-8")
        self._view = view

    def event(self, name: str, **fields: Any) -> None:
        line = {"event": name, "time": round(time.time(), 3), **fields}
        self._file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()
        self._view.show(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._view.close()
        self._file.close()


def _end_half_line(path: Path) -> None:
    """A killed process can leave half a line; the next event starts on a new one."""
    if path.exists() and path.read_bytes()[-1:] not in (b"", b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")


def view_for_stderr() -> View:
    """A live bar on a terminal, plain lines elsewhere."""
    return LiveView() if sys.stderr.isatty() else PlainView()


class PlainView:
    """A line an event, on stderr."""

    def show(self, event: dict[str, Any]) -> None:
        print(as_line(event), file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class LiveView:
    """A bar with the newest figures; everything that is not a training step scrolls above it."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("step {task.fields[step]:,}"),
            BarColumn(),
            TextColumn("{task.fields[figures]}"),
            console=Console(stderr=True),
            refresh_per_second=4,
        )
        self._task = self._progress.add_task("train", total=1.0, step=0, figures="")

    def show(self, event: dict[str, Any]) -> None:
        self._progress.start()  # at the first event, since `close` follows for certain only then; again: no effect
        if event["event"] == "train":
            self._progress.update(self._task, completed=event["progress"], step=event["step"], figures=_figures(event))
        else:
            self._progress.console.print(as_line(event), highlight=False, markup=False)

    def close(self) -> None:
        self._progress.stop()


def as_line(event: dict[str, Any]) -> str:
    """An event as a person reads it."""
    match event["event"]:
        case "train":
            return f"step {event['step']:,}  {_figures(event)}"
        case "validate":
            what = f"mean of {event['averaged']} checkpoints" if event["averaged"] else "validation"
            best = "  best so far" if event["is_best"] else ""
            return f"step {event['step']:,}  {what}  ppl {event['ppl']:.2f}  BLEU {event['bleu']:.2f}{best}"
        case _:
            return str(event["message"])


def _figures(event: dict[str, Any]) -> str:
    return (
        f"epoch {event['epoch']}  loss {event['loss']:.3f}  ppl {event['ppl']:.2f}  lr {event['lr']:.2e}  "
        f"{event['tokens_per_s']:,.0f} tokens/s  {_duration(event['seconds_left'])} left"
    )


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
