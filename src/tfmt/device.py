"""What the machine can do: devices, threads, and the number format that is fastest and safe."""

from __future__ import annotations

import ctypes
import platform
import resource
import sys
import time
from pathlib import Path
from typing import Literal

import torch

from tfmt.errors import ConfigError

MAX_THREADS = 1024
Precision = Literal["auto", "fp32", "bf16"]


def pick_device(name: str) -> torch.device:
    """The device of `--device`: cpu, cuda, cuda:1, or auto (a GPU where there is one); raises ConfigError."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ConfigError(f"--device {name}: unknown; choose cpu, cuda, cuda:N or auto")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(f"--device {name}: this machine has {torch.cuda.device_count()} CUDA devices")
    return device


def set_threads(threads: int) -> None:
    """Use this many CPU threads; 0 leaves the choice to OMP_NUM_THREADS or the number of cores."""
    if not 0 <= threads <= MAX_THREADS:
        raise ConfigError(f"--threads {threads}: must be from 0 (all) to {MAX_THREADS}")
    if threads:
        torch.set_num_threads(threads)


def keep_freed_memory() -> None:
    """Let the C library keep what is freed: fresh pages for each batch cost a tenth of a CPU's step (LOG.md)."""
    if platform.libc_ver()[0] != "glibc":
        return
    library = ctypes.CDLL("libc.so.6")
    trim_threshold, top_pad, mmap_threshold = -1, -2, -3  # names of malloc.h
    library.mallopt(mmap_threshold, 32 << 20)  # the most it takes
    library.mallopt(trim_threshold, 2**31 - 1)
    library.mallopt(top_pad, 64 << 20)


def pick_precision(precision: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """What "auto" means for training on a device: bf16 where it multiplies bf16 natively."""
    if precision != "auto":
        return precision
    return "bf16" if _multiplies_bf16(device) else "fp32"


def pick_decode_precision(precision: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """What "auto" means for translating: fp32 on a CPU, where then neither batch nor neighbours change a word."""
    if precision == "auto" and device.type == "cpu":
        return "fp32"
    return pick_precision(precision, device)


def autocast(precision: Literal["fp32", "bf16"], device: torch.device) -> torch.autocast:
    """The context in which matrix products run in that format; everything delicate stays in fp32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def _multiplies_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device)[0] >= 8
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("flags")[2].partition("\n")[0].split()
    except OSError:  # not Linux
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def matrix_rate(device: torch.device, precision: Literal["fp32", "bf16"], seconds: float = 0.15) -> float:
    """Floating-point operations a second of the best of a few square matrix products in that format."""
    size = 8192 if device.type == "cuda" else 1024
    generator = torch.Generator(device).manual_seed(1)  # its own, so that nothing else draws other numbers
    values = torch.randn(size, size, device=device, generator=generator)
    one = values.to(torch.bfloat16 if precision == "bf16" else torch.float32)
    out, started = torch.empty_like(one), time.perf_counter()
    times: list[float] = []
    while len(times) < 3 or time.perf_counter() - started < seconds:  # the first one prepares much
        _wait_for(device)
        begin = time.perf_counter()
        torch.mm(one, one, out=out)
        _wait_for(device)
        times.append(time.perf_counter() - begin)
    return 2 * size**3 / min(times)


def peak_memory(device: torch.device) -> int:
    """Bytes: the most this process has had of a GPU's memory, or of a CPU's."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
