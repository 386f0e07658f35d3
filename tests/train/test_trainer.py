"""Training against itself: straight and in pieces, in one micro-batch and in many, alone and interrupted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from runs import config, equal, events, losses, run_training, weights
from safetensors.torch import load_file

from tfmt import checkpoint
from tfmt.config import RunConfig
from tfmt.config_file import save_config
from tfmt.corpus.batches import Corpus, Cursor, Side, open_prepared, updates_from
from tfmt.corpus.filters import FilterConfig
from tfmt.corpus.prepare import prepare
from tfmt.corpus.readers import read_text_pairs
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.decode.translator import Translator
from tfmt.errors import ConfigError, DataError, DiskFull, Interrupted, ModelError, TfmtError, TrainingError
from tfmt.evaluate.scores import bleu
from tfmt.files import read_lines
from tfmt.runlog.log import View
from tfmt.train import retention
from tfmt.train.distributed import World
from tfmt.train.interrupt import Stop, signals_as_wish
from tfmt.train.trainer import Trainer, train
from tfmt.train.validate import Validation, Validator

TRAIN_IN_A_NEW_PROCESS = """
import os
import sys
import torch
from pathlib import Path
from tfmt.config_file import load_config
from tfmt.runlog.plain import PlainView
from tfmt.train import retention
from tfmt.train.distributed import World
from tfmt.train.interrupt import Stop, signals_as_wish
from tfmt.train.trainer import Trainer, train
from tfmt.train.validate import Validation, Validator

file, run, signal_number, *overrides = sys.argv[1:]
update = Trainer.update

def update_or_be_hit(self, batches):
    if int(signal_number) and self.state.step == 30:
        os.kill(os.getpid(), int(signal_number))
    return update(self, batches)

