"""When a training ends, how far it is, and what to warn of before it starts: functions of configuration and state."""

from __future__ import annotations

import logging

from tfmt.checkpoint import TrainState
from tfmt.config import TrainConfig

logger = logging.getLogger(__name__)


def why_end(cfg: TrainConfig, state: TrainState) -> str | None:
    """Which limit is reached, in words."""
    if cfg.max_steps and state.step >= cfg.max_steps:
        return f"max_steps {cfg.max_steps:,} reached"
    if cfg.max_epochs and state.cursor.epochs >= cfg.max_epochs:
        return f"max_epochs {cfg.max_epochs:g} reached"
    if cfg.max_tokens and state.tokens_seen >= cfg.max_tokens:
        return f"max_tokens {cfg.max_tokens:,} reached"
    if cfg.max_minutes and state.seconds >= 60 * cfg.max_minutes:
        return f"max_minutes {cfg.max_minutes:g} reached"
    if cfg.patience and state.num_worse >= cfg.patience:
        return f"patience {cfg.patience:,} reached: {cfg.best_by} has not been better since update {state.best_step:,}"
    return None


def progress(cfg: TrainConfig, state: TrainState) -> float:
    """Share of the training done, by the limit that is nearest."""
    shares = [
        done / limit
        for done, limit in (
            (state.step, cfg.max_steps),
            (state.cursor.epochs, cfg.max_epochs),
            (state.tokens_seen, cfg.max_tokens),
            (state.seconds / 60, cfg.max_minutes),
        )
        if limit
    ]
    return min(1.0, max(shares))


def warn_of_rates(cfg: TrainConfig, tokens_per_epoch: int) -> None:
    """Say when training will end before the learning rate has had its course."""
    ends = {"max_steps": float(cfg.max_steps)} if cfg.max_steps else {}
    tokens = {"max_epochs": cfg.max_epochs * tokens_per_epoch, "max_tokens": cfg.max_tokens}
    ends |= {limit: count / min(cfg.batch_tokens, tokens_per_epoch) for limit, count in tokens.items() if count}
    if not ends:
        return
    limit, steps = min(ends.items(), key=lambda item: item[1])
    until = f"train.{limit} ends training " + ("after" if limit == "max_steps" else "about") + f" update {steps:,.0f}"
    if steps < cfg.warmup_steps:
        logger.warning(
            f"{until}, before the learning rate is at its height: train.warmup_steps is {cfg.warmup_steps:,}"
        )
    elif cfg.falls_to_an_end and steps < 0.9 * cfg.max_steps:
        logger.warning(
            f"{until}, before the learning rate has fallen: "
            f"schedule {cfg.schedule} falls until train.max_steps {cfg.max_steps:,}"
        )
