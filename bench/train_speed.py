"""Training speed of tfmt beside other toolkits: one machine, one run, taking turns.

    export BENCH_WORK=work
    python bench/train_speed.py --peers PEERS --source train.en --target train.de --output speed.json

PEERS is a folder whose `train.sh PEER base|tiny SECONDS [fp32|bf16]` trains another toolkit and prints its rate as
JSON; with SECONDS 0 it only installs it in $BENCH_WORK and leaves the text there as pieces, data/train.en and .de.
--source and --target are that same text. Nothing else should run on the machine. The JSON file holds every run and
what it ran on; a table for reading goes to stdout.

In each round every contender trains for --seconds after its first report; every other round goes through them
backwards. A rate is the median over intervals (1 update of base, 5 of tiny) without the first fifth of them, in target
tokens with their <eos>, padding not counted. Peak memory is resident memory, summed over a contender's processes.

tfmt trains a model of the same size on the same text in batches of as many tokens, but not in the same pieces: its
tokenizers lose no character (256 byte pieces, no normalisation), and it takes no others. It gets a vocabulary of its
own, as large, and its rates are converted to the rivals' tokens by the mean length of a target sentence in either.
In what else the rivals are not alike, their scripts' notes say.

The share of the matrix rate is what a contender makes of the best torch.mm in its precision, measured before each
round: its tokens a second times the FLOPs a token needs (`flops_per_token`), whatever the toolkit really computes.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import multiprocessing
import os
import platform
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

VOCAB_SIZE = 8000
BATCH_TOKENS = 4096
STARTUP_SECONDS = 300  # in which the first update must be reported
POLL_SECONDS = 0.5
SHAPES = ((4096, 512, 2048), (2048, 2048, 2048))  # rows, inner width and columns of the matrix products measured
PACKAGES = "torch|transformers|fairseq|pymarian|OpenNMT-py"  # whose versions the report names

Run = dict[str, Any]
MatrixRates = dict[str, dict[str, int]]  # GFLOP/s by precision and shape


@dataclass(frozen=True)
class Size:
    layers: int  # of the encoder, and of the decoder
    d_model: int
    num_heads: int
    d_ff: int
    dropout: float
    log_every: int  # updates an interval


SIZES = {"base": Size(6, 512, 8, 2048, 0.1, log_every=1), "tiny": Size(4, 128, 4, 256, 0.3, log_every=5)}

CONFIG = """
[data]
train = ["{prepared}"]

[model]
encoder_layers = {size.layers}
decoder_layers = {size.layers}
d_model = {size.d_model}
num_heads = {size.num_heads}
d_ff = {size.d_ff}
dropout = {size.dropout}
norm = "pre"
tie_embeddings = true

