"""Ctrl-C and SIGTERM as a wish to stop, which the training loop grants between two updates."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tfmt.errors import Interrupted

logger = logging.getLogger(__name__)


class Stop:
    """Which signal has come; 0: none."""

    signal_number = 0


@contextmanager
def signals_as_wish() -> Iterator[Stop]:
    """Turn Ctrl-C and SIGTERM into a wish to stop; a second one stops at once, the last checkpoint untouched."""
    stop = Stop()

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        if stop.signal_number:
            raise Interrupted(number, "stopped at once; the same command goes on from the last checkpoint")
        stop.signal_number = number
        logger.warning("stopping after this update; once more stops at once")

    before = {number: signal.signal(number, ask_to_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
