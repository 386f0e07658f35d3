"""Events of a run: one JSON object a line in log.jsonl, and a view of them for the person who waits.

`{"event": "train", "step": 50, "loss": 5.1, ...}`. The file is the truth; what the console shows is a view of it. A run
killed without warning goes on from its last checkpoint and logs some steps again, after an event "resume".
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column


class View(Protocol):
    """Somebody who is told of each event as it happens."""

    def show(self, event: dict[str, Any]) -> None: ...

    def advance(self, step: int, progress: float) -> None:
        """An update is done, which is no event; `progress` is the share of the training behind it."""
        ...

    def close(self) -> None: ...


class RunLog:
    """Appends events to a file, each line whole, and tells a view."""

    def __init__(self, path: Path, view: View) -> None:
        _end_half_line(path)
        self._file = path.open("a", encoding="utf-8")
        self._view: View | None = view

    def event(self, name: str, **fields: Any) -> None:
        line = {"event": name, "time": round(time.time(), 3), **fields}
        try:
            self._file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._file.name) from error
        self._tell(lambda view: view.show(line))

    def advance(self, step: int, progress: float) -> None:
        self._tell(lambda view: view.advance(step, progress))

    def _tell(self, tell: Callable[[View], None]) -> None:
        """A view that can no longer be shown (a closed pipe, say) is given up; the run goes on."""
        try:
            if self._view is not None:
                tell(self._view)
        except OSError:
            self._view = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tell(lambda view: view.close())
        with contextlib.suppress(OSError):  # a full disk has been told of at the event
            self._file.close()


def _end_half_line(path: Path) -> None:
    """A killed process can leave half a line; the next event starts on a new one."""
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read() != b"\n":
                file.write(b"\n")


def view_for_stderr() -> View:
    """A live bar on a terminal, plain lines elsewhere."""
    return LiveView() if sys.stderr.isatty() else PlainView()


class NoView:
    """Nobody is told."""

    def show(self, event: dict[str, Any]) -> None:
        pass

    def advance(self, step: int, progress: float) -> None:
        pass

    def close(self) -> None:
        pass


class PlainView:
    """A line an event, on stderr."""

    def show(self, event: dict[str, Any]) -> None:
        print(as_line(event), file=sys.stderr, flush=True)

    def advance(self, step: int, progress: float) -> None:
        pass

    def close(self) -> None:
        pass


class LiveView:
    """A bar that moves with every update, with the newest figures; all else scrolls above it."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._is_wide = console.width >= 110
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("step {task.fields[step]:,}", table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None, table_column=Column(ratio=1, min_width=8)),
            TextColumn("{task.fields[figures]}", table_column=Column(no_wrap=True)),
            TimeElapsedColumn(),
            console=console,
            expand=True,
            refresh_per_second=4,
        )
        self._task = self._progress.add_task("train", total=1.0, step=0, figures="")

    def show(self, event: dict[str, Any]) -> None:
        self._progress.start()  # at the first event, since `close` follows for certain only then; again: no effect
        if event["event"] == "train":
            figures = _figures(event) if self._is_wide else _few_figures(event)
            self._progress.update(self._task, completed=event["progress"], step=event["step"], figures=figures)
        else:
            self._progress.console.print(as_line(event), highlight=False, markup=False)

    def advance(self, step: int, progress: float) -> None:
        self._progress.update(self._task, completed=progress, step=step)

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
            return f"step {event['step']:,}  {what}  ppl {event['ppl']:.4g}  BLEU {event['bleu']:.2f}{best}"
        case _:
            return str(event["message"])


def _figures(event: dict[str, Any]) -> str:
    return (
        f"epoch {event['epoch']}  loss {event['loss']:.3f}  ppl {event['ppl']:.4g}  lr {event['lr']:.2e}  "
        f"{event['tokens_per_s']:,.0f} tokens/s  {_duration(event['seconds_left'])} left"
    )


def _few_figures(event: dict[str, Any]) -> str:
    return f"loss {event['loss']:.2f}  {event['tokens_per_s']:,.0f} tok/s  {_duration(event['seconds_left'])} left"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
