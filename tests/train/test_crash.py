"""Runs that are killed, or find the disk full, at every file operation: what is on disk serves, and nothing is lost.

A kill is simulated within this process: at the n-th operation that changes the disk, and at all after it, an exception
is raised that nothing catches, so that no cleaning up is done either. bench/crash.py kills for real.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import safetensors.torch
import torch
from runs import config, equal, events, run_training, state, weights
from safetensors.torch import load_file

from tfmt import checkpoint
from tfmt.config import RunConfig
from tfmt.errors import DiskFull
from tfmt.files import read_lines
from tfmt.runlog.log import read_events, without_forgotten
from tfmt.train.trainer import Trainer

pytestmark = pytest.mark.slow

OPERATIONS = ("replace", "rename", "unlink", "remove", "rmdir", "mkdir", "symlink", "fsync")
GROW = ("open", "mkdir", "symlink", "fsync", "save_file")  # which need room on the disk


class Killed(BaseException):
    pass


class Disk:
    """Counts what changes the disk, and calls `fault` before each such operation with its number and name."""

    def __init__(self, patch: pytest.MonkeyPatch, fault: Callable[[int, str], None]) -> None:
        self.names: list[str] = []
        self.fault = fault
        self.is_off = False
        for name in OPERATIONS:
            patch.setattr(os, name, self._with_fault(name, getattr(os, name)))
        patch.setattr(io, "open", self._open(io.open))
        patch.setattr(safetensors.torch, "save_file", self._save_file(safetensors.torch.save_file))

    def _happens(self, name: str) -> None:
        if not self.is_off:
            self.names.append(name)
            self.fault(len(self.names), name)

    def _with_fault(self, name: str, operation):
        def with_fault(*args, **options):
            self._happens(name)
            return operation(*args, **options)

        return with_fault

    def _open(self, operation):
        def opens(file, mode="r", *args, **options):
            if mode != "r" and mode != "rb":
                self._happens("open")
            return operation(file, mode, *args, **options)

        return opens

    def _save_file(self, operation):
        def saves(tensors, path):
            try:
                self._happens("save_file")
            except BaseException:
                operation(tensors, path)  # half of it is on the disk
                os.truncate(path, path.stat().st_size // 2)
                raise
            operation(tensors, path)

        return saves


def kill_at(number: int) -> Callable[[int, str], None]:
    def fault(at: int, name: str) -> None:
        if at >= number:
            raise Killed

    return fault


def full_at(number: int) -> Callable[[int, str], None]:
    def fault(at: int, name: str) -> None:
        if at == number:
            raise OSError(errno.ENOSPC, "No space left on device", name)

    return fault


@pytest.fixture(scope="module")
def cfg(prepared, toy, tmp_path_factory) -> RunConfig:
    """Six updates: saved after every other, validated after every third on three lines, averaged at the end."""
    folder = tmp_path_factory.mktemp("short")
    for side in ("source", "target"):
        lines = list(read_lines(getattr(toy, side)))[:3]
        (folder / side).write_text("".join(f"{line}\n" for line in lines))
    values = config(
        prepared, max_steps=6, save_every=2, validate_every=3, keep=2, average=2, ema=0.9, best_by="ppl"
    ).model_dump()
    values["data"] |= {"valid_source": str(folder / "source"), "valid_target": str(folder / "target")}
    return RunConfig.model_validate(values)


@pytest.fixture(scope="module")
def straight(cfg, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("straight") / "run"
    run_training(cfg, folder)
    return folder


@pytest.fixture(scope="module")
def begun(cfg, tmp_path_factory) -> Path:
    """The same run, stopped after the third update: one checkpoint is regular, one the best."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    advance = Trainer._advance

    def until_three(self, updates):
        if self.state.step == 3:
            raise Killed
        advance(self, updates)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_advance", until_three)
        with pytest.raises(Killed):
            run_training(cfg, folder)
    return folder


def everything(run: Path) -> dict[str, torch.Tensor]:
    """All tensors that a run ends with, the best model's among them."""
    files = ("state/optimizer.safetensors", "state/weights.safetensors")
    found = {f"{file}:{name}": tensor for file in files for name, tensor in load_file(run / "last" / file).items()}
    return found | weights(run) | {f"best:{name}": tensor for name, tensor in weights(run, "best").items()}


