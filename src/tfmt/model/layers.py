"""What a Transformer is stacked from: a block, its residual connections, its feed-forward layer, dropout.

Letters: B sentences · T query length · S key length · R rows decoded · P tokens in a flat strip · D width ·
N heads · H head width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tfmt.config import ModelConfig
from tfmt.model.attention import Attention
from tfmt.model.layout import Layout


@dataclass(frozen=True)
class Source:
    """What a decoder block reads of the source: its keys and values, and how queries belong to sentences."""

    k_BNSH: Tensor
    v_BNSH: Tensor
    mask_B11S: Tensor | None
    queries: Layout  # in decoding the K rows of a sentence are K queries to one source, which is never copied


@dataclass
class Cache:
    """Keys and values of the target tokens a block has read so far; rows all have the same number of them."""

    k_RNTH: Tensor | None = None
    v_RNTH: Tensor | None = None

    def append(self, k_RNTH: Tensor, v_RNTH: Tensor) -> tuple[Tensor, Tensor]:
        if self.k_RNTH is not None and self.v_RNTH is not None:
            k_RNTH = torch.cat((self.k_RNTH, k_RNTH), dim=2)
            v_RNTH = torch.cat((self.v_RNTH, v_RNTH), dim=2)
        self.k_RNTH, self.v_RNTH = k_RNTH, v_RNTH
        return k_RNTH, v_RNTH

    def select(self, rows_R: Tensor) -> Cache:
        if self.k_RNTH is None or self.v_RNTH is None:
            return self
        return Cache(self.k_RNTH.index_select(0, rows_R), self.v_RNTH.index_select(0, rows_R))


class Block(nn.Module):
    """Self-attention, attention to a source if `cross`, feed-forward: each a residual sub-layer."""

    def __init__(self, cfg: ModelConfig, *, cross: bool) -> None:
        super().__init__()
        self.self_attention = Attention(cfg.d_model, cfg.num_heads, cfg.d_k, cfg.d_v)
        self.self_residual = Residual(cfg)
        if cross:
            self.cross_attention = Attention(cfg.d_model, cfg.num_heads, cfg.d_k, cfg.d_v)
            self.cross_residual = Residual(cfg)
        self.feed_forward = FeedForward(cfg.d_model, cfg.d_ff)
        self.feed_forward_residual = Residual(cfg)

    def forward(
        self,
        x_PD: Tensor,
        layout: Layout,
        mask_B1TT: Tensor | None,
        source: Source | None = None,
        cache: Cache | None = None,
        *,
        is_causal: bool = False,
    ) -> Tensor:
        """(P, D) to (P, D). With a cache the tokens are the next of each row, and all before them are attended to."""

        def attend_to_self(h_PD: Tensor) -> Tensor:
            k_BNTH, v_BNTH = self.self_attention.keys_values(h_PD, layout)
            if cache is not None:
                k_BNTH, v_BNTH = cache.append(k_BNTH, v_BNTH)
            return self.self_attention(h_PD, layout, k_BNTH, v_BNTH, mask_B1TT, is_causal=is_causal)  # type: ignore[no-any-return]

        x_PD = self.self_residual(x_PD, attend_to_self)
        if source is not None:
            x_PD = self.cross_residual(
                x_PD,
                lambda h_PD: self.cross_attention(h_PD, source.queries, source.k_BNSH, source.v_BNSH, source.mask_B11S),
            )
        return self.feed_forward_residual(x_PD, self.feed_forward)  # type: ignore[no-any-return]


class Residual(nn.Module):
    """x + Dropout(sublayer(x)), with the layer norm after the sum ("post", as in the paper) or before the sub-layer."""

    def __init__(self, cfg: ModelConfig) -> None:
        super().__init__()
        self.pre_norm = cfg.norm == "pre"
        self.norm = Norm(cfg.d_model, eps=cfg.norm_eps)
        self.dropout = Dropout(cfg.dropout)

    def forward(self, x_PD: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            return x_PD + self.dropout(sublayer(self.norm(x_PD)))  # type: ignore[no-any-return]
        return self.norm(x_PD + self.dropout(sublayer(x_PD)))  # type: ignore[no-any-return]


class Norm(nn.LayerNorm):
    """Layer norm (Ba et al., 2016) with fp32 weights, whatever the format of what it is given."""

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype == self.weight.dtype or x.device.type == "cpu":  # whose kernel takes both formats
            return super().forward(x)
        return super().forward(x.to(self.weight.dtype)).to(x.dtype)


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2 (Vaswani et al., 2017, 3.3)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x_PD: Tensor) -> Tensor:
        return self.outer(F.relu(self.inner(x_PD)))  # type: ignore[no-any-return]


class Dropout(nn.Module):
    """`drop` in training, the identity in evaluation.

    On a CPU it draws from a generator of its own, so that copies of a model can be trained side by side, each with
    draws that only its seed decides.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share
        self.generator = torch.Generator("cpu")

    def forward(self, x: Tensor) -> Tensor:
        return drop(x, self.share, self.generator) if self.training and self.share else x


class WordDropout(Dropout):
    """Drops whole tokens in training: all of a token's vector is zero, and the vectors of the others are scaled up.

    As Sennrich et al. (2016, WMT) and Marian's dropout-src and dropout-trg have it: each place is drawn by itself,
    unlike Gal and Ghahramani (2016), who drop all places of a word. The token's position is added later, and stays.
    """

    def forward(self, x_PD: Tensor) -> Tensor:
        return x_PD * super().forward(x_PD.new_ones(len(x_PD), 1)) if self.training and self.share else x_PD


def drop(x: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Zeroes a share of units and scales up the rest (Srivastava et al., 2014).

    On a CPU one 64-bit draw decides four units, several times faster than a draw a unit; the share is rounded to a
    multiple of 1/65536, and the scale made for that. Elsewhere the device's own generator draws.
    """
    if x.device.type != "cpu":
        return F.dropout(x, share)
    threshold = round(share * 65536)
    draws = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None, generator=generator)
    kept = draws.view(torch.int16)[: x.numel()].view(x.shape) >= threshold - 32768
    return x * kept.to(x.dtype).mul_(65536 / (65536 - threshold))
