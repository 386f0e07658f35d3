"""How a token knows its place.

Letters: P tokens in a flat strip · T length · D width.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from tfmt.model.layout import Layout


class Sinusoidal(nn.Module):
    """Adds sin(pos / 10000^(2i/D)) at even places of the vector and the cosine at odd ones (Vaswani et al., 2017, 3.5).

    There is no longest position: the table grows when a longer sentence comes.
    """

    table_TD: Tensor

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.register_buffer("table_TD", sinusoids(256, d_model), persistent=False)

    def reset(self) -> None:
        """Compute the table anew, where a model was made without its numbers (on the meta device)."""
        self.table_TD = sinusoids(256, self.d_model).to(self.table_TD.device)

    def embed(self, x_PD: Tensor, layout: Layout) -> Tensor:
        _, length = layout.shape
        if length > len(self.table_TD):
            self.table_TD = sinusoids(2 * length, self.d_model).to(self.table_TD)
        return x_PD + self.table_TD[layout.positions(x_PD.device)]

    def embed_at(self, x_RD: Tensor, position: int) -> Tensor:
        """The same for rows that all stand at one position."""
        if position >= len(self.table_TD):
            self.table_TD = sinusoids(2 * position, self.d_model).to(self.table_TD)
        return x_RD + self.table_TD[position]


def sinusoids(length: int, d_model: int) -> Tensor:
    """The table of positions 0 to length - 1, (T, D), in float32 (angles are computed in float64)."""
    position_T1 = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10_000.0) / d_model))
    angle = position_T1 * frequency  # one for each pair of numbers
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()
