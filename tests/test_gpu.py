"""One GPU by the same code: what it computes is what the CPU computes, within stated tolerances."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from fakes import small_config
from torch.testing import assert_close

from tfmt import checkpoint
from tfmt.checkpoint import TrainState
from tfmt.config import DecodeConfig, RunConfig
from tfmt.corpus.batches import Batch, Corpus, Side
from tfmt.decode.translator import Translator
from tfmt.model.attention import attend
from tfmt.model.transformer import Transformer
from tfmt.train.distributed import World
from tfmt.train.ema import MovingAverage
from tfmt.train.learner import Learner
from tfmt.train.loss import batch_loss_sums
from tfmt.train.memory import fitting_micro_batch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
BATCH = Batch(
    src_BS=torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]),
    tgt_in_BT=torch.tensor([[1, 9, 10], [1, 11, 0]]),
    tgt_out_BT=torch.tensor([[9, 10, 2], [11, 2, 0]]),
    num_tokens=5,
)


def make_model(vocab_size: int = 320) -> Transformer:
    torch.manual_seed(1)
    return Transformer(small_config(dropout=0.0), vocab_size)


def test_attention_equals_the_cpus():
    torch.manual_seed(1)
    q, k = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8)
    mask = torch.rand(2, 1, 5, 7) > 0.4
    mask[0, 0, 0] = False
    on_gpu = attend(q.cuda(), k.cuda(), k.cuda(), mask.cuda()).cpu()
    assert_close(on_gpu, attend(q, k, k, mask), atol=1e-5, rtol=1e-4)


def test_loss_and_gradients_equal_the_cpus():
    results = []
    for device in ("cpu", "cuda"):
        model = make_model().to(device)
        smoothed, plain = batch_loss_sums(model, BATCH.to(model.device), 0.1)
        smoothed.backward()
        results.append([smoothed.cpu(), plain.cpu(), *(p.grad.cpu() for p in model.parameters() if p.grad is not None)])
    assert_close(results[1], results[0], atol=1e-4, rtol=1e-3)


def test_an_update_in_bf16_is_finite_and_small():
    model = make_model().cuda()
    Learner(model, RunConfig().train, "bf16", World(model.device)).learn(
        [[BATCH.to(model.device)]], BATCH.num_tokens, lr=1e-3, seed=(1,)
    )
    assert all(parameter.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "radam", "nadam", "adafactor", "sgd", "muon"])
def test_saving_and_going_on_keeps_weights_and_optimizer(tmp_path: Path, tokenizer, optimizer):
    config = RunConfig.model_validate({"train": {"optimizer": optimizer, "learning_rate": 0.01}})
    models = [make_model(tokenizer.vocab_size).cuda() for _ in range(2)]
    one, other = (Learner(model, config.train, "fp32", World(model.device)) for model in models)
    batch = BATCH.to(models[0].device)
    one.learn([[batch]], batch.num_tokens, lr=0.01, seed=(1,))
    checkpoint.save_checkpoint(
        tmp_path / "c", one.model, config, tokenizer, state=TrainState(step=1), optimizer=one.optimizer_state()
    )
    _, optimizer = checkpoint.load_state(tmp_path / "c", other.model)
    other.take(dict(other.model.named_parameters()), optimizer)
    for weight, others in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert weight.equal(others)
        for mine, theirs in zip(one.optimizers, other.optimizers, strict=True):
            for key, value in mine.state.get(weight, {}).items():
                assert theirs.state[others][key].equal(value)  # and on the same device
    for learner in (one, other):
        learner.learn([[batch]], batch.num_tokens, lr=0.01, seed=(2,))
    for weight, others in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert_close(weight, others, atol=1e-6, rtol=1e-4)  # gradients on a GPU add up in any order


def test_dropout_follows_the_seed():
    model = Transformer(small_config(dropout=0.5), 320).cuda()
    found = []
    for seed in (1, 1, 2):
        model.seed_dropout(seed)
        found.append(batch_loss_sums(model, BATCH.to(model.device), 0.1)[0])
    assert found[0].equal(found[1])
    assert not found[0].equal(found[2])


def test_translations_in_fp32_equal_the_cpus(tokenizer):
    lines = ["abc de", "", "f g h", "ab cd ef gh"]
    cfg = DecodeConfig(beam=4, max_length_ratio=1.0, max_length_offset=5)
    texts = [
        [
            translation.text
            for translation in Translator(
                make_model(tokenizer.vocab_size).to(device).eval(), tokenizer, cfg, precision="fp32"
            ).translate(lines)
        ]
        for device in ("cpu", "cuda")
    ]
    assert texts[0] == texts[1]


def test_a_moving_average_equals_the_cpus():
    averages = []
    for device in ("cpu", "cuda"):
        model = make_model().to(device)
        ema = MovingAverage(model, 0.9)
        for step, is_made in ((1, True), (2, False), (3, True)):
            with torch.no_grad():
                model.head.weight += 1
            ema.follow(model, step, torch.tensor(is_made, device=device))
        averages.append(ema.model.head.weight.cpu())
    assert_close(averages[1], averages[0], atol=1e-6, rtol=1e-6)


def test_an_update_that_is_not_finite_is_skipped_on_the_device(monkeypatch):
    learner = Learner(make_model().cuda(), RunConfig().train, "bf16", World(torch.device("cuda")))
    batch = BATCH.to(learner.model.device)
    learner.learn([[batch]], batch.num_tokens, lr=1e-3, seed=(1,))
    before = copy.deepcopy((learner.model.state_dict(), learner.optimizers[0].state_dict()["state"]))
    with monkeypatch.context() as patch:
        patch.setattr(
            "tfmt.train.learner.batch_loss_sums", lambda *a: tuple(s * torch.nan for s in batch_loss_sums(*a))
        )
        assert not learner.learn([[batch]], batch.num_tokens, lr=1e-3, seed=(1,)).is_finite
    assert_close(
        (learner.model.state_dict(), learner.optimizers[0].state_dict()["state"]),
        before,
        rtol=0,
        atol=0,
    )
    assert learner.learn([[batch]], batch.num_tokens, lr=1e-3, seed=(1,)).is_finite
    assert not learner.model.head.weight.equal(before[0]["head.weight"])


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("bf16", 2e-2)])
def test_a_share_of_one_process_is_the_whole(monkeypatch, precision, tolerance):
    """All of sharding that one GPU can show: NCCL, what is brought together and let go, numbers in bf16."""
    world = World(torch.device("cuda", 0))
    batch = BATCH.to(world.device)
    cfg = RunConfig().train.model_copy(update={"optimizer": "sgd"})
    found = []
    torch.distributed.init_process_group(
        "cpu:gloo,cuda:nccl", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    try:
        for shard in (False, True):
            monkeypatch.setattr("tfmt.train.learner.is_sharded", lambda cfg, world, shard=shard: shard)
            learner = Learner(make_model(), cfg, precision, world)
            losses = [
                learner.learn([[batch] * 2], 2 * batch.num_tokens, lr=0.1, seed=(1, step)).loss for step in range(3)
            ]
            found.append([*losses, *(weight.cpu() for weight in learner.held.to_save(learner.model).parameters())])
    finally:
        torch.distributed.destroy_process_group()
    assert_close([t.cpu() for t in found[1]], [t.cpu() for t in found[0]], atol=tolerance, rtol=tolerance)


def test_an_update_never_waits_for_the_gpu():
    model = make_model().cuda().train()
    learner = Learner(model, RunConfig().train, "bf16", World(model.device))
    corpus = Corpus(Side.of([[5, 6, 7], [8]]), Side.of([[9, 10], [11, 12, 13]]))

    def update(step):
        batch = corpus.batch(np.arange(2)).to(model.device)
        learner.learn([[batch]], batch.num_tokens, lr=1e-3, seed=(1, step))

    update(0)
    torch.cuda.set_sync_debug_mode("error")
    try:
        update(1)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_micro_batches_are_found_that_fit_into_the_memory_there_is():
    lengths = np.random.default_rng(1).integers(2, 60, size=20_000)
    corpus = Corpus(Side.of([[5] * n for n in lengths]), Side.of([[6] * n for n in lengths]))
    cfg = RunConfig.model_validate({"train": {"micro_batch_tokens": "auto", "batch_tokens": 10**6}})
    model = Transformer(small_config(d_model=256, d_ff=1024), 320).cuda().train()
    learner = Learner(model, cfg.train, "bf16", World(torch.device("cuda")))
    before = copy.deepcopy(model.state_dict())
    longest_first = np.argsort(-corpus.target.lengths, kind="stable")
    ends = np.cumsum(corpus.target.lengths[longest_first])

    def shortfall(tokens):
        batch = corpus.batch(longest_first[: np.searchsorted(ends, tokens)]).to(model.device)
        return learner.learn([[batch]], batch.num_tokens, lr=0.0, seed=(1,)).shortfall.tolist()

    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(min(1.0, 4e9 / total))
    try:
        found = fitting_micro_batch(learner, corpus, cfg)
        assert_close(model.state_dict(), before, rtol=0, atol=0)
        assert not any(optimizer.state for optimizer in learner.optimizers)
        assert 1000 < found < corpus.target.lengths.sum() / 2
        assert shortfall(found) == [0, 0, 0]
        assert shortfall(1.5 * found)[2] > 0  # done in halves
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
