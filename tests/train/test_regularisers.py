"""R-Drop and word dropout in whole trainings: they act, and a stop in the middle changes nothing."""

from __future__ import annotations

import pytest
import torch
from runs import config, equal, events, losses, run_training, weights

from tfmt.config import RunConfig
from tfmt.corpus.batches import Corpus, Side
from tfmt.model.transformer import Transformer
from tfmt.special_ids import PAD
from tfmt.train.loss import batch_loss_sums


def changed(cfg: RunConfig, section: str, **changes) -> RunConfig:
    values = cfg.model_dump()
    values[section] |= changes
    return RunConfig.model_validate(values)


@pytest.mark.parametrize(
    ("section", "changes"),
    [
        ("train", {"r_drop": 2.0}),
        ("model", {"source_word_dropout": 0.2}),
        ("model", {"target_word_dropout": 0.2, "dropout": 0.0}),
    ],
)
def test_it_acts_and_goes_on_after_a_stop_bit_for_bit(tmp_path, prepared, section, changes):
    cfg = config(prepared, max_steps=12, validate_every=0)
    run_training(cfg, tmp_path / "without")
    cfg = changed(cfg, section, **changes)
    run_training(cfg, tmp_path / "straight")
    assert not equal(weights(tmp_path / "straight"), weights(tmp_path / "without"))
    run_training(changed(cfg, "train", max_steps=5), tmp_path / "stopped")
    run_training(cfg, tmp_path / "stopped")
    assert events(tmp_path / "stopped", "resume")[0]["step"] == 5
    assert losses(tmp_path / "stopped") == losses(tmp_path / "straight")
    assert equal(weights(tmp_path / "stopped"), weights(tmp_path / "straight"))


def test_r_drop_sends_both_passes_through_as_one_batch_of_the_same_size(prepared):
    cfg = config(prepared, r_drop=1.0, micro_batch_tokens=121)
    assert cfg.train.tokens_at_once() == 60
    assert config(prepared, micro_batch_tokens=121).train.tokens_at_once() == 121
    corpus = Corpus(Side.of([[5, 6, 7], [8]]), Side.of([[9], [10, 11]]))
    batch = corpus.batch(torch.arange(2).numpy())
    twice = batch.twice()
    assert twice.src_BS.equal(torch.cat((batch.src_BS, batch.src_BS)))
    assert twice.num_tokens == batch.num_tokens
    for place_P, ids_BT in ((twice.src_place_P, twice.src_BS), (twice.tgt_place_P, twice.tgt_in_BT)):
        assert place_P.equal((ids_BT != PAD).flatten().nonzero().squeeze(1))
    torch.manual_seed(1)
    model = Transformer(cfg.model, 20).eval()  # without dropout the passes are one
    torch.testing.assert_close(batch_loss_sums(model, batch, 0.1, r_drop=5.0), batch_loss_sums(model, batch, 0.1))
    assert batch_loss_sums(model.train(), batch, 0.1, r_drop=1e6)[0] > 100  # with it they differ
