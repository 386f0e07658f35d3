"""The mean of several models' weights, as one model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from tfmt.checkpoint import MODEL_FILES, find_model, load_model, load_tensors, save_model, verify
from tfmt.config_file import differences, load_config
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.errors import ModelError
from tfmt.files import check_output
from tfmt.model.transformer import Transformer


def average_models(paths: Sequence[Path], output: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the mean of models of one shape and one tokenizer as a model folder; the folders that were averaged.

    The configuration, decoding included, is the first one's.
    """
    check_output(output, overwrite=overwrite)
    if len(paths) < 2:
        raise ModelError(f"{paths[0]}: the only model named; a mean needs two or more")
    folders = [find_model(path) for path in paths]
    steps = [int(verify(folder, MODEL_FILES)["step"]) for folder in folders]
    first = load_model(folders[0])
    for path, folder in zip(paths[1:], folders[1:], strict=True):
        if Tokenizer.load(folder / "tokenizer.model").fingerprint != first.tokenizer.fingerprint:
            raise ModelError(f"{path}: has another tokenizer than {paths[0]}; only models of one tokenizer have a mean")
        for key, (one, other) in differences(first.config, load_config(folder / "config.toml")).items():
            if key.startswith("model.") and "dropout" not in key:
                raise ModelError(
                    f"{path}: {key} is {other!r}, {paths[0]} has {one!r}; only models of one shape have a mean"
                )
    average_weights(first.model, folders)
    save_model(output, first.model, first.config, first.tokenizer, step=max(steps), overwrite=overwrite)
    return folders


def average_weights(model: Transformer, folders: Sequence[Path]) -> None:
    """Set `model`'s weights to the mean of those in model folders (computed in float64)."""
    mean: dict[str, Tensor] = {}
    for folder in folders:
        verify(folder, MODEL_FILES)
        for name, weight in load_tensors(folder / "model.safetensors").items():
            share = weight.double() / len(folders)
            mean[name] = mean[name] + share if name in mean else share
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name not in mean or mean[name].shape != parameter.shape:
                raise ModelError(f"{folders[0]}: cannot be averaged: {name} does not fit the model")
            parameter.copy_(mean[name])
