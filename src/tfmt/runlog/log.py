"""Events of a run: one JSON object a line in log.jsonl, told to everybody who watches.

`{"event": "train", "step": 50, "loss": 5.1, ...}`. The file is the truth; all else that shows a run is a view of it. A
run killed without warning goes on from its last checkpoint and logs some steps again, after an event "resume"; one that
goes back in trouble does so after an event "rewind".
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tfmt.errors import DiskFull
from tfmt.runlog.alarms import Alarm, Alarms

Event = dict[str, Any]


class View:
    """Somebody who is told of each event as it happens; this one does not care."""

    def begin(self, past: Sequence[Event]) -> None:
        """What the log holds already, before anything is shown."""

    def show(self, event: Event) -> None:
        pass

    def advance(self, step: int, progress: float) -> None:
        """An update is done, which is no event; `progress` is the share of the training behind it."""

    def close(self) -> None:
        pass


class RunLog:
    """Appends events to a file, each line whole; tells views, and warns of what alarms see."""

    def __init__(self, path: Path, views: Sequence[View] = (), alarms: Alarms | None = None) -> None:
        _end_half_line(path)
        past = read_events(path)
        self._file = path.open("a", encoding="utf-8")
        self._views = list(views)
        self._alarms = alarms
        for event in past:
            self._new_alarms(event)
        for view in list(self._views):
            with self._given_up_if_broken(view):
                view.begin(past)

    def event(self, name: str, **fields: Any) -> None:
        line = {"event": name, "time": round(time.time(), 3), **fields}
        self._write(line)
        for view in list(self._views):
            with self._given_up_if_broken(view):
                view.show(line)
        for alarm in self._new_alarms(line):
            self.event("warning", step=line["step"], kind=alarm.kind, message=f"warning: {alarm.message}")

    def _new_alarms(self, event: Event) -> list[Alarm]:
        return self._alarms.see(event) if self._alarms else []

    def advance(self, step: int, progress: float) -> None:
        for view in list(self._views):
            with self._given_up_if_broken(view):
                view.advance(step, progress)

    def _write(self, line: Event) -> None:
        try:
            self._file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._file.name) from error

    @contextlib.contextmanager
    def _given_up_if_broken(self, view: View) -> Iterator[None]:
        """A view that can no longer be shown (a closed pipe, say) is given up; the run goes on."""
        try:
            yield
        except (OSError, DiskFull):
            self._views.remove(view)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):  # a full disk has been told of at the event
            if error is not None:
                self._write({"event": "stopped", "time": round(time.time(), 3), "reason": str(error) or repr(error)})
        for view in list(self._views):
            with self._given_up_if_broken(view):
                view.close()
        with contextlib.suppress(OSError):
            self._file.close()


def read_events(path: Path) -> list[Event]:
    """What a log holds, but for lines that a kill or a full disk has left half written."""
    if not path.exists():
        return []
    events = []
    for line in path.read_bytes().split(b"\n"):
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict) and "event" in event:
                events.append(event)
    return events


def without_forgotten(events: Iterable[Event]) -> list[Event]:
    """The events that still hold: not those of updates from which training has gone back."""
    kept: list[Event] = []
    for event in events:
        match event["event"]:
            case "start":
                kept.clear()
            case "resume" | "rewind":
                kept = [earlier for earlier in kept if earlier.get("step", 0) <= event["step"]]
        kept.append(event)
    return kept


def _end_half_line(path: Path) -> None:
    """A killed process can leave half a line; the next event starts on a new one."""
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read() != b"\n":
                file.write(b"\n")
