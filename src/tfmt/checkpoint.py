"""A model on disk, and what continuing its training needs.

A model folder is complete in itself:

    model.safetensors  config.toml  tokenizer.model  manifest.json
    state/optimizer.safetensors  state/train.json    (only in a run's checkpoints)
    state/weights.safetensors    (the weights that train, where the model is a moving average of them)

`manifest.json` holds the SHA-256 of every other file, checked on loading. Opening a folder runs no code of its files.
A run folder holds such folders under `checkpoints/` and two links, `best` and `last`.
"""

from __future__ import annotations

import errno
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from tfmt import __version__
from tfmt.config import RunConfig
from tfmt.config_file import load_config, save_config
from tfmt.corpus.batches import Cursor
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.errors import ConfigError, ModelError
from tfmt.files import check_room, read_json, sha256, whole_folder
from tfmt.model.transformer import Transformer, num_parameters
from tfmt.units import START, Position

FORMAT = 1  # of the folder; raised when an older tfmt could misread it
SMALL_FILES = 4 << 20  # bytes, at most: tokenizer, configuration, manifest, headers
MODEL_FILES = ("model.safetensors", "config.toml", "tokenizer.model")


@dataclass(frozen=True)
class LoadedModel:
    model: Transformer
    tokenizer: Tokenizer
    config: RunConfig


@dataclass(frozen=True)
class Scored:
    """A validation by train.best_by: higher is better."""

    score: float
    step: int


@dataclass(frozen=True)
class TrainState:
    """Where a training stands between two updates, weights and optimizer aside; what dropout draws follows from it."""

    step: int = 0
    cursor: Cursor = field(default_factory=lambda: Cursor(epoch=0, update=0))
    tokens_seen: int = 0  # target tokens
    seconds: float = 0.0  # of training
    best: float | None = None  # validation score by train.best_by, higher is better
    best_step: int = 0
    ranked: tuple[Scored, ...] = ()  # the best checkpoints by that score, best first
    num_worse: int = 0  # validations since
    validated: Position = START  # of the newest validation
    saved: Position = START  # of the newest checkpoint
    num_skipped: int = 0  # updates whose loss or gradient was not finite
    num_skipped_in_row: int = 0  # those since the last update that was made
    num_left_out: int = 0  # pairs too large for memory
    num_rewinds: int = 0  # times training went back to a checkpoint for them
    rate_scale: float = 1.0  # of the learning rate; halved each time
    validation: str = ""  # fingerprint of what `best` was measured by
    data: str = ""  # fingerprint of the corpus
    micro_batch_tokens: int = 0  # found at the start, if they are "auto": updates are planned by them
    machine: str = ""  # device, number format and threads: others round sums differently

    @property
    def position(self) -> Position:
        return Position(self.step, self.cursor.epochs, self.tokens_seen, self.seconds / 60)


def save_model(
    folder: Path,
    model: Transformer,
    config: RunConfig,
    tokenizer: Tokenizer,
    *,
    step: int,
    overwrite: bool = False,
) -> None:
    """Write a model folder, whole or not at all."""
    weights = _weights(model)
    check_room(folder, _num_bytes(weights) + SMALL_FILES)
    with whole_folder(folder, overwrite=overwrite) as beside:
        _write_model(beside, weights, config, tokenizer)
        _write_manifest(beside, model, step, regular=False)


def save_checkpoint(
    folder: Path,
    model: Transformer,
    config: RunConfig,
    tokenizer: Tokenizer,
    *,
    state: TrainState,
    optimizer: Mapping[str, Tensor],
    ema: Transformer | None = None,
    regular: bool = True,
) -> None:
    """Write a model folder with all that continuing needs, whole or not at all; see `retention.regular_checkpoints`.

    `model` is the one that trains; where there is a moving average of it, `ema`, that is the model of the folder.
    `optimizer` is what `optimizer_tensors` gives.
    """
    weights = _weights(ema or model)
    beyond = {"optimizer": optimizer}
    if ema is not None:
        beyond["weights"] = _weights(model)
    check_room(folder, sum(map(_num_bytes, [weights, *beyond.values()])) + SMALL_FILES)
    with whole_folder(folder, overwrite=True) as beside:  # only a damaged folder can stand there already
        _write_model(beside, weights, config, tokenizer)
        (beside / "state").mkdir()
        for name, tensors in beyond.items():
            _save_tensors(tensors, beside / f"state/{name}.safetensors")
        (beside / "state/train.json").write_text(json.dumps(asdict(state), indent=1) + "\n", encoding="utf-8")
        _write_manifest(beside, model, state.step, regular=regular)


def load_model(path: Path, *, device: torch.device | str = "cpu") -> LoadedModel:
    """Open a model folder, or a run folder's best checkpoint (else its last); raises ModelError on any damage."""
    folder = find_model(path)
    verify(folder, MODEL_FILES)
    try:
        config = load_config(folder / "config.toml")
    except ConfigError as error:
        raise ModelError(f"{error}; was the folder made by a newer tfmt?") from error
    tokenizer = Tokenizer.load(folder / "tokenizer.model")
    model = Transformer.without_weights(config.model, tokenizer.vocab_size, device)
    load_weights(model, folder / "model.safetensors")
    return LoadedModel(model.eval(), tokenizer, config)


