import torch
from torch.testing import assert_close

from tfmt.model.layout import Layout

MASK_BT = torch.tensor([[True, True, True], [True, False, False], [True, True, False]])


def test_strip_and_rectangle_are_inverse():
    layout = Layout.of(MASK_BT)
    x_PD = torch.randn(6, 4)
    assert_close(layout.strip(layout.rectangle(x_PD)), x_PD)
    assert layout.rectangle(x_PD)[~MASK_BT].eq(0).all()
    assert layout.positions(x_PD.device).tolist() == [0, 1, 2, 0, 0, 1]


def test_without_padding_nothing_is_moved():
    layout = Layout.of(torch.ones(2, 3, dtype=torch.bool))
    assert layout.index_P is None
    assert layout.strip(torch.arange(6).view(2, 3)).tolist() == list(range(6))


def test_gradients_go_back_to_where_values_came_from():
    layout = Layout.of(MASK_BT)
    x_BTD = torch.randn(3, 3, 2, dtype=torch.float64, requires_grad=True)
    x_PD = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layout.strip, x_BTD)
    assert torch.autograd.gradcheck(layout.rectangle, x_PD)
