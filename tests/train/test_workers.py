"""Several threads against one: the same gradients up to rounding, and the same bits whenever they run again."""

from __future__ import annotations

import pytest
import torch
from fakes import small_config
from torch.testing import assert_close

from tfmt.corpus.batches import Corpus, Side, Update, share_of
from tfmt.model.transformer import Transformer
from tfmt.train import workers
from tfmt.train.loss import batch_loss_sums
from tfmt.train.workers import Workers


def make_corpus() -> Corpus:
    generator = torch.Generator().manual_seed(1)
    sides = [
        Side.of([torch.randint(4, 90, (length,), generator=generator).tolist() for length in lengths])
        for lengths in ((3, 9, 4, 12, 7, 2, 30), (5, 2, 11, 6, 8, 1, 25))
    ]
    return Corpus(*sides)


def gradients(
    monkeypatch, *, num: int, precision: str, dropout: float = 0.0, compiled: bool = False
) -> dict[str, torch.Tensor]:
    """Of one update of two micro-batches, done by so many threads."""
    monkeypatch.setattr(workers, "num_workers", lambda device: num)
    torch.manual_seed(1)
    model = Transformer(small_config(dropout=dropout), 90).train()
    corpus = make_corpus()
    update = Update([torch.arange(4).numpy(), torch.arange(4, 7).numpy()], int(corpus.target.lengths.sum()))
    team = Workers(model, precision, compiled=compiled)
    team.seed(3)

    def sums(work, batch):
        smoothed, plain = batch_loss_sums(work, batch, 0.1)
        smoothed.backward()
        return torch.stack((smoothed.detach(), plain))

    shares = [
        [corpus.batch(pairs) for pairs in share_of(update, corpus, number, num) if len(pairs)] for number in range(num)
    ]
    found = {"sums": team.add_gradients(shares, sums)[0]}
    assert all(p.grad is None for work in team.copies for p in work.parameters())
    return found | {name: p.grad for name, p in model.named_parameters()}


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 2e-2)])
def test_threads_share_an_update_and_change_nothing_but_rounding(monkeypatch, precision, tolerance):
    alone = gradients(monkeypatch, num=1, precision=precision)
    for num in (2, 3):
        together = gradients(monkeypatch, num=num, precision=precision)
        for name, gradient in alone.items():
            assert_close(together[name], gradient, rtol=0, atol=tolerance * (gradient.abs().max().item() + 0.1))


def test_dropout_of_two_threads_is_the_same_again_whichever_is_first(monkeypatch):
    one, again = (gradients(monkeypatch, num=2, precision="fp32", dropout=0.3) for _ in range(2))
    assert all(one[name].equal(again[name]) for name in one)


def test_copies_hold_no_memory_but_for_bf16(monkeypatch):
    monkeypatch.setattr(workers, "num_workers", lambda device: 3)
    model = Transformer(small_config(), 90)
    for precision, own in (("fp32", 0), ("bf16", 1)):
        team = Workers(model, precision)
        places = {p.data_ptr() for work in team.copies for p in work.parameters()} - {
            p.data_ptr() for p in model.parameters()
        }
        num_linear = sum(1 for name, _ in model.named_parameters() if "attention" in name or "feed_forward." in name)
        assert len(places) == own * num_linear


def test_a_refresh_carries_the_models_weights_over(monkeypatch):
    model = Transformer(small_config(), 90)
    team = Workers(model, "bf16")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    team.refresh()
    for own, low in zip(model.parameters(), team.copies[-1].parameters(), strict=True):
        assert_close(low, own.to(low.dtype), rtol=0, atol=0)


def test_what_a_thread_raises_comes_out(monkeypatch):
    monkeypatch.setattr(workers, "num_workers", lambda device: 2)

    def fails(work, batch):
        raise ValueError("too odd")

    with pytest.raises(ValueError, match="too odd"):
        Workers(Transformer(small_config(), 90), "fp32").add_gradients([["a"], ["b"]], fails)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # tracing looks at attributes that warn
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 5e-2)])
def test_compiled_blocks_have_the_gradients_of_plain_ones(monkeypatch, precision, tolerance):
    """Traced as on a GPU, but run by the kernels of the CPU: no compiler is needed."""
    plain = gradients(monkeypatch, num=1, precision=precision)
    compile_block = torch.nn.Module.compile
    monkeypatch.setattr(
        torch.nn.Module, "compile", lambda block, **how: compile_block(block, backend="aot_eager", **how)
    )
    compiled = gradients(monkeypatch, num=1, precision=precision, compiled=True)
    for name, gradient in plain.items():
        assert_close(compiled[name], gradient, rtol=0, atol=tolerance * (gradient.abs().max().item() + 0.1))
    assert not torch._dynamo.utils.counters["graph_break"]
