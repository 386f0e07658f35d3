"""Weights of pairs in training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from fakes import small_config
from runs import config, equal, losses, run_training, weights

from tfmt.corpus.batches import Corpus, Side, relative_weights
from tfmt.corpus.filters import FilterConfig
from tfmt.corpus.prepare import prepare
from tfmt.corpus.readers import read_text_pairs
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.corpus.weights import with_weights
from tfmt.model.transformer import Transformer
from tfmt.train.loss import batch_loss_sums


def prepare_weighted(toy, folder: Path, numbers) -> Path:
    folder.mkdir()
    (folder / "weights").write_text("".join(f"{number}\n" for number in numbers))
    pairs = with_weights(read_text_pairs(toy.source, toy.target), folder / "weights", toy.source)
    tokenizer = Tokenizer.load(toy.tokenizer)
    prepare(pairs, tokenizer, folder / "prepared", filters=FilterConfig(), inputs=["toy"], weighted=True)
    return folder / "prepared"


def test_equal_weights_change_no_bit(tmp_path, prepared, toy):
    run_training(config(prepared, max_steps=5, validate_every=0), tmp_path / "without")
    for number in (1, 0.3):
        folder = prepare_weighted(toy, tmp_path / str(number), [number] * 200)
        run_training(config(folder, max_steps=5, validate_every=0), tmp_path / f"run{number}")
        assert losses(tmp_path / f"run{number}") == losses(tmp_path / "without")
        assert equal(weights(tmp_path / f"run{number}"), weights(tmp_path / "without"))


def test_a_stop_in_the_middle_changes_nothing(tmp_path, prepared, toy):
    folder = prepare_weighted(toy, tmp_path / "w", [1 + number % 3 for number in range(200)])
    cfg = config(folder, max_steps=8, validate_every=0)
    run_training(cfg, tmp_path / "straight")
    stopped = cfg.model_copy(update={"train": cfg.train.model_copy(update={"max_steps": 3})})
    run_training(stopped, tmp_path / "stopped")
    run_training(cfg, tmp_path / "stopped")
    assert equal(weights(tmp_path / "stopped"), weights(tmp_path / "straight"))
    run_training(config(prepared, max_steps=8, validate_every=0), tmp_path / "without")
    assert not equal(weights(tmp_path / "straight"), weights(tmp_path / "without"))


@pytest.mark.parametrize("r_drop", [0.0, 2.0])
def test_a_weight_counts_a_pair_so_many_times(r_drop):
    """The mean loss a token of a weighted corpus, and its gradients, are those of one that repeats pairs."""
    sources, targets = [[5, 6, 7], [8], [9, 9]], [[9], [10, 11, 12], [6, 5]]
    repeats = np.array([2, 0, 1])
    weighted = Corpus(Side.of(sources), Side.of(targets))
    weighted = replace(weighted, weights=relative_weights(10 * repeats.astype(np.float32), weighted.target.lengths))
    again = [number for number, times in enumerate(repeats) for _ in range(times)]
    repeated = Corpus(Side.of([sources[number] for number in again]), Side.of([targets[number] for number in again]))
    results = []
    for corpus in (weighted, repeated):
        torch.manual_seed(1)
        model = Transformer(small_config(), 30).eval()
        batch = corpus.batch(np.arange(len(corpus)))
        loss = batch_loss_sums(model, batch, 0.1, r_drop)[0] / batch.num_tokens
        loss.backward()
        results.append([loss.detach(), *(parameter.grad for parameter in model.parameters())])
    torch.testing.assert_close(*results, atol=1e-6, rtol=1e-5)
