"""Training of which each process holds a share against training where each holds all."""

from __future__ import annotations

import signal
from functools import partial

import numpy as np
import pytest
import torch
from fakes import small_config
from ranks import hit_at, out_of_memory_at, train_on, work_on
from runs import config, equal, events, losses, run_training, same_but_for_rounding, weights, without_dropout, words
from torch.testing import assert_close

from tfmt.checkpoint import optimizer_tensors
from tfmt.config import TrainConfig
from tfmt.corpus.batches import Corpus, Side
from tfmt.model.transformer import Transformer, num_parameters
from tfmt.train.distributed import World
from tfmt.train.freeze import freeze
from tfmt.train.learner import Learner, Measured

pytestmark = pytest.mark.slow
SGD = {"optimizer": "sgd", "learning_rate": 0.01}
VOCABULARY = 91  # so that rows are not divided evenly


def make_learner(world: World, *, shard: bool, precision: str, model: dict, train: dict) -> Learner:
    """With weights that are rank 0's own."""
    torch.manual_seed(1 + world.rank)
    cfg = TrainConfig.model_validate({"learning_rate": 0.01, "shard": shard} | train)
    made = Transformer(small_config(**model), VOCABULARY).train()
    freeze(made, cfg.freeze)
    return Learner(made, cfg, precision, world)


def learn(learner: Learner, world: World, *, num_updates: int = 3) -> list[Measured]:
    """Of up to three batches a process; in the second update rank 0 alone has one. Pairs have weights."""
    generator = np.random.default_rng(1)
    source, target = (
        Side.of([generator.integers(4, VOCABULARY, size=generator.integers(1, 20)).tolist() for _ in range(12)])
        for _ in range(2)
    )
    corpus = Corpus(source, target, np.linspace(0.5, 1.5, 12, dtype=np.float32))
    found = []
    for update in range(num_updates):
        groups = [np.arange(2)] if update == 1 else np.split(np.arange(12), [1, 2, 3, 6, 9])
        num_tokens = sum(int(target.lengths[group].sum()) for group in groups)
        share = [corpus.batch(group).to(world.device) for group in groups[world.rank :: world.size]]
        found.append(learner.learn([share], num_tokens, 0.01, (7, update)))
    return found


def whole(learner: Learner) -> dict[str, torch.Tensor]:
    """Weights and optimizer state, in rank 0."""
    saved = learner.held.to_save(learner.model)
    return {name: weight.detach() for name, weight in saved.named_parameters()} | learner.optimizer_state()


def compare(world: World, *, precision: str, tolerance: float, model: dict, train: dict) -> None:
    """The same updates, with the same dropout, by processes that hold all and by ones that hold shares."""
    held = [make_learner(world, shard=s, precision=precision, model=model, train=train) for s in (False, True)]
    measured = [learn(learner, world) for learner in held]
    for one, other in zip(*measured, strict=True):
        assert_close((other.loss, other.nll, other.norm), (one.loss, one.nll, one.norm), atol=tolerance, rtol=tolerance)
    ours, theirs = map(whole, held)
    if world.is_main:
        assert ours.keys() == theirs.keys()
        assert [(t.shape, t.dtype) for t in ours.values()] == [(t.shape, t.dtype) for t in theirs.values()]
        for name, tensor in ours.items():
            if "key.bias" not in name:  # without effect on the loss: its gradient is rounding alone
                assert_close(theirs[name], tensor, atol=tolerance, rtol=tolerance, msg=lambda m, name=name: name + m)


