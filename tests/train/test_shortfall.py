"""Memory that does not hold a batch: the same update in halves, and the giant pair left out and named."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from fakes import small_config
from ranks import train_on
from runs import config, equal, events, losses, run_training, state, weights
from torch.testing import assert_close

from tfmt.config import RunConfig
from tfmt.config_file import save_config
from tfmt.corpus.batches import Corpus, Side, open_prepared
from tfmt.errors import TrainingError, is_out_of_memory
from tfmt.model.transformer import Transformer
from tfmt.train import learner as learner_module
from tfmt.train import workers
from tfmt.train.distributed import World
from tfmt.train.learner import Learner
from tfmt.train.loss import batch_loss_sums


@dataclasses.dataclass(frozen=True)
class small_memory:  # noqa: N801
    """Memory that holds so many target tokens, padding included; it runs out in the midst of the backward pass."""

    num_tokens: int

    def __call__(self, rank: int = 0, words: object = ()) -> None:
        def loss_sums(model, batch, *options):
            smoothed, plain = batch_loss_sums(model, batch, *options)
            if batch.tgt_in_BT.numel() > self.num_tokens:
                smoothed.backward(inputs=list(model.decoder.parameters()))
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
            return smoothed, plain

        learner_module.batch_loss_sums = loss_sums


@pytest.fixture
def memory(monkeypatch):
    monkeypatch.setattr(learner_module, "batch_loss_sums", batch_loss_sums)  # put back at the end
    return small_memory


def longest_target(prepared) -> int:
    return int(open_prepared([prepared], 320).target.lengths.max())


def make_corpus(*target_lengths: int) -> Corpus:
    generator = torch.Generator().manual_seed(1)
    sides = [
        Side.of([torch.randint(4, 90, (length,), generator=generator).tolist() for length in lengths])
        for lengths in ([3, 9, 4, 12, 7, 2, 5][: len(target_lengths)], target_lengths)
    ]
    return Corpus(*sides)


def learn(corpus: Corpus, pairs: list[int], *, num_threads: int = 1, precision: str = "fp32"):
    """One update on these pairs, in one batch for each thread; the learner, what it measured, and its gradients."""
    torch.manual_seed(1)
    learner = Learner(
        Transformer(small_config(dropout=0.0), 90), RunConfig().train, precision, World(torch.device("cpu"))
    )
    gradients = {}

    def look(*_):
        gradients.update((name, parameter.grad.clone()) for name, parameter in learner.model.named_parameters())

    learner.optimizers[0].register_step_pre_hook(look)
    shares = [[corpus.batch(torch.tensor(pairs[number::num_threads]).numpy())] for number in range(num_threads)]
    num_tokens = int(corpus.target.lengths[pairs].sum())
    return learner, learner.learn(shares, num_tokens, 1e-3, (1,)), gradients


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-6), ("bf16", 5e-3)])
def test_a_batch_in_halves_is_the_same_update(monkeypatch, memory, num_threads, precision, tolerance):
    monkeypatch.setattr(workers, "num_workers", lambda device: num_threads)
    corpus, pairs = make_corpus(5, 2, 11, 6, 8, 1, 25), list(range(7))
    _, whole, expected = learn(corpus, pairs, num_threads=num_threads, precision=precision)
    memory(27)()
    learner, halves, found = learn(corpus, pairs, num_threads=num_threads, precision=precision)
    assert halves.shortfall[0] == halves.shortfall[1] == 0
    assert halves.shortfall[2] >= 2
    assert_close(halves.loss, whole.loss, atol=10 * tolerance, rtol=0)
    for name, gradient in expected.items():
        assert_close(found[name], gradient, atol=tolerance, rtol=tolerance)
    assert learner.left_out == []


def test_a_giant_pair_is_left_out_as_if_it_had_not_been_there(memory):
    corpus = make_corpus(5, 2, 11, 6, 8, 1, 250)
    _, without, expected = learn(corpus, list(range(6)))
    memory(100)()
    learner, measured, found = learn(corpus, list(range(7)))
    assert [(pair.pair, pair.source_tokens, pair.target_tokens) for pair in learner.left_out] == [(6, 6, 251)]
    assert measured.shortfall[:2].tolist() == [251, 1]
    assert_close(measured.loss, without.loss, atol=1e-6, rtol=1e-6)
    for name, gradient in expected.items():
        assert_close(found[name], gradient, atol=1e-6, rtol=1e-5)


def test_an_update_of_which_nothing_is_left_is_skipped(memory):
    memory(10)()
    learner, measured, _ = learn(make_corpus(250), [0])
    assert not measured.is_finite
    assert all(weight.isfinite().all() for weight in learner.model.parameters())


def test_a_model_too_large_for_any_pair_is_an_error(memory):
    memory(0)()
    with pytest.raises(TrainingError, match=r"even for single pairs, as pair 0 .* \(4 \+ 2 tokens\): make the model"):
        learn(make_corpus(*[1] * 7), list(range(7)) * 2)


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB."), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_memory_that_runs_out_is_told_from_other_errors(error, is_memory):
    assert is_out_of_memory(error) == is_memory


def test_what_is_no_want_of_memory_comes_out(monkeypatch):
    def broken(*_):
        raise RuntimeError("shapes cannot be multiplied")

    monkeypatch.setattr(learner_module, "batch_loss_sums", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        learn(make_corpus(5, 2), [0, 1])


def test_a_run_goes_on_without_its_giant_and_names_it(tmp_path, prepared, memory):
    cfg = config(prepared, max_epochs=1, max_steps=0, log_every=3)
    memory(longest_target(prepared))()
    run_training(cfg, tmp_path / "run")
    (split,) = events(tmp_path / "run", "split")
    assert "done in halves" in split["message"]
    assert not events(tmp_path / "run", "left_out")
    memory(longest_target(prepared) - 1)()
    run_training(config(prepared, max_epochs=1, max_steps=0), tmp_path / "smaller")
    left_out = events(tmp_path / "smaller", "left_out")
    assert len(left_out) == state(tmp_path / "smaller")["num_left_out"] > 0
    assert f"pair {left_out[0]['pair']} of the training data (" in left_out[0]["message"]
    assert events(tmp_path / "smaller", "train")[-1]["left_out"] == len(left_out)
    run_training(config(prepared, max_epochs=1, max_steps=0), tmp_path / "again")
    assert equal(weights(tmp_path / "again"), weights(tmp_path / "smaller"))


@pytest.mark.slow
def test_what_one_of_two_processes_leaves_out_is_left_out_for_both(tmp_path, prepared, memory):
    cfg = config(prepared, max_steps=12, validate_every=0)
    cfg = cfg.model_copy(update={"model": cfg.model.model_copy(update={"dropout": 0.0})})
    save_config(cfg, tmp_path / "run.toml")
    words = [tmp_path / "run.toml", "--output", tmp_path / "two", "--device", "cpu"]
    smaller = longest_target(prepared) - 1
    assert train_on(2, words, tmp_path / "out", fault=small_memory(smaller)).statuses == [0, 0]
    memory(smaller)()
    run_training(cfg, tmp_path / "one")
    named = [sorted(event["pair"] for event in events(tmp_path / run, "left_out")) for run in ("one", "two")]
    assert named[0] == named[1] != []
    for step, loss in losses(tmp_path / "one").items():
        assert losses(tmp_path / "two")[step] == pytest.approx(loss, abs=1e-5)
