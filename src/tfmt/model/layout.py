"""Where tokens lie: a padded rectangle of B sentences, or a flat strip of their P tokens without the padding.

Position-wise work (linear, norm, feed-forward, loss) runs on the strip, so padding costs nothing and can change
nothing; only attention sees the rectangle.

Letters: B sentences · T length · P tokens in the strip · D width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Layout:
    """How the tokens of a rectangle lie in a strip; `index_P` is None when there is no padding to leave out."""

    shape: tuple[int, int]  # B, T
    index_P: Tensor | None  # place of each token in the flattened rectangle
    mask_BT: Tensor | None  # boolean, True = a token stands here; None: everywhere

    @classmethod
    def of(cls, mask_BT: Tensor) -> Layout:
        """The layout of a rectangle with tokens where the mask is True."""
        batch, length = mask_BT.shape
        index_P = mask_BT.flatten().nonzero().squeeze(1)
        if len(index_P) == batch * length:
            return cls.full(batch, length)
        return cls((batch, length), index_P, mask_BT)

    @classmethod
    def full(cls, batch: int, length: int) -> Layout:
        """A rectangle without padding."""
        return cls((batch, length), None, None)

    def strip(self, x_BTD: Tensor) -> Tensor:
        """(B, T, ...) to (P, ...)."""
        flat = x_BTD.flatten(0, 1)
        if self.index_P is None:
            return flat
        return _Gather.apply(flat, self.index_P)  # type: ignore[no-any-return, no-untyped-call]

    def rectangle(self, x_PD: Tensor) -> Tensor:
        """(P, ...) to (B, T, ...), zero where there is no token."""
        batch, length = self.shape
        if self.index_P is not None:
            x_PD = _Scatter.apply(x_PD, self.index_P, batch * length)  # type: ignore[no-untyped-call]
        return x_PD.view(batch, length, *x_PD.shape[1:])

    def positions(self, device: torch.device) -> Tensor:
        """Each token's place in its sentence, from 0, (P,)."""
        batch, length = self.shape
        return self.strip(torch.arange(length, device=device).expand(batch, length))


class _Gather(torch.autograd.Function):
    """Rows by index. Written out because no index stands twice, so that its gradient is a copy, not a slow sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.num_rows = len(x)
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        return grad.new_zeros(ctx.num_rows, *grad.shape[1:]).index_copy_(0, index, grad), None


class _Scatter(torch.autograd.Function):
    """Rows to their places among zeros: the inverse of `_Gather`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, num_rows: int) -> Tensor:
        ctx.save_for_backward(index)
        return x.new_zeros(num_rows, *x.shape[1:]).index_copy_(0, index, x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (index,) = ctx.saved_tensors
        return grad.index_select(0, index), None, None