VARIANTS = {
    "as it comes": ({}, {}),
    "dropout": ({"dropout": 0.3, "source_word_dropout": 0.2}, {}),
    "pre-norm, untied": ({"norm": "pre", "tie_embeddings": False}, {}),
    "r_drop": ({"dropout": 0.3}, {"r_drop": 1.0}),
    "encoder frozen": ({}, {"freeze": ["encoder", "source_embedding"]}),
    "parts frozen": ({"tie_embeddings": False}, {"freeze": ["decoder.0.cross_attention.key", "head"]}),
    "fewer rows than processes could share": ({"d_model": 4, "num_heads": 2, "d_ff": 4}, {"optimizer": "adamw"}),
    "no clipping": ({}, {"clip_norm": 0.0}),
    "adamw": ({}, {"optimizer": "adamw", "weight_decay": 0.1}),
    "radam": ({}, {"optimizer": "radam"}),
    "nadam": ({}, {"optimizer": "nadam"}),
    "sgd": ({}, {"optimizer": "sgd"}),
    "sgd without momentum": ({}, {"optimizer": "sgd", "momentum": 0.0}),
}


def compare_variants(names: list[str], world: World) -> None:
    for name in names:
        print(name)  # shown when it fails
        model, train = VARIANTS[name]
        compare(world, precision="fp32", tolerance=1e-4, model={"dropout": 0.0} | model, train=train)


@pytest.mark.parametrize(
    ("size", "names"),
    [(2, list(VARIANTS)), (3, ["dropout", "pre-norm, untied", "fewer rows than processes could share"])],
)
def test_an_update_is_the_same(tmp_path, size, names):
    work_on(size, partial(compare_variants, names), tmp_path / "out")


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_an_update_of_two_gpus_is_the_same(tmp_path):
    work_on(2, partial(compare_variants, list(VARIANTS)), tmp_path / "out", device="cuda")


def compare_in_bf16(world: World) -> None:
    """As near to fp32 as bf16 is without shares, each tensor as a whole."""
    changes, losses = [], []
    for shard, precision in ((True, "bf16"), (False, "bf16"), (False, "fp32")):
        learner = make_learner(world, shard=shard, precision=precision, model={"dropout": 0.0}, train=SGD)
        before = {name: tensor.clone() for name, tensor in whole(learner).items()}
        losses.append(learn(learner, world, num_updates=1)[0].loss)
        after = whole(learner)
        changes.append({name: after[name] - tensor for name, tensor in before.items()})
    assert_close(losses[0], losses[2], atol=5e-3, rtol=0)
    shared, low, exact = changes
    for name, change in exact.items() if world.is_main else ():
        if "key.bias" not in name:
            error, usual = (shared[name] - change).norm(), (low[name] - change).norm()
            assert error < 1.5 * usual + 0.02 * change.norm(), name
            assert error < 0.2 * change.norm(), name


def look_at_shares(world: World) -> None:
    """What a process holds is its share, and the loss is computed by no more than a block at a time."""
    learner = make_learner(world, shard=True, precision="fp32", model={}, train={"ema": 0.9})
    learn(learner, world)
    all_weights = num_parameters(Transformer(small_config(), VOCABULARY))
    shares = world.gathered(num_parameters(learner.model))
    assert sum(shares) == all_weights
    assert max(shares) < 0.52 * all_weights
    state = optimizer_tensors(learner.model, learner.optimizers)
    assert {name: t.shape for name, t in state.items() if name.endswith("exp_avg")} == {
        f"{name}.exp_avg": weight.shape for name, weight in learner.model.named_parameters()
    }
    assert num_parameters(learner.workers.work) == all_weights  # by name; of which it holds
    held = sum(weight.to_local().untyped_storage().nbytes() for weight in learner.workers.work.parameters())
    assert held < 4 * 0.53 * all_weights


def spoil_one_process(world: World) -> None:
    """A loss of one process that is not finite: all skip the update, whose weights stay as they are."""
    from tfmt.train import learner as module

    learner = make_learner(world, shard=True, precision="fp32", model={}, train={})
    learn(learner, world)
    before, loss_sums = whole(learner), module.batch_loss_sums
    if world.rank == 1:
        module.batch_loss_sums = lambda *args: tuple(s * torch.nan for s in loss_sums(*args))
    assert not any(world.gathered([bool(measured.is_finite) for measured in learn(learner, world, num_updates=1)])[0])
    after = whole(learner)
    assert all(after[name].equal(tensor) for name, tensor in before.items())
    module.batch_loss_sums = loss_sums
    assert all(measured.is_finite for measured in learn(learner, world))


