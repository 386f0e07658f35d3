"""The mean of models, and which models have none."""

from __future__ import annotations

import shutil

import pytest
import torch
from fakes import small_config

from tfmt.checkpoint import load_model, save_model
from tfmt.config import RunConfig
from tfmt.corpus.tokenizer import Tokenizer, train_tokenizer
from tfmt.errors import ModelError, OutputExists
from tfmt.model.transformer import Transformer
from tfmt.train.averaging import average_models, average_weights


def saved(folder, tokenizer, *, seed=1, step=1, **changes):
    cfg = RunConfig(model=small_config(**changes))
    torch.manual_seed(seed)
    model = Transformer(cfg.model, tokenizer.vocab_size)
    save_model(folder, model, cfg, tokenizer, step=step)
    return folder


def weights(folder) -> dict[str, torch.Tensor]:
    return {name: parameter.detach() for name, parameter in load_model(folder).model.named_parameters()}


def test_the_average_of_copies_is_the_copy(tmp_path, tokenizer):
    first = saved(tmp_path / "a", tokenizer)
    shutil.copytree(first, tmp_path / "b")
    model = Transformer(small_config(), tokenizer.vocab_size)
    average_weights(model, [first, tmp_path / "b", first])
    for name, parameter in model.named_parameters():
        assert parameter.equal(weights(first)[name])


def test_each_weight_is_the_mean_of_its_weights(tmp_path, tokenizer):
    folders = [saved(tmp_path / str(seed), tokenizer, seed=seed, step=10 * seed) for seed in (1, 2, 3)]
    assert average_models(folders, tmp_path / "mean") == folders
    parts = [weights(folder) for folder in folders]
    for name, weight in weights(tmp_path / "mean").items():
        torch.testing.assert_close(weight, torch.stack([part[name] for part in parts]).double().mean(0).float())


def test_dropout_may_differ(tmp_path, tokenizer):
    folders = [saved(tmp_path / str(share), tokenizer, dropout=share) for share in (0.1, 0.3)]
    average_models(folders, tmp_path / "mean")
    assert load_model(tmp_path / "mean").config.model.dropout == 0.1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_ff": 48}, "b: model.d_ff is 48, .*a has 64; only models of one shape have a mean"),
        ({"norm": "pre"}, "b: model.norm is 'pre', .*a has 'post'; only models of one shape"),
    ],
)
def test_other_shapes_have_no_mean(tmp_path, tokenizer, changes, message):
    folders = [saved(tmp_path / "a", tokenizer), saved(tmp_path / "b", tokenizer, **changes)]
    with pytest.raises(ModelError, match=message):
        average_models(folders, tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_other_tokenizers_have_no_mean(tmp_path, tokenizer, toy):
    train_tokenizer([toy.target], vocab_size=320, output=tmp_path / "other.model")
    folders = [saved(tmp_path / "a", tokenizer), saved(tmp_path / "b", Tokenizer.load(tmp_path / "other.model"))]
    with pytest.raises(
        ModelError, match=r"b: has another tokenizer than .*a; only models of one tokenizer have a mean"
    ):
        average_models(folders, tmp_path / "mean")


def test_a_damaged_model_is_named_and_nothing_written(tmp_path, tokenizer):
    folders = [saved(tmp_path / name, tokenizer) for name in ("a", "b")]
    (folders[1] / "model.safetensors").write_bytes(b"x")
    with pytest.raises(ModelError, match=r"b/model\.safetensors: damaged"):
        average_models(folders, tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_one_model_is_no_mean_and_an_output_is_not_replaced(tmp_path, tokenizer):
    first = saved(tmp_path / "a", tokenizer)
    with pytest.raises(ModelError, match="a: the only model named"):
        average_models([first], tmp_path / "mean")
    with pytest.raises(OutputExists):
        average_models([first, first], first)
    average_models([first, first], tmp_path / "mean")
    average_models([first, first], tmp_path / "mean", overwrite=True)