def load_weights(model: Transformer, file: Path) -> None:
    """Copy the weights in a file into `model`; raises ModelError when names or shapes differ."""
    weights = load_tensors(file)
    parameters = dict(model.named_parameters())
    missing, extra = sorted(parameters.keys() - weights.keys()), sorted(weights.keys() - parameters.keys())
    if missing or extra:
        raise ModelError(f"{file}: not the weights its config.toml describes: missing {missing[:3]}, extra {extra[:3]}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != weights[name].shape:
                raise ModelError(
                    f"{file}: {name} has shape {tuple(weights[name].shape)}, expected {tuple(parameter.shape)}"
                )
            parameter.copy_(weights[name])


def load_state(
    folder: Path, model: Transformer, *, ema: Transformer | None = None
) -> tuple[TrainState, dict[str, Tensor]]:
    """Put weights back as they were when `folder` was saved; what else it holds, the optimizers' state last."""
    if ema is None:
        load_weights(model, folder / "model.safetensors")
    else:
        load_weights(ema, folder / "model.safetensors")
        load_weights(model, folder / "state/weights.safetensors")
    optimizer = load_tensors(folder / "state/optimizer.safetensors")
    values = read_json(folder / "state/train.json")
    try:
        nested = {
            "cursor": Cursor(**values["cursor"]),
            "ranked": tuple(Scored(**scored) for scored in values["ranked"]),
            "validated": Position(**values["validated"]),
            "saved": Position(**values["saved"]),
        }
        return TrainState(**(values | nested)), optimizer
    except (KeyError, TypeError) as error:
        raise ModelError(
            f"{folder}/state/train.json: saved by another version of tfmt; go on with that one, "
            "or start anew with --overwrite"
        ) from error


def find_model(path: Path) -> Path:
    """The model folder that a MODEL names: itself, or the best (else the last) checkpoint of a run."""
    if not path.exists():
        raise ModelError(f"{path}: no such model folder")
    for candidate in (path, path / "best", path / "last", *reversed(checkpoints(path))):
        if (candidate / "manifest.json").is_file():
            return candidate
    if (path / "log.jsonl").exists():
        raise ModelError(f"{path}: this run has saved no checkpoint yet; go on with `tfmt train`")
    raise ModelError(f"{path}: not a model folder (it has no manifest.json)")


def verify(folder: Path, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Check files (default: all) against the manifest, and return it; raises ModelError naming the damaged file."""
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        recorded = dict(manifest["files"])
        if manifest["format"] > FORMAT:
            raise ModelError(f"{folder}: format {manifest['format']}, this tfmt reads up to {FORMAT}; update tfmt")
        int(manifest["step"]), int(manifest["vocab_size"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder}/manifest.json: missing or damaged; copy the model folder again") from error
    for name in recorded if names is None else names:
        file = folder / name
        if not file.is_file():
            raise ModelError(f"{file}: missing; copy the model folder again")
        if sha256(file) != recorded.get(name):
            raise ModelError(f"{file}: {_what_is_wrong(file, manifest)}")
    return manifest


def checkpoints(run: Path) -> list[Path]:
    """A run's checkpoint folders, oldest first."""
    return sorted((run / "checkpoints").glob("step-*[0-9]"))


def checkpoint_folder(run: Path, step: int) -> Path:
    return run / "checkpoints" / f"step-{step:08d}"


def _weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def _num_bytes(tensors: Mapping[str, Tensor]) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())


def _write_model(folder: Path, weights: Mapping[str, Tensor], config: RunConfig, tokenizer: Tokenizer) -> None:
    _save_tensors(weights, folder / MODEL_FILES[0])
    save_config(config, folder / "config.toml")
    tokenizer.save(folder / "tokenizer.model")


def _write_manifest(folder: Path, model: Transformer, step: int, *, regular: bool) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    manifest = {
        "format": FORMAT,
        "tfmt": __version__,
        "step": step,
        "regular": regular,
        "vocab_size": model.vocab_size,
        "parameters": num_parameters(model),
        "files": {str(path.relative_to(folder)): sha256(path) for path in files},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _what_is_wrong(file: Path, manifest: Mapping[str, Any]) -> str:
    if file.name == "tokenizer.model":
        pieces = Tokenizer.load(file).vocab_size
        return (
            f"not the tokenizer this model was trained with (it has {pieces} pieces, "
            f"the model {manifest['vocab_size']}); put the model's own tokenizer.model back"
        )
    return "damaged or changed since it was saved (its SHA-256 differs from manifest.json); copy it again"


def _save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        safetensors.torch.save_file(whole, path)
    except safetensors.SafetensorError as error:
        if "os error 28" in str(error):  # its own word for a full disk
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; raises ModelError when it is none."""
    try:
        return safetensors.torch.load_file(path)
    except (safetensors.SafetensorError, OSError) as error:
        raise ModelError(f"{path}: not a whole safetensors file ({error})") from error


def optimizer_tensors(model: nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Tensor]:
    """All of the optimizers' state, by the parameter's name and its own."""
    return {
        f"{name}.{key}": value
        for name, parameter in model.named_parameters()
        for optimizer in optimizers
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def restore_optimizers(
    model: nn.Module, optimizers: Sequence[torch.optim.Optimizer], tensors: Mapping[str, Tensor]
) -> None:
    """Put back what `optimizer_tensors` gave."""
    saved: dict[str, dict[str, Tensor]] = defaultdict(dict)
    for name_and_key, value in tensors.items():
        name, _, key = name_and_key.rpartition(".")
        saved[name][key] = value
    names = {parameter: name for name, parameter in model.named_parameters()}
    for optimizer in optimizers:
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        state = {number: saved[names[p]] for number, p in enumerate(parameters) if names[p] in saved}
        optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