[train]
batch_tokens = {tokens}
micro_batch_tokens = {room}  # of the larger side: an update is one batch
max_steps = 1000000            # it is killed long before
save_every = 1000000
learning_rate = 1e-3
warmup_steps = 1000
label_smoothing = 0.1
clip_norm = 1.0
log_every = {size.log_every}
"""


@dataclass(frozen=True)
class Contender:
    toolkit: str  # "tfmt", or a name that train.sh knows
    precision: str

    @property
    def name(self) -> str:
        return f"{self.toolkit} {self.precision}"


@dataclass(frozen=True)
class Text:
    """The training text, tokens as means over sentences, <eos> included."""

    pairs: int
    source_tokens: float  # in the rivals' pieces
    target_tokens: float
    own_pairs: int  # those left by `tfmt prepare`
    own_target_tokens: float  # in tfmt's pieces


def main() -> None:
    args = parse_arguments()
    contenders = [*args.ours, *args.rivals]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that children are ended too
    os.environ["BENCH_WORK"] = str(Path(os.environ["BENCH_WORK"]).absolute())
    os.environ["OMP_NUM_THREADS"] = os.environ["BENCH_THREADS"] = str(args.threads)
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="tfmt-speed-") as name:
        for rival in {rival.toolkit: rival for rival in args.rivals}.values():
            say(f"installing {rival.toolkit}, unless it is there")
            call_rival(args, rival, seconds=0)  # if that fails, the rounds will say so
        text = prepare_own(args, Path(name))
        flops = flops_per_token(SIZES[args.config], text)
        for number in range(1, args.rounds + 1):
            with multiprocessing.get_context("spawn").Pool(1) as pool:  # a process whose threads end with it
                rates = pool.apply(matrix_rates, (args.threads,))
            say(f"round {number} of {args.rounds}; torch.mm, GFLOP/s: {rates}")
            for contender in contenders if number % 2 else reversed(contenders):
                started, is_own = now(), contender in args.ours
                run = run_own(args, contender, Path(name), text) if is_own else run_rival(args, contender)
                if "tokens_per_s" in run:
                    best = 1e9 * max(rates[contender.precision].values())
                    run["share_of_matrix_rate"] = round(run["tokens_per_s"] * flops / best, 4)
                facts = {"contender": contender.name, "round": number, "started": started}
                runs.append(facts | run | {"matrix_gflops": rates[contender.precision]})
                say(f"{contender.name}: {run.get('tokens_per_s') or run['error']}")
            report = describe(args, text, flops) | {"runs": runs}  # after each round, lest all be lost
            args.output.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(as_table(contenders, args.ours, runs))


def parse_arguments() -> argparse.Namespace:
    def own(words: str) -> list[Contender]:
        return [Contender("tfmt", word) for word in words.split(",")]

    def rivals(words: str) -> list[Contender]:
        parts = [word.partition(":") for word in words.split(",") if word]
        return [Contender(toolkit, precision or "fp32") for toolkit, _, precision in parts]

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peers", type=Path, required=True, help="folder with the rivals' train.sh")
    parser.add_argument("--source", type=Path, required=True, help="training text, a sentence a line")
    parser.add_argument("--target", type=Path, required=True, help="its translation, line by line")
    parser.add_argument("--config", choices=SIZES, default="base", help="size of the model")
    parser.add_argument("--rivals", type=rivals, default="hf,hf:bf16,fairseq,marian,onmt", help="NAME[:PRECISION],...")
    parser.add_argument("--ours", type=own, default="bf16,fp32", help="precisions of tfmt")
    parser.add_argument("--seconds", type=int, default=60, help="that each contender trains in a round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="for every contender alike")
    parser.add_argument("--output", type=Path, required=True, help="JSON file to write")
    args = parser.parse_args()
    if "BENCH_WORK" not in os.environ:
        parser.error("BENCH_WORK is not set; name the folder where the rivals are, or shall be installed")
    if not (args.peers / "train.sh").is_file():
        parser.error(f"--peers {args.peers}: holds no train.sh")
    if unknown := {contender.precision for contender in (*args.ours, *args.rivals)} - {"fp32", "bf16"}:
        parser.error(f"precision {unknown.pop()}: unknown; choose fp32 or bf16")
    if args.output.exists():
        parser.error(f"--output {args.output}: exists; choose another name")
    return args


def run_own(args: argparse.Namespace, contender: Contender, folder: Path, text: Text) -> Run:
    """Train with tfmt till --seconds after its first report, then kill it; rates in the rivals' tokens."""
    run = Path(tempfile.mkdtemp(dir=folder)) / "run"
    command = [str(tfmt()), "train", str(folder / "speed.toml"), "--device", "cpu"]
    command += ["--set", f"train.precision={contender.precision}", "--output", str(run)]
    started, first, peak_mb = time.time(), 0.0, 0.0
    with run.with_name("output.txt").open("w+", encoding="utf-8") as output:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            while child.poll() is None and time.time() < (first + args.seconds if first else started + STARTUP_SECONDS):
                time.sleep(POLL_SECONDS)
                peak_mb = max(peak_mb, group_peak_mb(child.pid))
                if not first and train_events(run):
                    first = time.time()
            status = child.poll()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        output.seek(0)
        last_words = output.read().strip().rpartition("\n")[2].replace(str(folder), "")
    events = train_events(run)
    if status is not None or len(events) < 2:
        return {"error": f"exit status {status}, {len(events)} intervals: {last_words}"}
    rates = [event["tokens_per_s"] * text.target_tokens / text.own_target_tokens for event in events]
    rates = rates[-(-len(rates) // 5) :]  # without the first fifth, as the rivals' rates are
    after_first = events[0]["seconds"] * (1 - 1 / events[0]["step"])  # of the interval, as if its updates were alike
    return {
        "tokens_per_s": round(statistics.median(rates)),
        "min": round(min(rates)),
        "max": round(max(rates)),
        "intervals": len(rates),
        "peak_mb": round(peak_mb),
        "first_update_after_s": round(events[0]["time"] - after_first - started, 1),
    }


def run_rival(args: argparse.Namespace, contender: Contender) -> Run:
    done = call_rival(args, contender, seconds=args.seconds)
    try:
        found = json.loads(done.stdout)
        renamed = {"tokens_per_s": found["tgt_tokens_per_s"], "peak_mb": found["maxrss_mb"]}
        return renamed | {key: found[key] for key in ("min", "max", "intervals")}
    except (ValueError, KeyError):  # a line of JSON with "error", which names a log, or none
        named = re.search(r'"error": "(.*)"', done.stdout)
        error = named[1] if named else done.stderr.strip().rpartition("\n")[2] or f"exit status {done.returncode}"
        return {"error": error.replace(os.environ["BENCH_WORK"], "$BENCH_WORK")}


def call_rival(args: argparse.Namespace, rival: Contender, *, seconds: int) -> subprocess.CompletedProcess[str]:
    words = ["bash", str(args.peers / "train.sh"), rival.toolkit, args.config, str(seconds), rival.precision]
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as child:
        try:
            stdout, stderr = child.communicate()
        finally:
            child.terminate()  # it then ends what it started; no effect when it is done
    return subprocess.CompletedProcess(words, child.returncode, stdout, stderr)


def prepare_own(args: argparse.Namespace, folder: Path) -> Text:
    """Make tfmt's tokenizer, prepared corpus and configuration in `folder`, and measure the text."""
    say("preparing the text for tfmt")
    model, prepared = folder / "tokenizer.model", folder / "prepared"
    train_tokenizer = ["train-tokenizer", args.source, args.target, "--vocab-size", str(VOCAB_SIZE), "--output", model]
    prepare = ["prepare", "--source", args.source, "--target", args.target, "--tokenizer", model, "--output", prepared]
    for words in (train_tokenizer, prepare):
        subprocess.run([tfmt(), *words], check=True, stdout=subprocess.DEVNULL)
    config = CONFIG.format(prepared=prepared, size=SIZES[args.config], tokens=BATCH_TOKENS, room=2 * BATCH_TOKENS)
    (folder / "speed.toml").write_text(config, encoding="utf-8")
    report = json.loads((prepared / "report.json").read_text(encoding="utf-8"))
    means = []
    for side in ("train.en", "train.de"):
        pieces = Path(os.environ["BENCH_WORK"], "data", side)
        if not pieces.exists():
            sys.exit(f"{pieces}: no such file; a rival, once installed, makes it: see logs/setup.log beside data/")
        lines = pieces.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        if len(lines) != report["seen"]:
            sys.exit(f"{args.source}: has {report['seen']} lines, the rivals' text {len(lines)}; name the same text")
        means.append(sum(len(line.split(" ")) + 1 for line in lines) / len(lines))
    own_target_tokens = report["tokens"]["target"] / report["kept"] + 1
    return Text(report["seen"], means[0], means[1], report["kept"], own_target_tokens)


def flops_per_token(size: Size, text: Text, vocab_size: int = VOCAB_SIZE) -> float:
    """FLOPs of training one target token and its share of the source: 6 for each multiply-add of the forward pass.

    A source token passes the encoder's matrices and those of every decoder layer's keys and values; a target token the
    other matrices of the decoder and the output's. In attention each query meets all keys of its sentence twice
    (scores, values). Norms, softmax, embedding and optimizer are not counted.
    """
    n, d = size.layers, size.d_model
    feed_forward = 2 * d * size.d_ff
    source = n * (4 * d * d + feed_forward) + n * 2 * d * d + n * 2 * d * text.source_tokens
    target = n * (6 * d * d + feed_forward) + d * vocab_size + n * 2 * d * (text.target_tokens + text.source_tokens)
    return 6 * (target + source * text.source_tokens / text.target_tokens)


def matrix_rates(threads: int) -> MatrixRates:
    """The best of several products by torch.mm."""
    import torch

    torch.set_num_threads(threads)
    rates: MatrixRates = {"fp32": {}, "bf16": {}}
    for precision, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        for m, k, n in SHAPES:
            a, b, seconds = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype), []
            for _ in range(15):
                started = time.perf_counter()
                torch.mm(a, b)
                seconds.append(time.perf_counter() - started)
            rates[precision][f"{m}x{k}x{n}"] = round(2 * m * k * n / min(seconds) / 1e9)
    return rates


def group_peak_mb(group: int) -> float:
    """Highest resident memory of each process of the group so far, summed."""
    kilobytes = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, StopIteration):  # it has ended meanwhile
            if int((process / "stat").read_text().rpartition(")")[2].split()[2]) == group:
                lines = (process / "status").read_text().splitlines()
                kilobytes += int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])
    return kilobytes / 1024


