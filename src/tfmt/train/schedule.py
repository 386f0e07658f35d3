"""The learning rate as a pure function of the step: nothing to save, nothing to lose."""

from __future__ import annotations

import math

from tfmt.config import TrainConfig


def lr_at(step: int, cfg: TrainConfig, d_model: int) -> float:
    """Learning rate of update `step` (from 1): in a line up to the peak over warmup_steps, then by cfg.schedule.

    inverse_sqrt with the peak "paper" is the paper's d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al.,
    2017, eq. 3); cosine is half a period without restarts (Loshchilov and Hutter, 2017, eq. 5).
    """
    peak = (d_model * cfg.warmup_steps) ** -0.5 if cfg.learning_rate == "paper" else cfg.learning_rate
    floor = min(cfg.min_learning_rate, peak)
    if step <= cfg.warmup_steps:
        return peak * step / cfg.warmup_steps
    match cfg.schedule:
        case "inverse_sqrt":
            return max(floor, float(peak * (cfg.warmup_steps / step) ** 0.5))
        case "linear":
            return floor + (peak - floor) * _left(step, cfg)
        case "cosine":
            return floor + (peak - floor) * (1 - math.cos(math.pi * _left(step, cfg))) / 2
        case "constant":
            return peak


def _left(step: int, cfg: TrainConfig) -> float:
    """Share of the way from the end of warm-up to max_steps that is still ahead."""
    return max(cfg.max_steps - step, 0) / max(cfg.max_steps - cfg.warmup_steps, 1)
