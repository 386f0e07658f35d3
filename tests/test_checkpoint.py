import json
import re

import pytest
import torch
from fakes import small_config

from tfmt import checkpoint
from tfmt.checkpoint import (
    Scored,
    TrainState,
    find_model,
    load_model,
    load_state,
    optimizer_tensors,
    restore_optimizers,
    save_checkpoint,
    save_model,
    verify,
)
from tfmt.config import RunConfig
from tfmt.corpus.batches import Cursor
from tfmt.errors import ModelError
from tfmt.model.transformer import Transformer
from tfmt.train import retention
from tfmt.train.optim import make_optimizers
from tfmt.units import Position


@pytest.fixture
def config() -> RunConfig:
    return RunConfig(model=small_config())


@pytest.fixture
def model(config, tokenizer) -> Transformer:
    torch.manual_seed(1)
    return Transformer(config.model, tokenizer.vocab_size)


def train_a_little(model, optimizers):
    model.seed_dropout(1)
    loss = model.decode(torch.tensor([[1, 5, 6]]), model.encode(torch.tensor([[7, 8, 2]]))).square().sum()
    loss.backward()
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = 1e-3
        optimizer.step()
        optimizer.zero_grad()


def same_weights(one, other) -> bool:
    pairs = zip(one.named_parameters(), other.named_parameters(), strict=True)
    return all(a_name == b_name and a.equal(b) for (a_name, a), (b_name, b) in pairs)


def test_a_saved_model_comes_back_whole(tmp_path, model, config, tokenizer):
    save_model(tmp_path / "m", model, config, tokenizer, step=7)
    loaded = load_model(tmp_path / "m")
    assert same_weights(loaded.model, model)
    assert loaded.config == config
    assert loaded.tokenizer.fingerprint == tokenizer.fingerprint
    assert loaded.model.head.weight is loaded.model.source_embedding.weight
    src, tgt = torch.tensor([[7, 8, 2]]), torch.tensor([[1, 5, 6]])
    assert loaded.model.decode(tgt, loaded.model.encode(src)).equal(model.eval().decode(tgt, model.encode(src)))


def test_training_goes_on_from_a_checkpoint_bit_for_bit(tmp_path, model, config, tokenizer):
    optimizers = make_optimizers(model, config.train)
    train_a_little(model, optimizers)
    state = TrainState(
        step=1,
        cursor=Cursor(3, 4, 7),
        tokens_seen=5,
        seconds=6.5,
        best=12.25,
        best_step=1,
        ranked=(Scored(12.25, 1),),
        validated=Position(1, 0.5),
    )
    save_checkpoint(
        tmp_path / "c", model, config, tokenizer, state=state, optimizer=optimizer_tensors(model, optimizers)
    )
    train_a_little(model, optimizers)

    other = Transformer(config.model, tokenizer.vocab_size)
    other_optimizers = make_optimizers(other, config.train)
    found, optimizer = load_state(tmp_path / "c", other)
    restore_optimizers(other, other_optimizers, optimizer)
    assert found == state
    train_a_little(other, other_optimizers)
    assert same_weights(model, other)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (name, damage)
        for name in ("model.safetensors", "config.toml", "tokenizer.model", "manifest.json")
        for damage in ("cut", "changed", "gone")
        if (name, damage) != ("manifest.json", "changed")  # nothing holds the manifest's own hash
    ],
)
def test_a_damaged_file_is_named(tmp_path, model, config, tokenizer, name, damage):
    save_model(tmp_path / "m", model, config, tokenizer, step=1)
    file = tmp_path / "m" / name
    content = file.read_bytes()
    match damage:
        case "cut":
            file.write_bytes(content[: len(content) // 2])
        case "changed":
            file.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])
        case "gone":
            file.unlink()
    with pytest.raises(ModelError, match=re.escape(name)) as caught:
        load_model(tmp_path / "m")
    assert "\n" not in str(caught.value)


def test_another_tokenizer_is_told_apart(tmp_path, model, config, tokenizer, toy):
    from tfmt.corpus.tokenizer import train_tokenizer

    save_model(tmp_path / "m", model, config, tokenizer, step=1)
    train_tokenizer([toy.source], vocab_size=290, output=tmp_path / "m/tokenizer.model", overwrite=True)
    with pytest.raises(ModelError, match="has 290 pieces, the model 320"):
        load_model(tmp_path / "m")


def test_a_run_means_its_best_checkpoint_else_its_last(tmp_path, model, config, tokenizer):
    for step in (1, 2):
        folder = checkpoint.checkpoint_folder(tmp_path, step)
        save_checkpoint(folder, model, config, tokenizer, state=TrainState(step=step), optimizer={})
        retention.link(tmp_path, "last", folder)
    assert find_model(tmp_path).resolve().name == "step-00000002"
    retention.link(tmp_path, "best", checkpoint.checkpoint_folder(tmp_path, 1))
    assert find_model(tmp_path).resolve().name == "step-00000001"
    with pytest.raises(ModelError, match="no such"):
        find_model(tmp_path / "nowhere")
    (tmp_path / "other").mkdir()
    with pytest.raises(ModelError, match="not a model folder"):
        find_model(tmp_path / "other")


def test_a_newer_format_is_refused(tmp_path, model, config, tokenizer):
    save_model(tmp_path / "m", model, config, tokenizer, step=1)
    manifest = json.loads((tmp_path / "m/manifest.json").read_text())
    (tmp_path / "m/manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(ModelError, match="update tfmt"):
        verify(tmp_path / "m")


def test_a_run_without_links_means_its_newest_checkpoint(tmp_path, model, config, tokenizer):
    for step in (1, 2):
        folder = checkpoint.checkpoint_folder(tmp_path, step)
        save_checkpoint(folder, model, config, tokenizer, state=TrainState(step=step), optimizer={})
    assert find_model(tmp_path).name == "step-00000002"


@pytest.mark.parametrize("text", ["[]", '{"format": 1, "files": []}', '{"format": 1, "files": {}}', "\x00"])
def test_a_manifest_that_says_nothing_is_damaged(tmp_path, model, config, tokenizer, text):
    save_model(tmp_path / "m", model, config, tokenizer, step=1)
    (tmp_path / "m/manifest.json").write_text(text)
    with pytest.raises(ModelError, match=r"manifest\.json: missing or damaged"):
        load_model(tmp_path / "m")
