import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from tfmt.train import loss as loss_module
from tfmt.train.loss import loss_sums, r_drop_sums


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


def r_drop_in_plain_torch(h_PD, weight_VD, gold_P, smoothing, alpha, factor_P):
    """Half of the paper's loss: (CE1 + CE2 + alpha / 2 (KL12 + KL21)) / 2, all logits at once, torch's own losses."""
    logits = torch.stack((h_PD @ weight_VD.T).chunk(2))
    entropies = [F.cross_entropy(one, gold_P[:20], label_smoothing=smoothing, reduction="none") for one in logits]
    one, other = logits.log_softmax(dim=-1)
    divergences = [
        F.kl_div(b, a, log_target=True, reduction="none").sum(dim=1) for a, b in ((one, other), (other, one))
    ]
    return (factor_P[:20] * (sum(entropies) + alpha / 2 * sum(divergences)) / 2).sum()


@pytest.mark.parametrize("chunk", [3, 1000])
@pytest.mark.parametrize(("smoothing", "alpha"), [(0.0, 1.0), (0.1, 5.0)])
def test_r_drop_equals_torch_with_gradients(smoothing, alpha, chunk, monkeypatch):
    monkeypatch.setattr(loss_module, "CHUNK_LOGITS", 2 * chunk * 70)
    monkeypatch.setattr(loss_module, "MIN_CHUNK", 1)
    h_PD, weight_VD, gold_P = make_inputs()
    gold_P[20:] = gold_P[:20]
    factor_P = torch.rand(20).repeat(2)
    for factors_P in (None, factor_P):
        smoothed, plain = r_drop_sums(h_PD, weight_VD, gold_P, smoothing, alpha, factors_P)
        expected = r_drop_in_plain_torch(
            h_PD, weight_VD, gold_P, smoothing, alpha, torch.ones(40) if factors_P is None else factors_P
        )
        assert_close(smoothed, expected)
        assert_close(plain, F.cross_entropy(h_PD @ weight_VD.T, gold_P, reduction="sum") / 2)
        actual = torch.autograd.grad(smoothed / 40, (h_PD, weight_VD))
        assert_close(actual, torch.autograd.grad(expected / 40, (h_PD, weight_VD)))


def test_r_drop_of_two_equal_passes_is_the_loss_of_one():
    h_PD, weight_VD, gold_P = make_inputs()
    twice = r_drop_sums(h_PD.repeat(2, 1), weight_VD, gold_P.repeat(2), 0.1, 5.0)
    assert_close(twice, loss_sums(h_PD, weight_VD, gold_P, 0.1))


def test_r_drop_in_bf16_stays_near_fp32():
    h_PD, weight_VD, gold_P = make_inputs()
    gold_P[20:] = gold_P[:20]
    exact = r_drop_sums(h_PD, weight_VD, gold_P, 0.1, 5.0)[0]
    rough = r_drop_sums(h_PD.bfloat16(), weight_VD, gold_P, 0.1, 5.0)[0]
    assert_close(rough, exact, rtol=1e-2, atol=0)
    gradients = [torch.autograd.grad(loss, (h_PD, weight_VD)) for loss in (exact, rough)]
    for one, other in zip(*gradients, strict=True):
        assert_close(other, one, rtol=0, atol=0.02 * one.abs().max().item())


@pytest.mark.parametrize("sums", [loss_sums, lambda *args: r_drop_sums(*args[:4], 5.0, *args[4:])])
def test_logits_never_stand_whole(sums, monkeypatch):
    """With gradients, no tensor is made that has a number for each token and each entry of the vocabulary."""
    monkeypatch.setattr(loss_module, "CHUNK_LOGITS", 1000)
    monkeypatch.setattr(loss_module, "MIN_CHUNK", 2)

    class Sizes(TorchDispatchMode):
        largest = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if isinstance(result, torch.Tensor):
                self.largest = max(self.largest, result.numel())
            return result

    h_PD = torch.randn(1000, 4, requires_grad=True)
    weight_VD = torch.randn(300, 4, requires_grad=True)
    with Sizes() as sizes:
        sums(h_PD, weight_VD, torch.zeros(1000, dtype=torch.int64), 0.1)[0].backward()
    assert sizes.largest <= 4000


def test_a_factor_counts_a_token_so_many_times():
    h_PD, weight_VD, gold_P = make_inputs()
    factor_P = torch.arange(40) % 3
    smoothed, plain = loss_sums(h_PD, weight_VD, gold_P, 0.1, factor_P.float())
    again_P = torch.arange(40).repeat_interleave(factor_P)
    expected = loss_sums(h_PD[again_P], weight_VD, gold_P[again_P], 0.1)[0]
    assert_close(smoothed, expected)
    assert plain.equal(loss_sums(h_PD, weight_VD, gold_P, 0.1)[1])
    actual = torch.autograd.grad(smoothed, (h_PD, weight_VD))
    assert_close(actual, torch.autograd.grad(expected, (h_PD, weight_VD)), atol=1e-5, rtol=1e-4)


def test_factors_of_one_change_no_bit():
    h_PD, weight_VD, gold_P = make_inputs()
    results = []
    for factor_P in (None, torch.ones(40)):
        smoothed, plain = loss_sums(h_PD, weight_VD, gold_P, 0.1, factor_P)
        results.append((smoothed, plain, *torch.autograd.grad(smoothed, (h_PD, weight_VD))))
    assert all(one.equal(other) for one, other in zip(*results, strict=True))


def test_a_frozen_head_gets_no_gradient():
    h_PD, weight_VD, gold_P = make_inputs()
    expected = torch.autograd.grad(loss_sums(h_PD, weight_VD, gold_P, 0.1)[0], h_PD)
    smoothed, _ = loss_sums(h_PD, weight_VD.detach(), gold_P, 0.1)
    assert_close(torch.autograd.grad(smoothed, h_PD), expected, rtol=0, atol=0)
