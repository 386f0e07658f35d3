"""Attention against worked numbers and torch's own kernel. Letters as in tfmt.model.attention."""

import torch
import torch.nn.functional as F
from torch.testing import assert_close

from tfmt.model.attention import Attention, attend, attention_weights
from tfmt.model.layout import Layout


def test_worked_example_of_four_points():
    x_BNTH = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])[None, None]
    weights_TS = attention_weights(x_BNTH, x_BNTH)[0, 0]
    z_TH = attend(x_BNTH, x_BNTH, x_BNTH)[0, 0]
    assert_close(weights_TS[2], torch.tensor([0.221, 0.221, 0.449, 0.109]), atol=5e-4, rtol=0)
    assert_close(z_TH[2], torch.tensor([0.670, 0.670]), atol=5e-4, rtol=0)
    assert_close(z_TH[3], torch.tensor([0.5, 0.5]))


def test_equals_torchs_scaled_dot_product_attention():
    torch.manual_seed(1)
    q, k, v = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 6)
    mask = torch.rand(2, 1, 5, 7) > 0.4
    mask[..., 0] = True
    assert_close(attend(q, k, v, mask), F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
    assert_close(attend(q, k, v), F.scaled_dot_product_attention(q, k, v))


def test_a_fully_masked_row_gives_zeros_not_nan():
    q = torch.randn(1, 2, 3, 4, requires_grad=True)
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])[None, None]
    mixed = attend(q, q, q, mask)
    assert mixed[0, :, 1].eq(0).all()
    mixed.sum().backward()
    assert q.grad is not None
    assert q.grad.isfinite().all()


def test_weight_count_does_not_depend_on_the_number_of_heads():
    for num_heads in (1, 2, 8, 32):
        attention = Attention(512, num_heads, 512 // num_heads, 512 // num_heads)
        weights = sum(p.numel() for name, p in attention.named_parameters() if name.endswith("weight"))
        assert weights == 4 * 512**2 == 1_048_576


def test_key_and_value_widths_are_free():
    attention = Attention(12, num_heads=3, d_k=5, d_v=7)
    x_PD, layout = torch.randn(8, 12), Layout.full(2, 4)
    k_BNSH, v_BNSH = attention.keys_values(x_PD, layout)
    assert k_BNSH.shape == (2, 3, 4, 5)
    assert v_BNSH.shape == (2, 3, 4, 7)
    assert attention(x_PD, layout, k_BNSH, v_BNSH, None).shape == (8, 12)
