"""Whether a GPU computes what a CPU does, and how fast it trains beside other loops; in under five minutes.

    bench/gpu.sh                          on a GPU
    bench/gpu.sh --device cpu --tiny      the same of a tiny model, to try the script itself

It needs torch, numpy, safetensors, sentencepiece, sacrebleu and rich; where pydantic or tomli_w are missing, stand_ins/
take their place. Nothing is installed, fetched or left behind. Each section runs in a process of its own with a time
limit, and says what it found, or what went wrong, whatever becomes of the others:

    matrix    the best rate of torch.mm, of which the others' shares are taken
    agree     loss and gradients in fp32 and bf16 against the CPU's in fp32; a small task learnt on the device, and its
              translations on both
    tests     the test suite's GPU tests, where pytest is installed
    attention time and numbers of padded and of padding-free attention
    train     target tokens a second of training paper-base in updates of about 25,000 source and 25,000 target tokens:
              tfmt's own loop, log, feed and all, as it is and compiled; torch.nn.Transformer; Transformers'
              MarianMTModel (in bf16 on a GPU; the batches of these two lie ready on the device)
    profile   what tfmt's loop spends its time on

Sentences are of random pieces, of about the lengths of WMT 2014. A share of the matrix rate is the FLOPs that the model
needs, whatever a loop really computes (`train_speed.flops_per_token`), over those of the best product.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]
sys.path.append(str(HERE / "stand_ins"))  # last: real packages come first

TOTAL_SECONDS = 285
SECTIONS = {  # and the seconds each may take; what may take longest comes last
    "matrix": 20,
    "agree": 45,
    "tests": 40,
    "attention": 15,
    "train tfmt": 35,
    "train torch": 30,
    "train marian": 35,
    "profile tfmt": 30,
    "train tfmt compiled": 90,
}

Found = dict[str, Any]


def main() -> None:
    args = parse_arguments()
    if args.section:
        print(json.dumps(run_section(args)))
        return
    started, report = time.monotonic(), []
    print(describe(args.device), flush=True)
    with tempfile.TemporaryDirectory(prefix="tfmt-gpu-") as folder:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = os.environ["TMPDIR"] = folder
        for name, seconds in SECTIONS.items():
            if args.only and name not in args.only:
                continue
            left = TOTAL_SECONDS - (time.monotonic() - started)
            began = time.monotonic()
            found = in_own_process(args, name, min(seconds, left)) if left > 5 else {"error": "no time was left"}
            found |= {"section": name, "seconds": round(time.monotonic() - began, 1)}
            report.append(found)
            print(as_line(found, report), flush=True)
    if args.output:
        args.output.write_text(json.dumps({"machine": describe(args.device), "sections": report}, indent=1) + "\n")
    sys.exit(any(found.get("error") or found.get("failed") for found in report))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="a small model and little time: to try this script")
    parser.add_argument("--only", type=lambda words: words.split(","), help=f"sections: {','.join(SECTIONS)}")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    parser.add_argument("--section", choices=SECTIONS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := set(args.only or ()) - SECTIONS.keys():
        parser.error(f"--only {unknown.pop()}: unknown; choose from {','.join(SECTIONS)}")
    return args


def describe(device: str) -> str:
    import torch

    versions = f"python {platform.python_version()}, torch {torch.__version__}"
    if device == "cpu":
        return f"CPU, {torch.get_num_threads()} threads; {versions}"
    if not torch.cuda.is_available():
        sys.exit(f"no CUDA device here ({versions}); try the script itself with --device cpu --tiny")
    return f"{torch.cuda.get_device_name()}; {versions}"


def in_own_process(args: argparse.Namespace, section: str, seconds: float) -> Found:
    """What a section finds; when it fails or takes too long, that is what is found."""
    words = [sys.executable, __file__, "--section", section, "--device", args.device, *["--tiny"] * args.tiny]
    child = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        stdout, stderr = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {seconds:.0f} s"}
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    try:
        return dict(json.loads(stdout.strip().rpartition("\n")[2]))
    except ValueError:
        last = stderr.strip().rpartition("\n")[2] or f"exit status {child.returncode}"
        return {"error": last[:300]}


def run_section(args: argparse.Namespace) -> Found:
    import gpu_checks
    import gpu_training

    match args.section:
        case "matrix":
            return gpu_checks.matrix_rates(args.device, tiny=args.tiny)
        case "agree":
            return gpu_checks.agreement(args.device, tiny=args.tiny)
        case "tests":
            return gpu_checks.gpu_tests(args.device)
        case "attention":
            return gpu_checks.attention(args.device, tiny=args.tiny)
        case loop:
            job = gpu_training.tiny_job(args.device) if args.tiny else gpu_training.paper_base_job(args.device)
            return gpu_training.LOOPS[loop](job)


def as_line(found: Found, report: list[Found]) -> str:
    name = f"{found['section']:<20}"
    if "error" in found:
        return f"{name} {found['error']}"
    if "tokens_per_s" in found:
        line = f"{name} {found['tokens_per_s']:>9,} target tokens/s, {found['updates_per_s']:.2f} updates/s"
        best = max((max(one["rates"].values()) for one in report if one.get("rates")), default=0)
        if best:
            found["share_of_matrix_rate"] = found["tokens_per_s"] * found["flops_per_token"] / (best * 1e9)
            line += f", {found['share_of_matrix_rate']:.1%} of the matrix rate"
        return f"{line}, {found['peak_gb']:.1f} GB, {found['note']}" if found.get("note") else line
    return f"{name} {found['text']}"


if __name__ == "__main__":
    main()
