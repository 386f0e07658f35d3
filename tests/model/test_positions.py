import math

import torch
from torch.testing import assert_close

from tfmt.model.layout import Layout
from tfmt.model.positions import Sinusoidal, sinusoids


def test_values_are_the_papers():
    table_TD = sinusoids(50, 8)
    for position in (0, 1, 17, 49):
        for i in range(4):
            angle = position / 10_000 ** (2 * i / 8)
            assert math.isclose(table_TD[position, 2 * i], math.sin(angle), abs_tol=1e-6)
            assert math.isclose(table_TD[position, 2 * i + 1], math.cos(angle), abs_tol=1e-6)


def test_a_shift_is_a_linear_function():
    """PE(pos + k) = M(k) PE(pos), with a rotation for each pair of numbers (Vaswani et al., 2017, 3.5)."""
    d_model, shift = 16, 7
    table_TD = sinusoids(60, d_model).double()
    rotation_DD = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        angle = shift / 10_000 ** (2 * i / d_model)
        sin, cos = math.sin(angle), math.cos(angle)
        rotation_DD[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[cos, sin], [-sin, cos]])
    assert_close(table_TD[shift:], table_TD[:-shift] @ rotation_DD.T, atol=1e-6, rtol=0)


def test_there_is_no_longest_position():
    positions = Sinusoidal(8)
    x_PD = torch.zeros(3000, 8)
    assert_close(positions.embed(x_PD, Layout.full(1, 3000)), sinusoids(3000, 8))
    assert_close(positions.embed_at(torch.zeros(2, 8), 9000), sinusoids(9001, 8)[9000].expand(2, 8))
