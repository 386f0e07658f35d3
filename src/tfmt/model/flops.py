"""How many floating-point operations a model's matrix products need, in closed form.

Counted are the products of linear layers, attention and the head, two operations for each multiplication and its
addition. In attention each query meets all keys of its sentence twice (scores, values). Padding, embedding, norms,
softmax and dropout are not counted. Training needs three times a forward pass: the backward pass has two products for
each one of the forward pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tfmt.config import ModelConfig

Lengths = NDArray[np.int64]


def forward_flops(cfg: ModelConfig, vocab_size: int, source_lengths: Lengths, target_lengths: Lengths) -> float:
    """Of one pass over sentences of these lengths, in tokens with <eos> or <bos>."""
    d, heads = cfg.d_model, cfg.num_heads
    projections = d * heads * (cfg.d_k + cfg.d_v)  # of keys and values; as much for queries and outputs
    feed_forward = 2 * d * cfg.d_ff
    source, target = float(source_lengths.sum()), float(target_lengths.sum())
    attended = heads * (cfg.d_k + cfg.d_v)  # for each query and key
    encoder = source * (2 * projections + feed_forward) + attended * float(source_lengths @ source_lengths)
    decoder = (
        target * (3 * projections + feed_forward)
        + source * projections
        + attended * float(target_lengths @ target_lengths + target_lengths @ source_lengths)
    )
    return 2 * (cfg.encoder_layers * encoder + cfg.decoder_layers * decoder + target * d * vocab_size)
