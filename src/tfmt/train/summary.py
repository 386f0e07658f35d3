"""What a run says of itself when it has ended: finished.json, and a line that says why."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tfmt.errors import DataError
from tfmt.files import read_json, whole_file

NAMES = {"bleu": "BLEU", "chrf": "chrF", "ppl": "perplexity", "loss": "loss"}  # of best_by's choices


@dataclass(frozen=True)
class Summary:
    reason: str  # why training ended
    step: int
    tokens_seen: int
    minutes: float
    best_by: str
    best_score: float | None
    best: str | None  # the checkpoint that the link `best` points at
    averaged: list[str]  # the checkpoints whose mean was tried

    @classmethod
    def read(cls, run: Path) -> Summary | None:
        """What the run said; None before its end, and when that is damaged: the end is then made again."""
        try:
            found = read_json(run / "finished.json")
            return cls(**{field.name: found[field.name] for field in fields(cls)})
        except (DataError, KeyError):
            return None

    def write(self, run: Path) -> None:
        with whole_file(run / "finished.json", overwrite=True) as beside:
            beside.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def message(self, run: Path) -> str:
        best = "" if self.best_score is None else f"; best validation {NAMES[self.best_by]} {self.best_score:.2f}"
        return (
            f"finished: {self.reason}, {self.step:,} updates in {self.minutes:.1f} minutes{best}; "
            f"the model is {run / ('best' if self.best else 'last')}"
        )
