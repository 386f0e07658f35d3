"""The closed form against what torch counts while a model runs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from fakes import small_config
from torch.utils.flop_counter import FlopCounterMode

from tfmt.corpus.batches import Corpus, Side
from tfmt.model.flops import forward_flops
from tfmt.model.transformer import Transformer
from tfmt.train.loss import batch_loss_sums


@pytest.mark.parametrize("changes", [{}, {"d_k": 6, "d_v": 10, "encoder_layers": 3, "tie_embeddings": False}])
def test_a_forward_pass_without_padding(changes):
    cfg = small_config(**changes)
    model = Transformer(cfg, 50).eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.decode(torch.full((3, 7), 5), model.encode(torch.full((3, 11), 5)))
    assert forward_flops(cfg, 50, np.full(3, 11), np.full(3, 7)) == counter.get_total_flops()


def test_training_takes_three_times_a_forward_pass_up_to_what_the_loss_adds():
    cfg = small_config(dropout=0.0)
    model = Transformer(cfg, 50)
    corpus = Corpus(Side.of([[5] * 31] * 4), Side.of([[5] * 31] * 4))
    with FlopCounterMode(display=False) as counter:
        batch_loss_sums(model, corpus.batch(np.arange(4)), 0.1)[0].backward()
    once = forward_flops(cfg, 50, corpus.source.lengths, corpus.target.lengths)
    assert counter.get_total_flops() == pytest.approx(3 * once, rel=0.01)
