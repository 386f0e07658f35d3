"""Which pairs are worth learning from, and an account of the others: kept + all dropped = seen."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field

from tfmt.corpus.readers import Pair

REASONS = {
    "empty_source": "the source is empty, or holds only white space",
    "empty_target": "the target is empty, or holds only white space",
    "identical": "source and target are the same text",
    "too_long": "a side has more than max_tokens tokens",
    "length_ratio": "one side has more than max_ratio times the tokens of the other",
}
RATIO_FROM = 20  # tokens of the longer side from which max_ratio counts: "Ja" may well be "Yes, that is right"
_EXAMPLES = 3
_EXAMPLE_CHARACTERS = 200
# white space, controls, and what shows nothing: soft hyphen, zero-width characters, direction marks, byte order mark
_VISIBLE = re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)


class FilterConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    max_tokens: int = Field(256, ge=1, description="tokens a side may have")
    max_ratio: float = Field(
        4.0,
        ge=0,
        description=f"times the other side's tokens a side of {RATIO_FROM} or more may have; 0: any",
    )
    drop_identical: bool = Field(False, description="drop a pair whose sides are the same text")


@dataclass
class FilterReport:
    seen: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[dict[str, str]]] = field(default_factory=dict)  # up to 3 a reason: where, source, target

    def keep(self) -> None:
        self.seen += 1
        self.kept += 1

    def drop(self, reason: str, pair: Pair) -> None:
        self.seen += 1
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < _EXAMPLES:
            examples.append({"where": pair.where, "source": _clip(pair.source), "target": _clip(pair.target)})


def is_blank(text: str) -> bool:
    """Whether nothing in it can be seen, so that there is nothing to learn from or to translate."""
    return not _VISIBLE.search(text)


def reason_by_text(pair: Pair, config: FilterConfig) -> str | None:
    """Why the pair is dropped for what it says, before it is encoded."""
    if is_blank(pair.source):
        return "empty_source"
    if is_blank(pair.target):
        return "empty_target"
    if config.drop_identical and pair.source.strip() == pair.target.strip():
        return "identical"
    return None


def reason_by_length(num_source: int, num_target: int, config: FilterConfig) -> str | None:
    """Why the pair is dropped for its sides' numbers of tokens."""
    longer, shorter = max(num_source, num_target), min(num_source, num_target)
    if longer > config.max_tokens:
        return "too_long"
    if config.max_ratio and longer >= RATIO_FROM and longer > config.max_ratio * shorter:
        return "length_ratio"
    return None


def _clip(text: str) -> str:
    return text if len(text) <= _EXAMPLE_CHARACTERS else text[: _EXAMPLE_CHARACTERS - 1] + "…"
