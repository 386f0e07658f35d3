import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from tfmt.train import loss as loss_module
from tfmt.train.loss import loss_sums


def make_inputs(dtype=torch.float32):
    torch.manual_seed(1)
    h_PD = torch.randn(40, 16, dtype=dtype, requires_grad=True)
    weight_VD = torch.randn(70, 16, dtype=dtype, requires_grad=True)
    return h_PD, weight_VD, torch.randint(0, 70, (40,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("chunk_logits", [70, 1000, 10**6])
def test_equals_torch_cross_entropy_with_gradients(smoothing, chunk_logits, monkeypatch):
    monkeypatch.setattr(loss_module, "CHUNK_LOGITS", chunk_logits)
    h_PD, weight_VD, gold_P = make_inputs()
    smoothed, plain = loss_sums(h_PD, weight_VD, gold_P, smoothing)
    expected = F.cross_entropy(h_PD @ weight_VD.T, gold_P, label_smoothing=smoothing, reduction="sum")
    assert_close(smoothed, expected)
    assert_close(plain, F.cross_entropy(h_PD @ weight_VD.T, gold_P, reduction="sum"))
    actual = torch.autograd.grad(smoothed / 40, (h_PD, weight_VD))
    assert_close(actual, torch.autograd.grad(expected / 40, (h_PD, weight_VD)))


def test_huge_logits_stay_finite():
    h_PD, weight_VD, gold_P = make_inputs()
    smoothed, plain = loss_sums(h_PD * 1e4, weight_VD, gold_P, 0.1)
    assert smoothed.isfinite()
    assert plain.isfinite()


def test_bf16_products_stay_near_fp32():
    h_PD, weight_VD, gold_P = make_inputs()
    exact = loss_sums(h_PD, weight_VD, gold_P, 0.1)[0]
    rough = loss_sums(h_PD.bfloat16(), weight_VD, gold_P, 0.1)[0]
    assert_close(rough, exact, rtol=5e-3, atol=0)
    gradients = [torch.autograd.grad(loss, (h_PD, weight_VD), retain_graph=True) for loss in (exact, rough)]
    for one, other in zip(*gradients, strict=True):
        assert_close(other, one, rtol=0, atol=0.02 * one.abs().max().item())


def test_no_gradient_is_made_where_none_is_wanted(monkeypatch):
    h_PD, weight_VD, gold_P = make_inputs()
    products = []
    monkeypatch.setattr(torch, "mm", lambda *args, **kwargs: products.append(args))
    with torch.no_grad():
        loss_sums(h_PD, weight_VD, gold_P, 0.1)
    assert products == []
    loss_sums(h_PD, weight_VD, gold_P, 0.1)
    assert len(products) == 1
