"""Frozen parts: bit for bit as they were, unknown to the optimizer, whatever the number format."""

from __future__ import annotations

import pytest
import torch
from fakes import small_config
from runs import config, equal, events, run_training, weights

from tfmt.config import RunConfig, TrainConfig
from tfmt.corpus.batches import Corpus, Side
from tfmt.errors import ConfigError
from tfmt.model.transformer import Transformer
from tfmt.train.distributed import World
from tfmt.train.freeze import freeze
from tfmt.train.learner import Learner
from tfmt.train.optim import make_optimizers

CORPUS = Corpus(Side.of([[5, 6, 7], [8]]), Side.of([[9], [10, 11]]))


def make_model(**changes) -> Transformer:
    torch.manual_seed(1)
    return Transformer(small_config(**changes), 30)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("optimizer", ["adam", "adamw", "muon"])
def test_what_is_frozen_stays_and_the_rest_moves(precision, optimizer):
    model = make_model()
    freeze(model, ["source_embedding", "encoder.1", "decoder.0.feed_forward.inner.weight"])
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    cfg = TrainConfig(optimizer=optimizer, learning_rate=0.01, weight_decay=0.1 if optimizer != "adam" else 0.0)
    learner = Learner(model, cfg, precision, World(model.device))
    batch = CORPUS.batch(torch.arange(2).numpy())
    for _ in range(3):
        learner.learn([[batch]], batch.num_tokens, lr=0.01, seed=(1,))
    stayed = {name for name, weight in model.named_parameters() if weight.equal(before[name])}
    frozen = {name for name in before if name.startswith(("source_embedding", "encoder.1."))}
    assert stayed == frozen | {"decoder.0.feed_forward.inner.weight"}
    for low, (name, own) in zip(learner.workers.copies[0].parameters(), model.named_parameters(), strict=True):
        assert low.equal(own.to(low.dtype)), name


def test_the_optimizer_does_not_hold_it():
    model = make_model(tie_embeddings=False)
    freeze(model, ["encoder", "head"])
    held = {id(p) for o in make_optimizers(model, TrainConfig()) for g in o.param_groups for p in g["params"]}
    assert held == {
        id(weight) for name, weight in model.named_parameters() if not name.startswith(("encoder.", "head"))
    }


def test_one_of_several_tied_parts_freezes_the_matrix():
    model = make_model()
    freeze(model, ["head"])
    assert not model.source_embedding.weight.requires_grad
    assert model.encoder[0].feed_forward.inner.weight.requires_grad


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (["encoder", "decodr.0"], r"train\.freeze: decodr\.0: no such part of this model; did you mean decoder\.0\?"),
        (["encoder.10"], r"encoder\.10: no such part .* did you mean encoder\.1\?"),
        (["words"], "words: no such part of this model; its parts are source_embedding, encoder, decoder, head"),
        ([""], "no such part"),
        (["encoder", "decoder", "source_embedding"], "all of the model; leave something to train"),
    ],
)
def test_a_name_that_is_not_there_is_told(parts, message):
    with pytest.raises(ConfigError, match=message):
        freeze(make_model(), parts)


def test_a_stop_in_the_middle_changes_nothing(tmp_path, prepared):
    cfg = config(prepared, max_steps=8, validate_every=0, freeze=["encoder", "decoder.0.cross_attention"])
    run_training(cfg, tmp_path / "straight")
    run_training(
        RunConfig.model_validate(cfg.model_dump() | {"train": cfg.train.model_dump() | {"max_steps": 3}}),
        tmp_path / "stopped",
    )
    run_training(cfg, tmp_path / "stopped")
    assert equal(weights(tmp_path / "stopped"), weights(tmp_path / "straight"))
    assert events(tmp_path / "straight", "start")[0]["frozen"] == 2224 + 1088  # a block, and an attention
    torch.manual_seed(cfg.seed)
    initial = dict(Transformer(cfg.model, 320).named_parameters())
    for name, weight in weights(tmp_path / "straight").items():
        assert weight.equal(initial[name]) == name.startswith(("encoder.", "decoder.0.cross_attention")), name
