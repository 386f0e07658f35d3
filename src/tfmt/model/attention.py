"""Scaled dot-product attention over several heads (Vaswani et al., 2017, 3.2).

Letters: B sentences · T query length · S key length · P tokens in a flat strip · D width · N heads ·
H head width (d_k for queries and keys, d_v for values). Masks are boolean, True = may attend.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812  (torch's own custom)
from torch import Tensor, nn

from tfmt.model.layout import Layout


class Attention(nn.Module):
    """Multi-head attention. Projecting keys and values is apart from attending, so that a source's are made once."""

    def __init__(self, d_model: int, num_heads: int, d_k: int, d_v: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(d_model, num_heads * d_k)
        self.key = nn.Linear(d_model, num_heads * d_k)
        self.value = nn.Linear(d_model, num_heads * d_v)
        self.output = nn.Linear(num_heads * d_v, d_model)

    def keys_values(self, x_PD: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
        """Keys (B, N, S, d_k) and values (B, N, S, d_v) of the tokens attended to."""
        return self._heads(self.key(x_PD), layout), self._heads(self.value(x_PD), layout)

    def forward(
        self,
        x_PD: Tensor,
        layout: Layout,
        k_BNSH: Tensor,
        v_BNSH: Tensor,
        mask_BNTS: Tensor | None,
        *,
        is_causal: bool = False,
    ) -> Tensor:
        """Each token's mixture of the values, (P, D)."""
        q_BNTH = self._heads(self.query(x_PD), layout)
        mixed_BNTH = attend(q_BNTH, k_BNSH, v_BNSH, mask_BNTS, is_causal=is_causal)
        return self.output(layout.strip(mixed_BNTH.transpose(1, 2).flatten(2)))  # type: ignore[no-any-return]

    def _heads(self, x_PD: Tensor, layout: Layout) -> Tensor:
        x_BTD = layout.rectangle(x_PD)
        return x_BTD.view(*layout.shape, self.num_heads, -1).transpose(1, 2)


def attend(
    q_BNTH: Tensor, k_BNSH: Tensor, v_BNSH: Tensor, mask_BNTS: Tensor | None = None, *, is_causal: bool = False
) -> Tensor:
    """softmax(q k' / sqrt(d_k)) v, (B, N, T, d_v); a query that may attend nowhere gets zeros.

    `is_causal` says that the mask lets each query attend to the keys up to its own place: a GPU's fastest kernel knows
    that, and takes no mask.
    """
    if q_BNTH.is_cuda and is_causal:
        return F.scaled_dot_product_attention(q_BNTH, k_BNSH, v_BNSH, is_causal=True)
    if q_BNTH.is_cuda:
        return F.scaled_dot_product_attention(q_BNTH, k_BNSH, v_BNSH, attn_mask=mask_BNTS)
    weights_BNTS = attention_weights(q_BNTH, k_BNSH, mask_BNTS)
    return torch.matmul(weights_BNTS.to(v_BNSH.dtype), v_BNSH)


def attention_weights(q_BNTH: Tensor, k_BNSH: Tensor, mask_BNTS: Tensor | None = None) -> Tensor:
    """softmax(q k' / sqrt(d_k)): each row sums to 1, or is all 0 where nothing may be attended.

    Plain products: on a CPU the fused kernel is slower on short sentences, backwards above all.
    """
    scores_BNTS = torch.matmul(q_BNTH * (1 / math.sqrt(q_BNTH.shape[-1])), k_BNSH.transpose(2, 3))
    if mask_BNTS is None:
        return scores_BNTS.softmax(dim=-1, dtype=torch.float32)
    lowest = torch.finfo(scores_BNTS.dtype).min  # not -inf, whose softmax over a whole row would be NaN
    weights_BNTS = scores_BNTS.masked_fill_(~mask_BNTS, lowest).softmax(dim=-1, dtype=torch.float32)
    return weights_BNTS * mask_BNTS.any(dim=-1, keepdim=True)
