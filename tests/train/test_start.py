"""Starting from a model: its weights to the bit, whatever of its vocabulary the new one shares."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from runs import config, equal, events, losses, run_training, weights

from tfmt.checkpoint import load_model
from tfmt.config import RunConfig
from tfmt.corpus.filters import FilterConfig
from tfmt.corpus.prepare import prepare
from tfmt.corpus.readers import read_text_pairs
from tfmt.corpus.tokenizer import Tokenizer, train_tokenizer
from tfmt.errors import ConfigError, ModelError
from tfmt.train.start import start_from
from tfmt.train.validate import Validator

STILL = 1e-60  # a learning rate that moves no fp32 weight


@pytest.fixture(scope="module")
def base(tmp_path_factory, prepared) -> Path:
    run = tmp_path_factory.mktemp("base") / "run"
    run_training(config(prepared, max_steps=5, validate_every=0), run)
    return run


@pytest.fixture(scope="module")
def grown(tmp_path_factory, toy) -> Path:
    """The toy corpus prepared with more pieces, some of whose characters the toy's vocabulary has never seen."""
    folder = tmp_path_factory.mktemp("grown")
    (folder / "more").write_text("Ωmega bagcafe deadbeef\n" * 20, encoding="utf-8")
    train_tokenizer([toy.source, toy.target, folder / "more"], vocab_size=360, output=folder / "tokenizer.model")
    pairs = read_text_pairs(toy.source, toy.target)
    tokenizer = Tokenizer.load(folder / "tokenizer.model")
    prepare(pairs, tokenizer, folder / "prepared", filters=FilterConfig(), inputs=["toy"])
    return folder / "prepared"


def test_at_rate_zero_it_validates_exactly_as_the_model(tmp_path, prepared, toy, base):
    cfg = config(prepared, toy, start_from=str(base), learning_rate=STILL, max_steps=2)
    run_training(cfg, tmp_path / "run")
    assert equal(weights(tmp_path / "run"), weights(base))
    model = load_model(base)
    expected = Validator(cfg, model.tokenizer)(model.model)
    logged = events(tmp_path / "run", "validate")[-1]
    assert (logged["loss"], logged["nll"], logged["bleu"]) == (expected.loss, expected.nll, expected.bleu)
    message = events(tmp_path / "run", "start")[0]["message"]
    assert message.startswith(f"starting from {base}, all 320 pieces taken over: ")


def test_it_begins_at_step_0_with_a_new_optimizer_and_goes_on_after_a_stop(tmp_path, prepared, base):
    cfg = config(prepared, start_from=str(base), max_steps=6, validate_every=0)
    run_training(cfg, tmp_path / "straight")
    assert sorted(losses(tmp_path / "straight")) == [1, 2, 3, 4, 5, 6]
    stopped = RunConfig.model_validate(cfg.model_dump() | {"train": cfg.train.model_dump() | {"max_steps": 2}})
    run_training(stopped, tmp_path / "stopped")
    base.rename(base.with_name("moved"))  # to go on needs it no more
    try:
        run_training(cfg, tmp_path / "stopped")
    finally:
        base.with_name("moved").rename(base)
    assert equal(weights(tmp_path / "stopped"), weights(tmp_path / "straight"))


@pytest.mark.parametrize("tie_embeddings", [True, False])
def test_a_grown_vocabulary_keeps_the_rows_it_shares_and_makes_the_others_of_their_parts(
    tmp_path, prepared, grown, tie_embeddings
):
    values = config(prepared, max_steps=1, validate_every=0).model_dump()
    values["model"]["tie_embeddings"] = tie_embeddings
    run_training(RunConfig.model_validate(values), tmp_path / "base")
    old, new = (Tokenizer.load(folder / "tokenizer.model") for folder in (prepared, grown))
    shared = set(old.pieces) & set(new.pieces)
    assert set(new.pieces) - shared
    values["data"]["train"] = [str(grown)]
    values["train"] |= {"start_from": str(tmp_path / "base"), "learning_rate": STILL}
    run_training(RunConfig.model_validate(values), tmp_path / "run")
    before, after = weights(tmp_path / "base"), weights(tmp_path / "run")
    assert before.keys() == after.keys()
    for name in before:
        if not name.startswith(("source_embedding", "target_embedding", "head")):
            assert before[name].equal(after[name])
            continue
        for number, piece in enumerate(new.pieces):
            if piece in shared:
                assert after[name][number].equal(before[name][old.pieces.index(piece)])
            else:
                torch.testing.assert_close(after[name][number], before[name][old.cut(piece)].mean(dim=0))
    message = events(tmp_path / "run", "start")[0]["message"]
    assert (
        f"{len(shared)} of {new.vocab_size} pieces taken over, {new.vocab_size - len(shared)} new ones made" in message
    )


def test_few_shared_pieces_are_warned_of(tmp_path, base, caplog):
    text = tmp_path / "text"
    text.write_text("".join(f"{word} {word}s\n" for word in range(10_000, 13_000)))
    train_tokenizer([text], vocab_size=1000, output=tmp_path / "t.model")
    start_from(base, load_model(base).config.model, Tokenizer.load(tmp_path / "t.model"))
    assert "of the data's 1,000 pieces are pieces of" in caplog.text


@pytest.mark.parametrize(
    ("model", "start", "message"),
    [
        ({"d_ff": 64}, "", r"run: another architecture: model\.d_ff is 32 there and 64 here; set \[model\]"),
        ({"norm": "pre"}, "", r"model\.norm is post there and pre here"),
        ({}, "missing", r"train\.start_from: .*missing: no such model folder"),
    ],
)
def test_what_does_not_fit_is_told_and_nothing_made(tmp_path, prepared, base, model, start, message):
    values = config(prepared, start_from=str(base) + start).model_dump()
    values["model"] |= model
    with pytest.raises((ConfigError, ModelError), match=message):
        run_training(RunConfig.model_validate(values), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_dropout_may_differ(prepared, base, tokenizer):
    cfg = load_model(base).config.model.model_copy(update={"dropout": 0.0, "source_word_dropout": 0.1})
    assert start_from(base, cfg, tokenizer).weights.keys() == weights(base).keys()