def check_same(run: Path, straight: Path) -> None:
    assert equal(everything(run), everything(straight))
    assert state(run) == state(straight)
    assert not [path.name for path in run.rglob("*") if path.name.startswith(".") and path.name != ".lock"]
    folders = [sorted(folder.name for folder in (path / "checkpoints").iterdir()) for path in (run, straight)]
    assert folders[0] == folders[1]
    kept = [
        [
            (event["step"], event["nll"])
            for event in without_forgotten(read_events(path / "log.jsonl"))
            if event["event"] == "train"
        ]
        for path in (run, straight)
    ]
    assert kept[0] == kept[1]


def check_usable(run: Path) -> None:
    """What a kill leaves can be used before anybody mends it: no half checkpoint, and a model to translate with."""
    for folder in checkpoint.checkpoints(run):
        checkpoint.verify(folder)
    assert (checkpoint.find_model(run) / "model.safetensors").exists()


def copies(begun: Path, folder: Path) -> Iterator[Path]:
    """The run as it was begun, time and again."""
    while True:
        run = folder / "run"
        if run.exists():
            shutil.rmtree(run)
        shutil.copytree(begun, run, symlinks=True)
        yield run


def test_a_kill_at_any_operation_of_a_run_that_goes_on_changes_nothing(tmp_path, cfg, begun, straight):
    for number, run in enumerate(copies(begun, tmp_path), start=1):
        with pytest.MonkeyPatch.context() as patch:
            disk = Disk(patch, kill_at(number))
            try:
                run_training(cfg, run)
            except Killed:
                pass
            else:
                break
        check_usable(run)
        run_training(cfg, run)
        check_same(run, straight)
    assert number > 60
    assert set(disk.names) >= {"open", "save_file", "replace", "rename", "mkdir", "fsync", "symlink", "unlink", "rmdir"}


def test_a_kill_at_any_operation_of_a_start_leaves_what_can_be_started_again(tmp_path, cfg, straight):
    folder = tmp_path / "run"
    for number in range(1, 12):  # before the first checkpoint
        with pytest.MonkeyPatch.context() as patch:
            Disk(patch, kill_at(number))
            with pytest.raises(Killed):
                run_training(cfg, folder)
        if number % 5 == 0:
            run_training(cfg, folder)
            check_same(folder, straight)
            shutil.rmtree(folder)


def test_a_disk_that_is_full_at_any_operation_is_told_and_changes_nothing(tmp_path, cfg, begun, straight):
    num_told, fresh = 0, copies(begun, tmp_path)
    run = next(fresh)
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch, lambda number, name: None)
        run_training(cfg, run)
    for number in [number for number, name in enumerate(disk.names, start=1) if name in GROW]:
        run = next(fresh)
        with pytest.MonkeyPatch.context() as patch:
            Disk(patch, full_at(number))
            try:
                run_training(cfg, run)
            except (DiskFull, OSError):
                num_told += 1
        check_usable(run)
        assert not list(run.rglob("*.partial"))
        run_training(cfg, run)
        check_same(run, straight)
    assert num_told > 20


@pytest.mark.parametrize("damage", ["truncated", "flipped"])
def test_a_damaged_file_of_the_newest_checkpoint_is_named_and_the_one_before_used(
    tmp_path, cfg, begun, straight, damage, caplog
):
    newest = checkpoint.checkpoints(begun)[-1]
    files = [path.relative_to(newest) for path in sorted(newest.rglob("*")) if path.is_file()]
    assert len(files) == 7
    for file, run in zip(files, copies(begun, tmp_path), strict=False):
        path = run / "checkpoints" / newest.name / file
        content = bytearray(path.read_bytes())
        if damage == "truncated":
            del content[len(content) // 2 :]
        else:
            content[len(content) // 2] ^= 0x10
        path.write_bytes(content)
        caplog.clear()
        run_training(cfg, run)
        assert newest.name in caplog.text
        assert file.name in caplog.text
        assert events(run, "resume")[0]["step"] == 2
        check_same(run, straight)


def test_an_operation_is_what_this_test_takes_it_for(tmp_path, monkeypatch):
    """The ways the program changes the disk are seen: else kills would miss them."""
    disk = Disk(monkeypatch, lambda number, name: None)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").write_text("x")
    (tmp_path / "a/b").rename(tmp_path / "a/c")
    (tmp_path / "a/c").replace(tmp_path / "a/d")
    (tmp_path / "a/e").symlink_to("d")
    (tmp_path / "a/e").unlink()
    shutil.rmtree(tmp_path / "a")
    assert disk.names == ["mkdir", "open", "rename", "replace", "symlink", "unlink", "unlink", "rmdir"]
