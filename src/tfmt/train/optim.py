"""The optimizer, and the learning rate as a pure function of the step."""

from __future__ import annotations

import torch
from torch import nn

from tfmt.config import TrainConfig


def lr_at(step: int, cfg: TrainConfig, d_model: int) -> float:
    """Learning rate of update `step` (from 1).

    Linear warm-up to the peak, then peak * sqrt(warmup / step): with the peak "paper" this is the paper's
    d_model^-0.5 * min(step^-0.5, step * warmup^-1.5) (Vaswani et al., 2017, eq. 3). "linear" falls to 0 at max_steps.
    """
    peak = (d_model * cfg.warmup_steps) ** -0.5 if cfg.learning_rate == "paper" else cfg.learning_rate
    if step <= cfg.warmup_steps:
        return peak * step / cfg.warmup_steps
    match cfg.schedule:
        case "inverse_sqrt":
            return float(peak * (cfg.warmup_steps / step) ** 0.5)
        case "linear":
            left = max(cfg.max_steps - step, 0)
            return peak * left / max(cfg.max_steps - cfg.warmup_steps, 1)


def make_optimizer(model: nn.Module, cfg: TrainConfig) -> torch.optim.Optimizer:
    """Adam over all parameters (Kingma and Ba, 2015), in one fused kernel."""
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=cfg.adam_betas, eps=cfg.adam_eps, fused=True)
