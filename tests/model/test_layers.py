import torch
from torch.testing import assert_close

from tfmt.model.layers import Dropout, FeedForward, WordDropout


def test_feed_forward_has_the_papers_number_of_parameters():
    assert sum(p.numel() for p in FeedForward(512, 2048).parameters()) == 2_099_712


def test_dropout_drops_its_share_and_keeps_the_mean():
    for share in (0.1, 0.3, 0.5):
        y = Dropout(share)(torch.ones(1001, 999))  # a size that is no multiple of four
        kept = y != 0
        assert abs(1 - kept.double().mean() - share) < 2e-3
        assert abs(y.double().mean() - 1) < 3e-3
        assert y[kept].unique().numel() == 1


def test_dropout_decisions_are_independent():
    """Neighbours, which share a random draw, are dropped together as often as strangers are."""
    dropped = (Dropout(0.3)(torch.ones(4_000_000)) == 0).view(-1, 4).double()
    covariance = torch.cov(dropped.T)
    assert_close(covariance, 0.21 * torch.eye(4, dtype=torch.float64), atol=1.5e-3, rtol=0)


def test_dropout_follows_the_seed_and_differs_between_calls():
    dropout, x = Dropout(0.5), torch.ones(1000)
    dropout.generator.manual_seed(7)
    first, second = dropout(x), dropout(x)
    dropout.generator.manual_seed(7)
    assert_close(dropout(x), first, rtol=0, atol=0)
    assert not second.equal(first)


def test_dropout_is_the_identity_in_evaluation():
    x = torch.randn(10)
    assert Dropout(0.5).eval()(x) is x


def test_word_dropout_drops_whole_tokens_and_keeps_the_mean():
    torch.manual_seed(3)
    x_PD = torch.rand(20_001, 7) + 1
    y_PD = WordDropout(0.2)(x_PD)
    kept_P = (y_PD != 0).any(dim=1)
    assert_close(y_PD[kept_P], x_PD[kept_P] / 0.8, rtol=1e-4, atol=0)
    assert abs(1 - kept_P.double().mean() - 0.2) < 0.01
    assert WordDropout(0.2).eval()(x_PD) is x_PD
    assert WordDropout(0.0)(x_PD) is x_PD
