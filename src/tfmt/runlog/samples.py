"""samples.md: a few sentences of the validation text and how the run has translated them, validation by validation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tfmt.files import whole_file
from tfmt.runlog.log import Event, View, without_forgotten

NUM_SHOWN = 12  # validations


class SampleSheet(View):
    """Writes the file anew at each validation."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.events: list[Event] = []

    def begin(self, past: Sequence[Event]) -> None:
        self.events = [event for event in without_forgotten(past) if event["event"] == "validate"]

    def show(self, event: Event) -> None:
        match event["event"]:
            case "start":
                self.events.clear()
            case "resume" | "rewind":
                self.events = [earlier for earlier in self.events if earlier["step"] <= event["step"]]
            case "validate" if event["samples"]:
                self.events.append(event)
                with whole_file(self.path, overwrite=True) as beside:
                    beside.write_text(sheet(self.events), encoding="utf-8")


def sheet(validations: list[Event]) -> str:
    """The newest validations that show the same sentences as the last one, as Markdown, newest first."""
    last = validations[-1]
    lines = ["# Samples of the validation text", ""]
    lines += [f"{_name(last)}: BLEU {last['bleu']:.2f}, chrF {last['chrf']:.2f}, perplexity {last['ppl']:.4g}", ""]
    for sample in last["samples"]:
        rows = [
            (_name(event), other["translation"])
            for event in validations
            for other in event["samples"]
            if (other["line"], other["source"]) == (sample["line"], sample["source"])
        ][-NUM_SHOWN:]
        lines += [f"## Line {sample['line']}", "", "| | |", "|---|---|"]
        lines += [f"| **source** | {_cell(sample['source'])} |", f"| **reference** | {_cell(sample['reference'])} |"]
        lines += [f"| {name} | {_cell(text)} |" for name, text in reversed(rows)]
        lines.append("")
    return "\n".join(lines)


def _name(event: Event) -> str:
    return f"step {event['step']:,}" + (f", mean of {event['averaged']} checkpoints" if event["averaged"] else "")


def _cell(text: str) -> str:
    """Text that a Markdown table shows as it is."""
    for sign in "\\`*_[<|":
        text = text.replace(sign, f"\\{sign}")
    return "".join(character if character.isprintable() else " " for character in text)
