"""Numbers that are not finite: skipped, counted, gone back from, and never saved."""

from __future__ import annotations

import copy

import pytest
import torch
from fakes import small_config
from runs import config, equal, events, run_training, state, weights
from safetensors.torch import load_file

from tfmt import checkpoint
from tfmt.config import RunConfig
from tfmt.corpus.batches import Batch
from tfmt.errors import TrainingError
from tfmt.model.transformer import Transformer
from tfmt.train import learner as learner_module
from tfmt.train.distributed import World
from tfmt.train.learner import Learner, Measured
from tfmt.train.trainer import Trainer
from tfmt.train.trouble import Counts, TroubleCounter

BATCH = Batch(
    src_BS=torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]]),
    tgt_in_BT=torch.tensor([[1, 9, 10], [1, 11, 0]]),
    tgt_out_BT=torch.tensor([[9, 10, 2], [11, 2, 0]]),
    num_tokens=5,
)


def spoil(patch, is_spoilt, number: float = torch.nan) -> None:
    """Multiply the loss of the updates that `is_spoilt`, asked with the state before them, picks."""
    update, loss_sums = Trainer.update, learner_module.batch_loss_sums
    factor = 1.0

    def update_with_state(self, batches):
        nonlocal factor
        factor = number if is_spoilt(self.state) else 1.0
        return update(self, batches)

    def spoilt_loss_sums(*args):
        smoothed, plain = loss_sums(*args)
        return smoothed * factor, plain

    patch.setattr(Trainer, "update", update_with_state)
    patch.setattr(learner_module, "batch_loss_sums", spoilt_loss_sums)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_an_update_that_is_not_finite_leaves_weights_and_optimizer_alone(monkeypatch, precision, number):
    torch.manual_seed(1)
    learner = Learner(Transformer(small_config(), 320), RunConfig().train, precision, World(torch.device("cpu")))
    learner.learn([[BATCH]], 5, lr=1e-3, seed=(1,))
    before = copy.deepcopy((learner.model.state_dict(), learner.optimizers[0].state_dict()["state"]))
    loss_sums = learner_module.batch_loss_sums
    monkeypatch.setattr(learner_module, "batch_loss_sums", lambda *args: tuple(s * number for s in loss_sums(*args)))
    assert not learner.learn([[BATCH]], 5, lr=1e-3, seed=(1,)).is_finite
    after = learner.model.state_dict(), learner.optimizers[0].state_dict()["state"]
    torch.testing.assert_close(after, before, rtol=0, atol=0)
    monkeypatch.undo()
    assert learner.learn([[BATCH]], 5, lr=1e-3, seed=(1,)).is_finite
    assert not after[0]["head.weight"].equal(before[0]["head.weight"])


def test_trouble_is_counted_in_all_and_in_a_row():
    counter = TroubleCounter(torch.device("cpu"))
    counter.set(Counts(num_skipped=2))
    found = []
    for is_finite in (False, False, True, False):
        zero = torch.zeros(())
        counter.add(Measured(zero, zero, zero, torch.tensor(is_finite), torch.tensor((50.0, 1.0, 3.0))))
        found.append(tuple(counter.read()))
    assert found == [(3, 1, 1, 3), (4, 2, 2, 6), (4, 0, 3, 9), (5, 1, 4, 12)]


def test_training_moves_on_past_a_skipped_update_and_counts_it(tmp_path, prepared, monkeypatch):
    spoil(monkeypatch, lambda now: now.step in (4, 9, 10))
    run_training(config(prepared, max_steps=20, log_every=2), tmp_path / "run")
    assert state(tmp_path / "run")["num_skipped"] == 3
    assert state(tmp_path / "run")["step"] == 20
    optimizer = load_file(tmp_path / "run/last/state/optimizer.safetensors")
    assert optimizer["encoder.0.feed_forward.inner.weight.step"] == 17
    assert [event["skipped"] for event in events(tmp_path / "run", "train")] == [0, 0, 1, 1, 2, 3, 3, 3, 3, 3]
    assert events(tmp_path / "run", "skip")[0]["message"].startswith("up to update 6 an update was skipped")