def train_events(run: Path) -> list[dict[str, Any]]:
    if not (run / "log.jsonl").exists():
        return []
    whole_lines = (run / "log.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    return [event for event in map(json.loads, whole_lines) if event["event"] == "train"]


def describe(args: argparse.Namespace, text: Text, flops: float) -> dict[str, Any]:
    """What was measured, on what and with what; of paths only the last part."""
    words = [re.sub(r"[^=]*/", "", word.rstrip("/")) for word in sys.argv[1:]]
    versions = {"python": platform.python_version(), **{name: metadata.version(name) for name in ("tfmt", "torch")}}
    for file in sorted(Path(os.environ["BENCH_WORK"], "logs").glob("versions_*.txt")):
        found = re.findall(f"^({PACKAGES})(?:==| @ .*-)(.+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
        versions |= {f"{file.stem.removeprefix('versions_')}: {package}": version for package, version in found}
    return {
        "date": now(),
        "command": shlex.join(["python", "bench/train_speed.py", *words]),
        "cpu": cpu_model(),
        "threads": args.threads,
        "versions": versions,
        "text": asdict(text),
        "own_rates_times": round(text.target_tokens / text.own_target_tokens, 5),
        "model_flops_per_target_token": round(flops),
    }


def cpu_model() -> str:
    with contextlib.suppress(OSError):
        if found := re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8")):
            return found[1]
    return platform.processor()


def as_table(contenders: Sequence[Contender], ours: Sequence[Contender], runs: Sequence[Run]) -> str:
    """Markdown; a ratio is the median over rounds of our rate by theirs in the same round."""
    rates = {(run["contender"], run["round"]): run["tokens_per_s"] for run in runs if "tokens_per_s" in run}
    ratio_heads = [f"{our.name} / it" for our in ours]
    heads = ["contender", "target tokens/s (rounds)", *ratio_heads, "of matrix rate", "peak MB"]
    rows, notes = [heads, ["---"] * len(heads)], []
    for name in (contender.name for contender in contenders):
        done = [run for run in runs if run["contender"] == name and "tokens_per_s" in run]
        for run in runs:
            if run["contender"] == name and "error" in run:
                notes.append(f"{name}, round {run['round']}: {run['error']}")
        if not done:
            rows.append([name, "failed", *[""] * (len(heads) - 2)])
            continue
        ratios = [
            [rates[our.name, run["round"]] / run["tokens_per_s"] for run in done if (our.name, run["round"]) in rates]
            for our in ours
        ]
        own = [run["tokens_per_s"] for run in done]
        rows.append(
            [
                name,
                f"{statistics.median(own):,.0f} ({min(own):,}-{max(own):,})",
                *(f"{statistics.median(ratio):.2f}" if ratio else "" for ratio in ratios),
                f"{statistics.median(run['share_of_matrix_rate'] for run in done):.1%}",
                f"{max(run['peak_mb'] for run in done):,}",
            ]
        )
        if starts := [run["first_update_after_s"] for run in done if "first_update_after_s" in run]:
            notes.append(f"{name}: first update {statistics.median(starts):.1f} s after the command")
    return "\n".join(["| " + " | ".join(row) + " |" for row in rows] + [""] + [f"- {note}" for note in notes])


def tfmt() -> Path:
    """The command installed beside the Python that runs this."""
    return Path(sys.executable).with_name("tfmt")


def now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
