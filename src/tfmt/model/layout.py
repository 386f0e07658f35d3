"""Where tokens lie: a padded rectangle of B sentences, or a flat strip of their P tokens without the padding.

Position-wise work (linear, norm, feed-forward, loss) runs on the strip, so padding costs nothing and can change
nothing; only attention sees the rectangle. A strip may end in rows that hold no token, and are read by nothing.

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
    num_empty: int = 0  # rows at the strip's end that hold no token

    @classmethod
    def of(cls, mask_BT: Tensor, index_P: Tensor | None = None, *, multiple: int = 1) -> Layout:
        """The layout of a rectangle with tokens where the mask is True, in a strip of a multiple of so many rows.

        Finding the tokens' places, where they are not given, waits for the device that the mask is on.
        """
        batch, length = mask_BT.shape
        if index_P is None:
            index_P = mask_BT.flatten().nonzero().squeeze(1)
        num_empty = -len(index_P) % multiple
        if len(index_P) == batch * length and not num_empty:
            return cls.full(batch, length)
        return cls((batch, length), index_P, mask_BT, num_empty)

    @classmethod
    def full(cls, batch: int, length: int) -> Layout:
        """A rectangle without padding."""
        return cls((batch, length), None, None)

    @property
    def num_tokens(self) -> int:
        batch, length = self.shape
        return batch * length if self.index_P is None else len(self.index_P)

    def strip(self, x_BTD: Tensor) -> Tensor:
        """(B, T, ...) to (P, ...), zero in empty rows."""
        flat = x_BTD.flatten(0, 1)
        if self.index_P is None:
            return flat
        return _Gather.apply(flat, self.index_P, self.num_empty)  # type: ignore[no-any-return, no-untyped-call]

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
    def forward(ctx: Any, x: Tensor, index: Tensor, num_empty: int) -> Tensor:
        ctx.save_for_backward(index)
        ctx.num_rows = len(x)
        return _gather(x, index, num_empty)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (index,) = ctx.saved_tensors
        grad_x = grad.new_zeros(ctx.num_rows, *grad.shape[1:]).index_copy_(0, index, grad[: len(index)])
        return grad_x, None, None


class _Scatter(torch.autograd.Function):
    """Rows to their places among zeros: the inverse of `_Gather`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, num_rows: int) -> Tensor:
        ctx.save_for_backward(index)
        ctx.num_empty = len(x) - len(index)
        return x.new_zeros(num_rows, *x.shape[1:]).index_copy_(0, index, x[: len(index)])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (index,) = ctx.saved_tensors
        return _gather(grad, index, ctx.num_empty), None, None


def _gather(x: Tensor, index: Tensor, num_empty: int) -> Tensor:
    strip = x.new_empty(len(index) + num_empty, *x.shape[1:])
    torch.index_select(x, 0, index, out=strip[: len(index)])
    strip[len(index) :] = 0
    return strip
