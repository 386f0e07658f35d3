"""Ctrl-C, SIGTERM and SIGHUP as a wish to stop, granted between two updates, or at once where nothing can be lost."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tfmt.errors import Interrupted

logger = logging.getLogger(__name__)


class BreakOff(BaseException):
    """A wish to stop is granted: what was going on is to be saved, or can be done again."""


class Stop:
    """Which signal has come to this process, and which is to be heeded now, by all of a training; 0: none."""

    wish = 0
    signal_number = 0
    _is_breakable = False

    @property
    def signal_name(self) -> str:
        return "Ctrl-C" if self.signal_number == signal.SIGINT else signal.Signals(self.signal_number).name

    @contextmanager
    def breakable(self) -> Iterator[None]:
        """Work that a signal may end at once, with BreakOff, since it can be done again."""
        self._is_breakable = True
        try:
            if self.wish:
                raise BreakOff
            yield
        finally:
            self._is_breakable = False

    def grant(self) -> None:
        """Raise BreakOff if a signal is to be heeded: the state is one to be saved."""
        if self.signal_number:
            raise BreakOff

    def ask(self, number: int, frame: FrameType | None) -> None:
        """The signals' handler. A second Ctrl-C stops at once; supervisors repeat the others."""
        if self.wish:
            if number == signal.SIGINT:
                raise Interrupted(number, "stopped at once; the same command goes on from the last checkpoint")
            return
        self.wish = number
        if self._is_breakable:
            raise BreakOff
        logger.warning("stopping when the state can be saved; Ctrl-C once more stops at once")


@contextmanager
def signals_as_wish() -> Iterator[Stop]:
    """Ctrl-C, SIGTERM and SIGHUP go to the Stop given out; what the caller ignores (nohup) stays ignored."""
    stop = Stop()
    heeded = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = {number: signal.signal(number, stop.ask) for number in heeded}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