def test_a_checkpoint_saved_before_any_update_was_made_can_be_gone_on_from(tmp_path, prepared, monkeypatch):
    spoil(monkeypatch, lambda now: now.step < 2)
    run_training(config(prepared, max_steps=6), tmp_path / "straight")
    for max_steps in (1, 2, 6):
        run_training(config(prepared, max_steps=max_steps), tmp_path / "pieces")
    assert equal(weights(tmp_path / "pieces"), weights(tmp_path / "straight"))


def test_after_too_many_skips_in_a_row_it_goes_back_at_half_the_rate(tmp_path, prepared, monkeypatch):
    spoil(monkeypatch, lambda now: now.step >= 14 and now.rate_scale == 1)
    run_training(config(prepared, max_steps=30), tmp_path / "run")
    (rewind,) = events(tmp_path / "run", "rewind")
    assert (rewind["step"], rewind["failed_step"], rewind["rate_scale"]) == (10, 19, 0.5)
    last = state(tmp_path / "run")
    assert (last["step"], last["num_skipped"], last["num_rewinds"], last["rate_scale"]) == (30, 5, 1, 0.5)
    rates = {event["step"]: event["lr"] for event in events(tmp_path / "run", "train")[14:]}
    assert list(rates) == list(range(11, 31))
    straight = {event["step"]: event["lr"] for event in events(tmp_path / "run", "train")[:14]}
    assert rates[12] == straight[12] / 2


@pytest.mark.parametrize("killed_at", [17, 25])
def test_a_kill_around_going_back_changes_nothing(tmp_path, prepared, monkeypatch, killed_at):
    cfg = config(prepared, max_steps=35)
    spoil(monkeypatch, lambda now: now.step >= 14 and now.rate_scale == 1)
    run_training(cfg, tmp_path / "straight")
    with monkeypatch.context() as patch:
        update = Trainer.update

        def killed(self, batches):
            if self.state.step == killed_at:
                raise KeyboardInterrupt
            return update(self, batches)

        patch.setattr(Trainer, "update", killed)
        with pytest.raises(KeyboardInterrupt):
            run_training(cfg, tmp_path / "killed")
    run_training(cfg, tmp_path / "killed")
    assert equal(weights(tmp_path / "killed"), weights(tmp_path / "straight"))
    assert state(tmp_path / "killed") == state(tmp_path / "straight")


def test_it_goes_back_past_what_was_saved_amid_skips(tmp_path, prepared, monkeypatch):
    spoil(monkeypatch, lambda now: now.step >= 14 and now.rate_scale == 1)
    run_training(config(prepared, max_steps=17, save_every=1), tmp_path / "run")  # three in a row: not too many
    assert state(tmp_path / "run")["num_skipped_in_row"] == 3
    run_training(config(prepared, max_steps=19, save_every=1), tmp_path / "run")
    assert events(tmp_path / "run", "rewind")[0]["step"] == 14
    assert state(tmp_path / "run")["num_skipped_in_row"] == 0
    assert len(checkpoint.checkpoints(tmp_path / "run")) == 5


def test_it_gives_up_with_the_reason_and_the_last_good_checkpoint(tmp_path, prepared, monkeypatch):
    spoil(monkeypatch, lambda now: now.step >= 14)
    with pytest.raises(TrainingError, match=r"after update 19: .* 5 updates in a row; step-00000010 is the") as caught:
        run_training(config(prepared, max_rewinds=2), tmp_path / "run")
    assert caught.value.exit_status == 1
    assert [event["rate_scale"] for event in events(tmp_path / "run", "rewind")] == [0.5, 0.25]
    assert (tmp_path / "run/last").resolve().name == "step-00000010"
    assert all(weight.isfinite().all() for weight in weights(tmp_path / "run").values())


def test_without_a_checkpoint_there_is_nothing_to_go_back_to(tmp_path, prepared, monkeypatch):
    spoil(monkeypatch, lambda now: now.step >= 3)
    with pytest.raises(TrainingError, match=r"after update 8: .* no good checkpoint is there to go back to: lower"):
        run_training(config(prepared), tmp_path / "run")