def pass_on(world: World) -> None:
    """From shares to whole tensors and on to shares or copies: the same bits, and the same updates from there."""
    learner = make_learner(world, shard=True, precision="fp32", model={}, train={"optimizer": "nadam"})
    learn(learner, world)
    saved = whole(learner)
    weights = {name: saved.pop(name) for name, _ in learner.held.plan.named_parameters()} if world.is_main else {}
    followed = []
    for shard in (True, False):
        other = make_learner(world, shard=shard, precision="fp32", model={}, train={"optimizer": "nadam"})
        other.take(weights, saved)
        again = whole(other)
        assert not world.is_main or equal(again, weights | saved)
        followed.append([measured.loss for measured in learn(other, world)])
    straight = [measured.loss for measured in learn(learner, world)]
    assert followed[0] == straight
    assert_close(followed[1], straight, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("work", [compare_in_bf16, look_at_shares, spoil_one_process, pass_on])
def test_two_processes_of_shares(tmp_path, work):
    work_on(2, work, tmp_path / "out")


def test_a_run_goes_on_with_or_without_shares(tmp_path, prepared):
    cfg = without_dropout(config(prepared, max_steps=20, ema=0.9, validate_every=0))
    run_training(cfg, tmp_path / "one")
    for size, limit, shard in ((3, 7, "true"), (1, 13, "true"), (2, 16, "false"), (2, 20, "true")):
        part = [*words(cfg, tmp_path / "parts"), "--set", f"train.max_steps={limit}", "--set", f"train.shard={shard}"]
        assert train_on(size, part, tmp_path / "out").statuses == [0] * size
    same_but_for_rounding(tmp_path / "one", tmp_path / "parts")


def test_stopping_changes_nothing(tmp_path, prepared, toy):
    cfg = config(prepared, toy, max_steps=20, ema=0.9, shard=True)
    assert train_on(2, words(cfg, tmp_path / "straight"), tmp_path / "out").statuses == [0, 0]
    ended = train_on(2, words(cfg, tmp_path / "hit"), tmp_path / "out", fault=hit_at(13, 1, signal.SIGTERM))
    assert ended.statuses == [143, 143]
    assert train_on(2, words(cfg, tmp_path / "hit"), tmp_path / "out").statuses == [0, 0]
    assert losses(tmp_path / "hit") == losses(tmp_path / "straight")
    assert equal(weights(tmp_path / "hit"), weights(tmp_path / "straight"))


@pytest.mark.parametrize(
    ("fault", "statuses", "error"),
    [
        (hit_at(12, 0, signal.SIGKILL), [-signal.SIGKILL, 1], "another process of this training has ended"),
        (hit_at(12, 1, signal.SIGKILL), [1, -signal.SIGKILL], "another process of this training has ended"),
        (out_of_memory_at(12, 1), [1, 1], "process 1: out of memory in a batch of"),
    ],
)
def test_when_one_process_ends_so_does_the_other_and_the_command_goes_on(tmp_path, prepared, fault, statuses, error):
    cfg = config(prepared, max_steps=15, save_every=10, validate_every=0, shard=True)
    ended = train_on(2, words(cfg, tmp_path / "run"), tmp_path / "out", fault=fault)
    assert ended.statuses == statuses
    (told,) = [line for line in ended.lines if not line.startswith(("step ", "starting"))]
    assert told.startswith(f"error: {error}")
    assert train_on(2, words(cfg, tmp_path / "run"), tmp_path / "out").statuses == [0, 0]
    assert events(tmp_path / "run", "resume")[0]["step"] == 10
