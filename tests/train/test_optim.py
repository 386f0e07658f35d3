"""Each optimizer: what it decays, and that a stop changes none of its state."""

from __future__ import annotations

import pytest
import torch
from fakes import small_config
from runs import config, equal, run_training, weights
from safetensors.torch import load_file

from tfmt.config import TrainConfig
from tfmt.errors import ConfigError
from tfmt.model.transformer import Transformer
from tfmt.train.optim import make_optimizers

OPTIMIZERS = ["adam", "adamw", "radam", "nadam", "adafactor", "sgd", "muon"]
needs_muon = pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch before 2.9 has no Muon")


def settings(optimizer: str) -> dict[str, object]:
    return {
        "optimizer": optimizer,
        "weight_decay": 0.0 if optimizer == "adam" else 0.01,
        "learning_rate": 0.05 if optimizer in ("sgd", "adafactor") else 3e-3,
    }


@pytest.mark.parametrize("optimizer", [pytest.param(n, marks=needs_muon if n == "muon" else ()) for n in OPTIMIZERS])
def test_a_stop_changes_nothing(tmp_path, prepared, optimizer):
    """The 15 updates of a run are those of one stopped after 7."""
    changes = settings(optimizer) | {"warmup_steps": 3, "save_every": 100, "log_every": 100}
    run_training(config(prepared, max_steps=15, **changes), tmp_path / "straight")
    run_training(config(prepared, max_steps=7, **changes), tmp_path / "halves")
    run_training(config(prepared, max_steps=15, **changes), tmp_path / "halves")
    assert equal(weights(tmp_path / "halves"), weights(tmp_path / "straight"))
    states = [load_file(tmp_path / run / "last/state/optimizer.safetensors") for run in ("straight", "halves")]
    assert equal(*states)
    assert (tmp_path / "halves/last").resolve().name == "step-00000015"


def steps_without_gradient(model: Transformer, cfg: TrainConfig) -> dict[str, torch.Tensor]:
    """What one update at rate 0.1 leaves of weights whose gradients are 0, as a share."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(1.0)
            parameter.grad = torch.zeros_like(parameter)
    for optimizer in make_optimizers(model, cfg):
        for group in optimizer.param_groups:
            group["lr"] = 0.1
        optimizer.step()
    return {name: parameter.detach().mean() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(
    "optimizer", [pytest.param(n, marks=needs_muon if n == "muon" else ()) for n in OPTIMIZERS if n != "adam"]
)
def test_only_matrices_decay(optimizer, tied):
    model = Transformer(small_config(tie_embeddings=tied), 50)
    cfg = TrainConfig(optimizer=optimizer, weight_decay=0.5, learning_rate=1.0)
    left = steps_without_gradient(model, cfg)
    decayed = {name for name, share in left.items() if share != 1.0}
    linear = {f"{name}.weight" for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    assert decayed == linear & left.keys() - ({"head.weight"} if tied else set())
    for name in decayed:
        torch.testing.assert_close(left[name], torch.tensor(1 - 0.1 * 0.5))


def test_without_decay_adamw_is_adam(prepared, tmp_path):
    for optimizer in ("adam", "adamw"):
        run_training(config(prepared, max_steps=5, optimizer=optimizer), tmp_path / optimizer)
    assert equal(weights(tmp_path / "adam"), weights(tmp_path / "adamw"))


@needs_muon
def test_muon_has_the_matrices_and_adam_the_rest():
    model = Transformer(small_config(), 50)
    muon, adam = make_optimizers(model, TrainConfig(optimizer="muon"))
    of_muon, of_adam = ([p for group in part.param_groups for p in group["params"]] for part in (muon, adam))
    assert {id(p) for p in of_muon + of_adam} == {id(p) for p in model.parameters()}
    assert len(of_muon) + len(of_adam) == len(list(model.parameters()))
    assert all(parameter.ndim == 2 for parameter in of_muon)
    assert any(parameter is model.head.weight for parameter in of_adam)


def test_a_torch_without_muon_is_told(monkeypatch):
    monkeypatch.delattr(torch.optim, "Muon", raising=False)
    with pytest.raises(ConfigError, match=r'"muon": torch .* has none; update it, or use "adamw"'):
        make_optimizers(Transformer(small_config(), 50), TrainConfig(optimizer="muon"))
