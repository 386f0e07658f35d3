"""A run as lines of text, and which view stderr gets."""

from __future__ import annotations

import sys
from typing import Any

from tfmt.runlog.log import View


def view_for_stderr() -> View:
    """A live view on a terminal, plain lines elsewhere."""
    if not sys.stderr.isatty():
        return PlainView()
    from tfmt.runlog.live import LiveView

    return LiveView()


class PlainView(View):
    """A line an event, on stderr."""

    def show(self, event: dict[str, Any]) -> None:
        print(as_line(event), file=sys.stderr, flush=True)


def as_line(event: dict[str, Any]) -> str:
    """An event as a person reads it."""
    match event["event"]:
        case "train":
            return (
                f"step {event['step']:,}  epoch {event['epoch']}  smoothed loss {event['loss']:.3f}  "
                f"ppl {event['ppl']:.4g}  lr {event['lr']:.2e}  {event['tokens_per_s']:,.0f} tokens/s  "
                f"{duration(event['seconds_left'])} left"
            )
        case "validate":
            what = f"mean of {event['averaged']} checkpoints" if event["averaged"] else "validation"
            best = "  best so far" if event["is_best"] else ""
            return (
                f"step {event['step']:,}  {what}  smoothed loss {event['loss']:.3f}  ppl {event['ppl']:.4g}  "
                f"BLEU {event['bleu']:.2f}  chrF {event['chrf']:.2f}{best}"
            )
        case _:
            return str(event["message"])


def duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
