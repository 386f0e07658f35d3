"""The configurations that travel with tfmt load, and the paper's are the paper's."""

import math
from pathlib import Path

import pytest

from tfmt.config_file import load_config
from tfmt.train.schedule import lr_at

CONFIGS = Path(__file__).parents[1] / "configs"


@pytest.mark.parametrize("name", ["demo", "tiny", "multi30k", "paper-base", "paper-big"])
def test_each_loads_and_is_commented(name):
    load_config(CONFIGS / f"{name}.toml")
    text = (CONFIGS / f"{name}.toml").read_text(encoding="utf-8")
    assert text.startswith("#")
    assert text.count("#") > 10


@pytest.mark.parametrize(
    ("name", "sizes", "dropout", "peak", "steps", "average"),
    [
        ("paper-base", (6, 6, 512, 8, 64, 64, 2048), 0.1, 6.988e-4, 100_000, 5),
        ("paper-big", (6, 6, 1024, 16, 64, 64, 4096), 0.3, 4.941e-4, 300_000, 20),
    ],
)
def test_the_papers_numbers(name, sizes, dropout, peak, steps, average):
    cfg = load_config(CONFIGS / f"{name}.toml")
    model, train, decode = cfg.model, cfg.train, cfg.decode
    found = (
        model.encoder_layers,
        model.decoder_layers,
        model.d_model,
        model.num_heads,
        model.d_k,
        model.d_v,
        model.d_ff,
    )
    assert found == sizes
    assert (model.dropout, model.norm, model.positions, model.activation) == (dropout, "post", "sinusoidal", "relu")
    assert (train.batch_tokens, train.max_steps, train.warmup_steps) == (25_000, steps, 4000)
    assert (train.adam_betas, train.adam_eps, train.label_smoothing, train.clip_norm) == ((0.9, 0.98), 1e-9, 0.1, 0)
    assert math.isclose(lr_at(4000, train, model.d_model), peak, rel_tol=1e-4)
    assert train.average == average
    assert (decode.beam, decode.length_penalty, decode.length_penalty_alpha) == (4, "gnmt", 0.6)
    assert (decode.max_length_ratio, decode.max_length_offset) == (1.0, 50)


def test_tiny_is_tiny():
    model = load_config(CONFIGS / "tiny.toml").model
    assert (model.encoder_layers, model.decoder_layers, model.d_model, model.num_heads, model.d_ff) == (
        4,
        4,
        128,
        4,
        256,
    )
    assert model.dropout == 0.3