Trainer.update = update_or_be_hit
torch.set_num_threads(1)
train(load_config(Path(file), overrides), Path(run), view=PlainView(), world=World(torch.device("cpu")))
"""


def run_in_new_process(cfg: RunConfig, run: Path, *overrides: str, signal_number: int = 0) -> int:
    """Train in another process, which is hit by the signal at its 31st update; its exit status."""
    file = run.parent / f"{run.name}.toml"
    save_config(cfg, file)
    words = [sys.executable, "-c", TRAIN_IN_A_NEW_PROCESS, str(file), str(run), str(int(signal_number)), *overrides]
    return subprocess.run(words, capture_output=True, check=False).returncode


@pytest.mark.slow
def test_forty_updates_equal_twenty_a_new_process_and_twenty(tmp_path, prepared, toy):
    cfg = config(prepared, toy)
    run_training(cfg, tmp_path / "straight")
    assert run_in_new_process(cfg, tmp_path / "halves", "train.max_steps=20") == 0
    assert run_in_new_process(cfg, tmp_path / "halves") == 0
    assert events(tmp_path / "halves", "resume")[0]["step"] == 20
    assert losses(tmp_path / "halves") == losses(tmp_path / "straight")
    assert equal(weights(tmp_path / "halves"), weights(tmp_path / "straight"))
    validations = [[e["nll"] for e in events(tmp_path / run, "validate")] for run in ("straight", "halves")]
    assert validations[0] == validations[1]


@pytest.mark.slow
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_in_the_middle_changes_nothing(tmp_path, prepared, signal_number):
    cfg = config(prepared, max_steps=45, save_every=7, validate_every=0, average=3)
    run_training(cfg, tmp_path / "straight")
    assert run_in_new_process(cfg, tmp_path / "hit", signal_number=signal_number) != 0
    run_training(cfg, tmp_path / "hit")
    saved = 28 if signal_number == signal.SIGKILL else 31
    assert events(tmp_path / "hit", "resume")[0]["step"] == saved
    assert losses(tmp_path / "hit") == losses(tmp_path / "straight")
    assert equal(weights(tmp_path / "hit"), weights(tmp_path / "straight"))
    assert equal(weights(tmp_path / "hit", "best"), weights(tmp_path / "straight", "best"))  # the averages


def test_a_signal_saves_and_gives_its_status(tmp_path, prepared, monkeypatch):
    cfg = config(prepared, save_every=1000)
    original = Trainer.update

    def update_then_signal(self, update):
        if self.state.step == 16:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(self, update)

    monkeypatch.setattr(Trainer, "update", update_then_signal)
    with pytest.raises(Interrupted, match="after update 17, which is saved") as caught:
        run_training(cfg, tmp_path / "run")
    assert caught.value.exit_status == 143
    assert (tmp_path / "run/last").resolve().name == "step-00000017"


def test_intervals_with_units_fall_on_the_same_updates_after_a_stop(tmp_path, prepared, toy, monkeypatch):
    """Saves every 0.3 epochs and validations every 2,000 tokens, straight and stopped at four moments."""
    fake_validations(monkeypatch, [1.0] * 100)
    cfg = config(prepared, toy, save_every="0.3e", validate_every="2kt", log_every="0.5kt", keep=20)
    run_training(cfg, tmp_path / "straight")
    original = Trainer.update

    def update_then_stop(self, update):
        if self.state.step in (5, 8, 16, 29):  # the ninth is due for saving and for validation
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, update)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", update_then_stop)
        for _ in range(4):
            with pytest.raises(Interrupted):
                run_training(cfg, tmp_path / "hit")
    run_training(cfg, tmp_path / "hit")
    regular = [[f.name for f in retention.regular_checkpoints(tmp_path / run)] for run in ("straight", "hit")]
    assert regular[0] == regular[1]
    assert len(regular[0]) == 13  # 40 updates are 4 epochs
    validations = [[e["step"] for e in events(tmp_path / run, "validate")] for run in ("straight", "hit")]
    assert validations[0] == validations[1]
    tokens_seen = json.loads((tmp_path / "straight/finished.json").read_text())["tokens_seen"]
    assert len(validations[0]) == tokens_seen // 2000 + 1  # and at the end
    assert equal(weights(tmp_path / "hit"), weights(tmp_path / "straight"))


def make_trainer(cfg: RunConfig, corpus: Corpus, tokenizer: Tokenizer) -> Trainer:
    class NoLog:
        def event(self, name, **fields):
            pass

        def advance(self, step, progress):
            pass

    return Trainer(
        cfg,
        Path("nowhere"),
        corpus=corpus,
        tokenizer=tokenizer,
        validator=None,
        world=World(torch.device("cpu")),
        log=NoLog(),
        stop=Stop(),
    )


def first_gradients(cfg: RunConfig, corpus: Corpus, tokenizer: Tokenizer) -> dict[str, torch.Tensor]:
    trainer = make_trainer(cfg, corpus, tokenizer)
    [work.eval() for work in trainer.learner.workers.copies]  # without dropout, whose draws follow the cut
    _, update = next(
        updates_from(corpus, Cursor(0, 0), batch_tokens=10**6, micro_batch_tokens=cfg.train.micro_batch_tokens, seed=1)
    )
    seen = {}

    def look(*_):
        seen.update((name, parameter.grad.clone()) for name, parameter in trainer.model.named_parameters())

    trainer.learner.optimizers[0].register_step_pre_hook(look)
    trainer.update(update)
    return seen


def test_accumulation_changes_nothing_but_rounding(prepared, tokenizer):
    generator = torch.Generator().manual_seed(1)
    sides = [
        Side.of([torch.randint(4, 300, (length,), generator=generator).tolist() for length in lengths])
        for lengths in ((3, 9, 4, 12, 7), (5, 2, 11, 6, 8))
    ]
    corpus = Corpus(*sides)
    whole = first_gradients(config(prepared, micro_batch_tokens=10_000, clip_norm=0), corpus, tokenizer)
    in_parts = first_gradients(config(prepared, micro_batch_tokens=10, clip_norm=0), corpus, tokenizer)
    for name, gradient in whole.items():
        torch.testing.assert_close(in_parts[name], gradient, atol=1e-6, rtol=1e-4)


def test_bf16_gradients_stay_near_fp32(prepared, tokenizer):
    corpus = Corpus(Side.of([[5, 6, 7, 8], [9, 10]]), Side.of([[11, 12, 13], [14, 15, 16, 17]]))
    exact = first_gradients(config(prepared, precision="fp32", clip_norm=0), corpus, tokenizer)
    rough = first_gradients(config(prepared, precision="bf16", clip_norm=0), corpus, tokenizer)
    total = torch.stack([gradient.norm() for gradient in exact.values()]).norm()
    for name, gradient in exact.items():
        # relative to whole gradients: numbers near 0 (a key's bias has no effect at all) have no accuracy of their own
        assert (rough[name] - gradient).norm() <= 0.05 * gradient.norm() + 1e-3 * total, name


def test_a_finished_run_says_so_and_changes_nothing(tmp_path, prepared):
    cfg = config(prepared, max_steps=5)
    run_training(cfg, tmp_path / "run")
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "run/checkpoints").rglob("*")}
    run_training(cfg, tmp_path / "run")
    assert "finished: max_steps 5 reached" in events(tmp_path / "run", "end")[-1]["message"]
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "run/checkpoints").rglob("*")} == before


@pytest.mark.parametrize(
    ("limit", "steps"),
    [
        ({"max_epochs": 1, "max_steps": 0}, None),
        ({"max_minutes": 1e-9, "max_steps": 0}, 1),
        ({"max_tokens": "0.5kt", "max_steps": 0}, 2),
    ],
)
def test_the_first_limit_reached_ends_training(tmp_path, prepared, limit, steps):
    cfg = config(prepared, **limit)
    run_training(cfg, tmp_path / "run")
    summary = json.loads((tmp_path / "run/finished.json").read_text())
    assert next(iter(limit)) in summary["reason"]
    if steps:
        assert summary["step"] == steps
    else:
        assert summary["tokens_seen"] == open_prepared([prepared], 320).target.lengths.sum()


def test_logged_bleu_is_that_of_the_saved_model(tmp_path, prepared, toy):
    run_training(config(prepared, toy, max_steps=20), tmp_path / "run")
    logged = events(tmp_path / "run", "validate")[-1]
    translator = Translator.load(tmp_path / "run/last", device="cpu")
    translations = [translation.text for translation in translator.translate(list(read_lines(toy.source)))]
    score = bleu(translations, [list(read_lines(toy.target))])
    assert logged["bleu"] == score.score
    assert logged["signature"] == score.signature
    assert logged["loss"] > logged["nll"] > 0


def test_the_last_checkpoints_are_averaged(tmp_path, prepared):
    run_training(config(prepared, average=3, save_every=10, validate_every=0), tmp_path / "run")
    folder = tmp_path / "run/checkpoints/average-00000040"
    parts = [load_file(tmp_path / f"run/checkpoints/step-000000{step}/model.safetensors") for step in (20, 30, 40)]
    for name, weight in load_file(folder / "model.safetensors").items():
        torch.testing.assert_close(weight, sum(part[name].double() for part in parts).div(3).float())
    assert (tmp_path / "run/best").resolve() == folder.resolve()


def test_another_configuration_is_refused_and_the_difference_named(tmp_path, prepared):
    run_training(config(prepared, max_steps=2), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"train\.warmup_steps was 10, now 11"):
        run_training(config(prepared, max_steps=2, warmup_steps=11), tmp_path / "run")
    run_training(config(prepared, max_steps=3), tmp_path / "run")  # limits may change
    assert "; train.max_steps was 2, now 3" in events(tmp_path / "run", "resume")[0]["message"]
    assert events(tmp_path / "run", "resume")[0]["changed"] == {"train.max_steps": [2, 3]}
    assert (tmp_path / "run/last").resolve().name == "step-00000003"
    run_training(config(prepared, max_steps=2, warmup_steps=11), tmp_path / "run", overwrite=True)
    assert (tmp_path / "run/last").resolve().name == "step-00000002"


@pytest.mark.parametrize("schedule", ["linear", "cosine"])
def test_the_end_of_a_falling_rate_cannot_change(tmp_path, prepared, schedule):
    run_training(config(prepared, max_steps=20, schedule=schedule, max_epochs="0.2e"), tmp_path / "run")
    with pytest.raises(
        ConfigError, match=r"train\.max_steps was 20, now 30; undo that.*marks the keys that may change"
    ):
        run_training(config(prepared, max_steps=30, schedule=schedule), tmp_path / "run")
    run_training(config(prepared, max_steps=20, schedule=schedule, max_epochs="0.4e"), tmp_path / "run")


def test_a_folder_that_is_no_run_is_left_alone(tmp_path, prepared):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter.txt").write_text("dear")
    with pytest.raises(DataError, match=r"holds letter\.txt but is no run"):
        run_training(config(prepared), tmp_path / "mine", overwrite=True)
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_two_trainings_do_not_share_a_folder(tmp_path, prepared):
    import fcntl

    run_training(config(prepared, max_steps=1), tmp_path / "run")
    with (tmp_path / "run/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(TfmtError, match="another tfmt trains here"):
            run_training(config(prepared, max_steps=2), tmp_path / "run")


@pytest.mark.parametrize("validate_every", [0, 15])
def test_what_is_not_finite_is_never_saved(tmp_path, prepared, toy, monkeypatch, validate_every):
    original = Trainer.update

    def update_with_nan(self, update):
        if self.state.step == 14:
            next(self.model.parameters()).data.fill_(torch.nan)
        return original(self, update)

    monkeypatch.setattr(Trainer, "update", update_with_nan)
    with pytest.raises(TrainingError, match=r"after update 1[59]"):
        run_training(config(prepared, toy, log_every=100, validate_every=validate_every), tmp_path / "run")
    assert (tmp_path / "run/last").resolve().name == "step-00000010"


def test_nothing_is_made_when_the_input_is_wrong(tmp_path, prepared, toy):
    short = tmp_path / "short.txt"
    short.write_text("a\nb\n")
    wrong = config(prepared, toy).model_dump()
    wrong["data"]["valid_target"] = str(short)
    for cfg, message in (
        (config(tmp_path / "missing"), "not a folder made by"),
        (RunConfig(), r"data\.train"),
        (RunConfig.model_validate(wrong), "has 200 lines.*has 2"),
    ):
        with pytest.raises((ConfigError, DataError), match=message):
            run_training(cfg, tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_the_toy_task_is_learnt(tmp_path, prepared, toy):
    cfg = config(prepared, toy, max_steps=90, learning_rate=0.02, validate_every=30, clip_norm=1.0)
    run_training(cfg, tmp_path / "run")
    found = [event["ppl"] for event in events(tmp_path / "run", "validate")]
    assert found[-1] < 0.8 * found[0]


def test_a_signal_at_a_validation_saves_first_and_validates_on_return(tmp_path, prepared, toy, monkeypatch):
    cfg = config(prepared, toy, max_steps=20)
    run_training(cfg, tmp_path / "straight")
    original = Trainer.update

    def update_then_signal(self, update):
        if self.state.step == 9:
            os.kill(os.getpid(), signal.SIGINT)
        return original(self, update)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", update_then_signal)
        with pytest.raises(Interrupted, match="after update 10"):
            run_training(cfg, tmp_path / "hit")
    assert not events(tmp_path / "hit", "validate")
    run_training(cfg, tmp_path / "hit")
    validations = [
        [(e["step"], e["nll"], e["bleu"]) for e in events(tmp_path / r, "validate")] for r in ("straight", "hit")
    ]
    assert validations[0] == validations[1]
    assert equal(weights(tmp_path / "hit"), weights(tmp_path / "straight"))


def fake_validations(patch, scores):
    """Validation that gives these BLEU scores in turn."""
    remaining = iter(scores)
    patch.setattr(Validator, "__call__", lambda *args: Validation(2.0, 1.5, 4.5, next(remaining), 60.0, "fake", []))


def test_a_run_gone_on_never_takes_a_worse_model_for_its_best(tmp_path, prepared, toy, monkeypatch):
    fake_validations(monkeypatch, [10.0, 50.0, 20.0, 30.0])  # step 4, its average, step 8, its average
    for max_steps in (4, 8):
        run_training(config(prepared, toy, max_steps=max_steps, save_every=2, average=2), tmp_path / "run")
        assert (tmp_path / "run/best").resolve().name == "average-00000004"
        assert json.loads((tmp_path / "run/finished.json").read_text())["best_score"] == 50.0


def test_the_best_link_is_mended_when_a_kill_came_before_it(tmp_path, prepared, toy, monkeypatch):
    fake_validations(monkeypatch, [10.0, 20.0, 15.0])
    link = retention.link

    def killed_at_twenty(run, name, folder):
        if (name, folder.name) == ("best", "step-00000020"):
            raise KeyboardInterrupt
        link(run, name, folder)

    with monkeypatch.context() as patch:
        patch.setattr(retention, "link", killed_at_twenty)
        with pytest.raises(KeyboardInterrupt):
            run_training(config(prepared, toy, max_steps=30), tmp_path / "run")
    assert (tmp_path / "run/best").resolve().name == "step-00000010"
    run_training(config(prepared, toy, max_steps=30), tmp_path / "run")
    assert (tmp_path / "run/best").resolve().name == "step-00000020"


def test_another_validation_text_begins_the_best_anew(tmp_path, prepared, toy, monkeypatch, caplog):
    fake_validations(monkeypatch, [40.0, 5.0])
    run_training(config(prepared, toy, max_steps=10), tmp_path / "run")
    cfg = config(prepared, toy, max_steps=20).model_dump()
    cfg["decode"]["beam"] = 1
    run_training(RunConfig.model_validate(cfg), tmp_path / "run")
    assert "what is best is found anew" in caplog.text
    assert (tmp_path / "run/best").resolve().name == "step-00000020"


def test_checkpoints_saved_under_another_save_every_stay_regular(tmp_path, prepared):
    run_training(config(prepared, max_steps=30), tmp_path / "run")
    run_training(config(prepared, max_steps=40, save_every=15), tmp_path / "run")
    assert [int(f.name[5:]) for f in retention.regular_checkpoints(tmp_path / "run")] == [10, 20, 30]


def test_overwriting_that_was_killed_can_be_done_again(tmp_path, prepared, monkeypatch):
    run_training(config(prepared, max_steps=10), tmp_path / "run")
    (tmp_path / "run/.git").mkdir()
    for name in ("config.toml", "checkpoints"):
        with monkeypatch.context() as patch:
            kill_at(patch, name)
            with pytest.raises(KeyboardInterrupt):
                run_training(config(prepared, max_steps=2), tmp_path / "run", overwrite=True)
    run_training(config(prepared, max_steps=2), tmp_path / "run", overwrite=True)
    assert (tmp_path / "run/last").resolve().name == "step-00000002"
    assert (tmp_path / "run/.git").exists()


def kill_at(patch, name):
    """Make the deletion of a file or folder of that name the moment of a kill."""
    unlink, rmdir = Path.unlink, Path.rmdir

    def kill_or(delete):
        def deletes(path, **options):
            if path.name == name:
                raise KeyboardInterrupt
            delete(path, **options)

        return deletes

    patch.setattr(Path, "unlink", kill_or(unlink))
    patch.setattr(Path, "rmdir", kill_or(rmdir))


def test_what_kills_left_among_the_checkpoints_is_cleared_or_put_back(tmp_path, prepared):
    run_training(config(prepared, max_steps=20), tmp_path / "run")
    checkpoints = tmp_path / "run/checkpoints"
    for name in (".step-00000010.doomed.partial", ".step-00000013.other_host-7.partial", ".step-00000020.x-7.aside"):
        (checkpoints / name).mkdir()
    (checkpoints / "step-00000020").rename(checkpoints / ".step-00000020.host-5.aside")
    (checkpoints / ".step-00000020.x-7.aside").rmdir()
    run_training(config(prepared, max_steps=20), tmp_path / "run")
    assert sorted(item.name for item in checkpoints.iterdir()) == ["step-00000010", "step-00000020"]
    assert not events(tmp_path / "run", "resume")


def test_a_hang_up_that_the_caller_ignores_stays_ignored(tmp_path, prepared):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_as_wish() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.wish == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_end_cut_off_is_made_up_for(tmp_path, prepared):
    run_training(config(prepared, max_steps=4, average=2, save_every=2), tmp_path / "run")
    first_summary = (tmp_path / "run/finished.json").read_text()
    run_training(config(prepared, max_steps=8, average=2, save_every=2), tmp_path / "run")
    # as if killed before the second was written, or damaged
    for text in (first_summary, "", "[]", '{"step": 8}'):
        (tmp_path / "run/finished.json").write_text(text)
        run_training(config(prepared, max_steps=8, average=2, save_every=2), tmp_path / "run")
        assert json.loads((tmp_path / "run/finished.json").read_text())["step"] == 8


def test_other_data_under_the_same_name_is_noticed(tmp_path, prepared, toy):
    folder = tmp_path / "prepared"
    shutil.copytree(prepared, folder)
    run_training(config(folder, max_steps=2), tmp_path / "run")
    shutil.rmtree(folder)
    pairs = list(read_text_pairs(toy.source, toy.target))[:-1]
    prepare(pairs, Tokenizer.load(toy.tokenizer), folder, filters=FilterConfig(), inputs=["toy"])
    with pytest.raises(ConfigError, match="holds other pairs"):
        run_training(config(folder, max_steps=4), tmp_path / "run")


def test_a_folder_from_a_run_killed_at_its_start_is_taken(tmp_path, prepared):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.lock").touch()
    (tmp_path / "run/.config.toml.host-1.partial").touch()
    run_training(config(prepared, max_steps=1), tmp_path / "run")
    assert (tmp_path / "run/last").exists()


def test_overwriting_never_deletes_what_training_did_not_make(tmp_path, prepared):
    run_training(config(prepared, max_steps=1), tmp_path / "run")
    (tmp_path / "run/thesis.txt").write_text("precious")
    with pytest.raises(DataError, match=r"holds thesis\.txt, which tfmt did not make"):
        run_training(config(prepared, max_steps=1), tmp_path / "run", overwrite=True)
    (tmp_path / "project").mkdir()
    (tmp_path / "project/config.toml").write_text("mine = 1")
    for overwrite in (False, True):
        with pytest.raises(DataError, match="but is no run"):
            run_training(config(prepared, max_steps=1), tmp_path / "project", overwrite=overwrite)
    assert (tmp_path / "project/config.toml").read_text() == "mine = 1"
    assert (tmp_path / "run/thesis.txt").read_text() == "precious"


def test_a_view_that_breaks_does_not_stop_training(tmp_path, prepared):
    class Broken(View):
        def show(self, event):
            raise BrokenPipeError

    train(config(prepared, max_steps=3), tmp_path / "run", view=Broken(), world=World(torch.device("cpu")))
    assert len(events(tmp_path / "run", "train")) == 3
    assert (tmp_path / "run/last").resolve().name == "step-00000003"


def test_weights_ruined_by_the_very_last_update_are_not_saved(tmp_path, prepared):
    cfg = config(prepared, learning_rate=1e38, warmup_steps=1, max_steps=1)
    with pytest.raises(TrainingError, match="are not finite"):
        run_training(cfg, tmp_path / "run")
    assert not (tmp_path / "run/last").exists()


def test_a_signal_breaks_off_a_validation_and_saves(tmp_path, prepared, toy, monkeypatch):
    cfg = config(prepared, toy, max_steps=20)
    run_training(cfg, tmp_path / "straight")
    with monkeypatch.context() as patch:
        patch.setattr(Validator, "_share", lambda *args: os.kill(os.getpid(), signal.SIGTERM))
        with pytest.raises(Interrupted, match="stopped by SIGTERM after update 10, which is saved"):
            run_training(cfg, tmp_path / "hit")
    run_training(cfg, tmp_path / "hit")
    assert [e["step"] for e in events(tmp_path / "hit", "validate")] == [10, 20]
    assert equal(weights(tmp_path / "hit"), weights(tmp_path / "straight"))


def test_a_full_disk_is_told_and_the_checkpoint_before_it_kept(tmp_path, prepared, monkeypatch):
    original = checkpoint.save_config

    def full_at_twenty(cfg, path):
        if "step-00000020" in str(path):
            raise OSError(28, "No space left on device")
        original(cfg, path)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_config", full_at_twenty)
        with pytest.raises(DiskFull, match="step-00000020: no space left"):
            run_training(config(prepared), tmp_path / "run")
    assert (tmp_path / "run/last").resolve().name == "step-00000010"
    assert not list(tmp_path.rglob("*.partial"))
    run_training(config(prepared), tmp_path / "run")
    assert (tmp_path / "run/last").resolve().name == "step-00000040"


def test_room_on_the_disk_is_asked_for_before_a_save(tmp_path, prepared, monkeypatch):
    cfg = config(prepared, max_steps=20, ema=0.9)
    run_training(cfg, tmp_path / "straight")
    size = sum(file.stat().st_size for file in (tmp_path / "straight/last/").rglob("*") if file.is_file())
    asked, check = [], checkpoint.check_room

    def few_bytes_free_at_twenty(folder, num_bytes):
        asked.append(num_bytes)
        with monkeypatch.context() as patch:
            if folder.name == "step-00000020":
                patch.setattr(
                    shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 10**9 - 123456, 123456)
                )
            check(folder, num_bytes)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "check_room", few_bytes_free_at_twenty)
        with pytest.raises(DiskFull, match=r"step-00000020: needs [\d,]+ bytes, its disk has 123,456 left; nothing"):
            run_training(cfg, tmp_path / "run")
    assert size <= asked[-1] <= size + (4 << 20)
    assert (tmp_path / "run/last").resolve().name == "step-00000010"
    assert not list(tmp_path.rglob("*.partial"))
    run_training(cfg, tmp_path / "run")
    assert equal(weights(tmp_path / "run"), weights(tmp_path / "straight"))


def test_a_run_whose_checkpoints_are_all_damaged_is_not_begun_anew(tmp_path, prepared):
    run_training(config(prepared, max_steps=10), tmp_path / "run")
    (tmp_path / "run/last/model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match="all its checkpoints are damaged"):
        run_training(config(prepared), tmp_path / "run")


def test_a_damaged_checkpoint_is_left_out_of_the_average(tmp_path, prepared):
    run_training(config(prepared, max_steps=30), tmp_path / "run")
    (tmp_path / "run/checkpoints/step-00000020/model.safetensors").write_bytes(b"")
    run_training(config(prepared, max_steps=40, average=4), tmp_path / "run")
    summary = json.loads((tmp_path / "run/finished.json").read_text())
    assert summary["averaged"] == ["step-00000010", "step-00000030", "step-00000040"]


def test_other_threads_are_noticed(tmp_path, prepared, caplog):
    run_training(config(prepared, max_steps=2), tmp_path / "run")
    try:
        run_training(config(prepared, max_steps=4), tmp_path / "run", threads=2)
        assert "the run was on cpu in fp32, 1 threads and is now on cpu in fp32, 2 threads" in caplog.text
    finally:
        torch.set_num_threads(1)


def test_patience_ends_training_whatever_the_schedule(tmp_path, prepared, toy, monkeypatch):
    for schedule in ("inverse_sqrt", "linear", "cosine", "constant"):
        with monkeypatch.context() as patch:
            fake_validations(patch, [10.0, 10.0])  # not better is worse
            run_training(config(prepared, toy, patience=1, schedule=schedule), tmp_path / schedule)
        summary = json.loads((tmp_path / schedule / "finished.json").read_text())
        assert summary["step"] == 20
        assert "patience 1 reached: bleu has not been better since update 10" in summary["reason"]
        assert (tmp_path / schedule / "last").resolve().name == "step-00000020"


def test_a_model_that_stands_still_ends_at_its_second_validation(tmp_path, prepared, toy):
    for best_by in ("bleu", "chrf", "ppl", "loss"):
        cfg = config(prepared, toy, patience=1, learning_rate=1e-30, validate_every=1, best_by=best_by)
        run_training(cfg, tmp_path / best_by)
        summary = json.loads((tmp_path / best_by / "finished.json").read_text())
        assert (summary["step"], summary["best"]) == (2, "step-00000001")


def test_patience_is_kept_over_a_stop(tmp_path, prepared, toy, monkeypatch):
    fake_validations(monkeypatch, [30.0, 20.0, 20.0, 20.0])
    original = Trainer.update

    def killed_in_update_32(self, update):
        if self.state.step == 31:
            raise KeyboardInterrupt
        return original(self, update)

    cfg = config(prepared, toy, patience=3, max_steps=100)
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "update", killed_in_update_32)
        with pytest.raises(KeyboardInterrupt):
            run_training(cfg, tmp_path / "run")  # two validations without a better one
    run_training(cfg, tmp_path / "run")
    assert json.loads((tmp_path / "run/finished.json").read_text())["step"] == 40
    assert (tmp_path / "run/best").resolve().name == "step-00000010"


@pytest.mark.parametrize("best_by", ["bleu", "chrf", "ppl", "loss"])
def test_the_best_is_by_the_score_asked_for(tmp_path, prepared, toy, monkeypatch, best_by):
    found = iter(
        [
            Validation(1.9, 1.5, ppl=5.0, bleu=30.0, chrf=40.0, signature="fake", samples=[]),
            Validation(2.0, 1.5, ppl=6.0, bleu=20.0, chrf=50.0, signature="fake", samples=[]),
            Validation(2.0, 1.5, ppl=4.0, bleu=10.0, chrf=30.0, signature="fake", samples=[]),
        ]
    )
    monkeypatch.setattr(Validator, "__call__", lambda *args: next(found))
    run_training(config(prepared, toy, best_by=best_by, max_steps=30), tmp_path / "run")
    step, score = {"bleu": (10, 30.0), "chrf": (20, 50.0), "ppl": (30, 4.0), "loss": (10, 1.9)}[best_by]
    assert (tmp_path / "run/best").resolve().name == f"step-{step:08d}"
    assert json.loads((tmp_path / "run/finished.json").read_text())["best_score"] == score


def test_batches_made_ahead_change_nothing(tmp_path, prepared, monkeypatch):
    run_training(config(prepared, max_steps=25, validate_every=0), tmp_path / "straight")
    start = Trainer.__init__

    def start_as_on_a_gpu(self, *args, **options):
        start(self, *args, **options)
        self.makes_ahead = True

    monkeypatch.setattr(Trainer, "__init__", start_as_on_a_gpu)
    for max_steps in (12, 25):
        run_training(config(prepared, max_steps=max_steps, validate_every=0), tmp_path / "ahead")
    assert losses(tmp_path / "ahead") == losses(tmp_path / "straight")
    assert equal(weights(tmp_path / "ahead"), weights(tmp_path / "straight"))
