"""Parts of a model that training leaves as they are."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from tfmt.config import RunConfig
from tfmt.errors import ConfigError
from tfmt.model.transformer import Transformer


def freeze(model: Transformer, parts: Sequence[str]) -> None:
    """Let training leave these modules or weights alone, each with all in it; raises ConfigError on a name not there.

    A matrix that serves several parts (tied embeddings) is frozen when one of them is.
    """
    weights = dict(model.named_parameters(remove_duplicate=False))
    for part in parts:
        inside = [weight for name, weight in weights.items() if f"{name}.".startswith(f"{part}.")]
        if not inside:
            raise ConfigError(f"train.freeze: {part}: no such part of this model{_nearest(part, list(weights))}")
        for weight in inside:
            weight.requires_grad_(False)
    if not any(weight.requires_grad for weight in weights.values()):
        raise ConfigError(f"train.freeze: {', '.join(parts)}: all of the model; leave something to train")


def check_parts(cfg: RunConfig, vocab_size: int) -> None:
    """Raise what `freeze` would, before there is a model."""
    freeze(Transformer.without_weights(cfg.model, vocab_size, "meta"), cfg.train.freeze)


def num_frozen(model: Transformer) -> int:
    """Numbers that training leaves alone."""
    return sum(weight.numel() for weight in model.parameters() if not weight.requires_grad)


def _nearest(part: str, weights: Sequence[str]) -> str:
    known = dict.fromkeys(
        ".".join(name.split(".")[:depth]) for name in weights for depth in range(1, name.count(".") + 2)
    )
    near = difflib.get_close_matches(part, known, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; its parts are {', '.join(name for name in known if '.' not in name)}"
