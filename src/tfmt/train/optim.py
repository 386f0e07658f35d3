"""Optimizers by name, as torch has them; their learning rate is set anew at each update."""

from __future__ import annotations

import torch
from torch import nn

from tfmt.config import TrainConfig
from tfmt.errors import ConfigError


def make_optimizers(model: nn.Module, cfg: TrainConfig) -> list[torch.optim.Optimizer]:
    """Those that together step all parameters that are not frozen: one, or muon for matrices and Adam for the rest.

    All state they keep is tensors, so that checkpoints hold it exactly. Fused kernels where torch has them.
    """
    betas, eps, decay, momentum = cfg.adam_betas, cfg.adam_eps, cfg.weight_decay, cfg.momentum
    groups = _groups(model, decay)
    # where a GPU steps, all state stays there: nothing waits for it, and what is loaded lies as what was saved
    on_gpu = next(model.parameters()).is_cuda
    match cfg.optimizer:
        case "adam":  # Kingma and Ba, 2015
            return [torch.optim.Adam(_trained(model), lr=0.0, betas=betas, eps=eps, fused=True)]
        case "adamw":  # Loshchilov and Hutter, 2019
            return [torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=eps, fused=True)]
        case "radam":  # Liu et al., 2020
            return [
                torch.optim.RAdam(groups, lr=0.0, betas=betas, eps=eps, decoupled_weight_decay=True, capturable=on_gpu)
            ]
        case "nadam":  # Dozat, 2016
            return [
                torch.optim.NAdam(groups, lr=0.0, betas=betas, eps=eps, decoupled_weight_decay=True, capturable=on_gpu)
            ]
        case "adafactor":  # Shazeer and Stern, 2018
            return [torch.optim.Adafactor(groups, lr=0.0)]
        case "sgd":
            return [torch.optim.SGD(groups, lr=0.0, momentum=momentum, fused=True)]
        case "muon":  # Jordan et al., 2024
            if not hasattr(torch.optim, "Muon"):
                raise ConfigError(
                    f'train.optimizer "muon": torch {torch.__version__} has none; update it, or use "adamw"'
                )
            matrices, others = groups
            # steps as long as Adam's (Liu et al., 2025), so that one learning rate serves both
            return [
                torch.optim.Muon(
                    [matrices], lr=0.0, momentum=momentum, weight_decay=decay, adjust_lr_fn="match_rms_adamw"
                ),
                torch.optim.AdamW([others], lr=0.0, betas=betas, eps=eps, fused=True),
            ]


def _groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Matrices of linear layers, which decay, and all the rest: biases, norms, embeddings and what is tied to them."""
    embeddings = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    matrices = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)} - embeddings
    parameters = _trained(model)
    return [
        {"params": [p for p in parameters if id(p) in matrices], "weight_decay": weight_decay},
        {"params": [p for p in parameters if id(p) not in matrices], "weight_decay": 0.0},
    ]


def _trained(model: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
