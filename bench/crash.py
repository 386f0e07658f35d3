"""Kill a small training for real, many times, and compare what it ends with to a training that was left alone.

    python bench/crash.py --kills 30 --output crash.json

Trains on the demo corpus twice, on one thread: once straight through, once killed (SIGKILL) --kills times at moments
drawn with --seed, started again by the same command each time. Every other kill waits for a moment in which something
is being saved. At the end the weights, the best model, the optimizer's state and the losses in the log must be equal
bit for bit; the exit status says whether they are. The JSON file holds each kill: seconds into the process, the update
it went on from, and whether a save was under way.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from tfmt.cli.demo import bundled
from tfmt.cli.main import run as tfmt
from tfmt.runlog.log import read_events, without_forgotten

SETTINGS = {
    "data.train": '["data"]', "data.valid_source": "valid.zh", "data.valid_target": "valid.en",
    "model.d_model": 64, "model.d_ff": 128, "model.encoder_layers": 2, "model.decoder_layers": 2,
    "train.batch_tokens": 1000, "train.warmup_steps": 100, "train.log_every": 1, "train.save_every": 5,
    "train.validate_every": 40, "train.ema": 0.99, "train.keep": 3, "train.average": 3, "decode.beam": 2,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--updates", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="JSON file for the kills and the verdict")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tfmt-crash-") as name:
        output = args.output.absolute() if args.output else None
        os.chdir(name)
        prepare()
        started = time.time()
        finish(train("straight", args.updates))
        straight = time.time() - started
        kills = kill_many(args)
        finish(train("killed", args.updates))
        differences = list(compare(Path("straight"), Path("killed")))
    verdict = "all equal" if not differences else f"differ: {', '.join(differences)}"
    report = {"kills": kills, "updates": args.updates, "seed": args.seed, "seconds_straight": round(straight, 1)}
    print(f"{len(kills)} kills, {sum(kill['while_saving'] for kill in kills)} while saving: {verdict}")
    if output:
        output.write_text(json.dumps(report | {"verdict": verdict}, indent=1) + "\n", encoding="utf-8")
    sys.exit(bool(differences))


def prepare() -> None:
    """A part of the demo corpus, made ready in this folder."""
    corpus = bundled("data/demo")
    for name, count in (("train", 4000), ("valid", 20)):
        for language in ("zh", "en"):
            lines = (corpus / f"{name}.{language}").read_bytes().split(b"\n")[:count]
            Path(f"{name}.{language}").write_bytes(b"\n".join(lines) + b"\n")
    sides = ["--source", "train.zh", "--target", "train.en"]
    for words in (
        ["train-tokenizer", "train.zh", "train.en", "--vocab-size", "1000", "--output", "tokenizer.model"],
        ["prepare", *sides, "--tokenizer", "tokenizer.model", "--output", "data"],
    ):
        if tfmt(words):
            sys.exit(f"tfmt {words[0]} failed")


def train(run: str, updates: int) -> subprocess.Popen[bytes]:
    settings = SETTINGS | {"train.max_steps": updates}
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    config = bundled("configs") / "demo.toml"
    command = [sys.executable, "-m", "tfmt", "train", str(config), "--output", run, "--device", "cpu", "--threads", "1"]
    return subprocess.Popen([*command, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate()
    if process.returncode:
        sys.exit(errors.decode(errors="replace"))


def kill_many(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Start and kill, each process some time after it has begun to train."""
    generator, kills, log = random.Random(args.seed), [], Path("killed/log.jsonl")
    while len(kills) < args.kills:
        process, begun, known = train("killed", args.updates), time.time(), num_events(log)
        while process.poll() is None and num_events(log) < known + 2:  # it has begun to train
            time.sleep(0.01)
        wanted = time.time() + generator.uniform(0, 1.5)
        wait_for_save = len(kills) % 2 == 1
        while process.poll() is None and (time.time() < wanted or (wait_for_save and not is_saving())):
            time.sleep(0.0005)
        if process.poll() is not None:
            sys.exit(f"it ended after {len(kills)} kills: raise --updates")
        was_saving = is_saving()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        went_on = [event["step"] for event in read_events(log) if event["event"] in ("start", "resume")]
        kills.append(
            {
                "seconds": round(time.time() - begun, 3),
                "went_on_from": went_on[-1] if went_on else 0,
                "while_saving": was_saving,
            }
        )
        print(f"kill {len(kills)}: {kills[-1]}", file=sys.stderr)
    return kills


def num_events(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def is_saving() -> bool:
    return any(Path("killed").glob("**/.*.partial"))


def compare(one: Path, other: Path) -> list[str]:
    """What differs."""
    found = []
    for file in ("last/model.safetensors", "last/state/optimizer.safetensors", "last/state/weights.safetensors",
                 "best/model.safetensors"):  # fmt: skip
        ours, theirs = load_file(one / file), load_file(other / file)
        if ours.keys() != theirs.keys() or not all(ours[name].equal(theirs[name]) for name in ours):
            found.append(file)
    for name in ("train", "validate"):
        ours, theirs = (
            [
                (event["step"], event["loss"], event["nll"])
                for event in without_forgotten(read_events(run / "log.jsonl"))
                if event["event"] == name
            ]
            for run in (one, other)
        )
        if ours != theirs:
            found.append(f"{name} events of log.jsonl")
    return found


if __name__ == "__main__":
    main()
