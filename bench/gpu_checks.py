"""The sections of gpu.py that check a device: its matrix rate, agreement with the CPU, tests, attention."""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from tfmt.config import DecodeConfig, ModelConfig, RunConfig
from tfmt.corpus.batches import Corpus, Side
from tfmt.decode.scorer import ModelScorer
from tfmt.decode.search import beam_search
from tfmt.model.transformer import Transformer
from tfmt.special_ids import EOS
from tfmt.train.distributed import World
from tfmt.train.learner import Learner
from tfmt.train.loss import batch_loss_sums
from tfmt.train.workers import Workers

Found = dict[str, Any]
TOLERANCES = {"loss fp32": 1e-4, "gradients fp32": 1e-3, "loss bf16": 1e-2, "gradients bf16": 5e-2}  # relative


def matrix_rates(device: str, *, tiny: bool) -> Found:
    """GFLOP/s of the best products by torch.mm: of a layer's, of the output's, and of large squares."""
    shapes = [(64, 64, 64)] if tiny else [(25_600, 512, 2048), (3_328, 512, 37_000), (8192, 8192, 8192)]
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    rates = {}
    for m, k, n in shapes:
        a, b = torch.randn(m, k, device=device).to(dtype), torch.randn(k, n, device=device).to(dtype)
        rates[f"{m}x{k}x{n}"] = round(2 * m * k * n / best_seconds(lambda a=a, b=b: torch.mm(a, b), device) / 1e9)
    shown = ", ".join(f"{rate / 1000:,.1f} ({shape})" for shape, rate in rates.items())
    return {"rates": rates, "text": f"{shown} TFLOP/s in {str(dtype).removeprefix('torch.')}"}


def best_seconds(work: Callable[[], object], device: str, *, repeats: int = 10) -> float:
    """The least time of ten runs of the work, after three that warm up."""
    seconds = []
    for number in range(3 + repeats):
        wait(device)
        started = time.perf_counter()
        work()
        wait(device)
        if number >= 3:
            seconds.append(time.perf_counter() - started)
    return min(seconds)


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def agreement(device: str, *, tiny: bool) -> Found:
    """Relative differences of loss and gradients from the CPU's in fp32, and how a learnt task is translated."""
    errors = {}
    expected = loss_and_gradients("cpu", "fp32", tiny=tiny)
    for precision in ("fp32", "bf16"):
        loss, gradients = loss_and_gradients(device, precision, tiny=tiny)
        total = torch.stack([gradient.norm() for gradient in expected[1]]).norm()
        errors[f"loss {precision}"] = abs(loss / expected[0] - 1)
        # of whole gradients: numbers near 0 (a key's bias has no effect at all) have no accuracy of their own
        errors[f"gradients {precision}"] = max(
            float((found - wanted).norm() / (wanted.norm() + 0.02 * total))
            for found, wanted in zip(gradients, expected[1], strict=True)
        )
    failed = [name for name, error in errors.items() if not error <= TOLERANCES[name]]
    num_same, num_right, num = learnt_task(device, tiny=tiny)
    if num_same < num:
        failed.append("translations differ from the CPU's")
    shown = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
    text = f"{shown}; {num_same} of {num} translations are the CPU's, {num_right} are right"
    return {"errors": errors, "failed": failed, "text": f"{text}{'; WRONG: ' + ', '.join(failed) if failed else ''}"}


def loss_and_gradients(device: str, precision: str, *, tiny: bool) -> tuple[float, list[Tensor]]:
    torch.manual_seed(1)
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 256, "num_heads": 4, "d_ff": 1024, "dropout": 0.0}
    vocab_size = 500 if tiny else 8000
    model = Transformer(ModelConfig.model_validate(sizes), vocab_size).to(device).train()
    corpus = random_corpus(20 if tiny else 200, vocab_size)
    workers = Workers(model, precision)  # type: ignore[arg-type]
    batch = corpus.batch(np.arange(len(corpus))).to(model.device)

    def gradients(work: Transformer, batch: Any) -> Tensor:
        smoothed, plain = batch_loss_sums(work, batch, 0.1)
        smoothed.backward()
        return torch.stack((smoothed.detach(), plain))

    workers.seed(1)
    sums, _ = workers.add_gradients([[batch], *[[]] * (workers.num - 1)], gradients)
    return float(sums[0]), [parameter.grad.cpu() for parameter in model.parameters() if parameter.grad is not None]


def random_corpus(num_pairs: int, vocab_size: int) -> Corpus:
    """Random pieces; lengths as in WMT 2014: a target of about as many as its source, 29 in the mean."""
    generator = np.random.default_rng(1)
    source = np.clip(generator.lognormal(3.15, 0.6, num_pairs), 1, 150).astype(np.int64)
    target = np.clip(source * generator.lognormal(0.0, 0.2, num_pairs), 1, 170).astype(np.int64)
    sides = []
    for lengths in (source, target):
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        sides.append(Side(generator.integers(4, vocab_size, offsets[-1], dtype=np.int32), offsets))
    return Corpus(*sides)


def learnt_task(device: str, *, tiny: bool) -> tuple[int, int, int]:
    """Learn to turn sentences round on the device; how many it translates as a CPU does, and right, of how many."""
    torch.manual_seed(1)
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 128, "num_heads": 4, "d_ff": 256, "dropout": 0.1}
    model = Transformer(ModelConfig.model_validate(sizes), 24).to(device).train()
    cfg = RunConfig().train
    learner = Learner(model, cfg, "fp32", World(model.device))
    generator = np.random.default_rng(1)

    def pairs(num: int) -> Corpus:
        sources = [generator.integers(4, 24, generator.integers(2, 8)).tolist() for _ in range(num)]
        return Corpus(Side.of(sources), Side.of([ids[::-1] for ids in sources]))

    for step in range(20 if tiny else 300):
        corpus = pairs(128)
        batch = corpus.batch(np.arange(128)).to(model.device)
        shares = [[batch], *[[]] * (learner.workers.num - 1)]
        learner.learn(shares, batch.num_tokens, lr=2e-3 * min(1, (step + 1) / 50), seed=(1, step))
    test = pairs(50)
    sources = test.batch(np.arange(50))
    decode = DecodeConfig.model_validate({"beam": 4, "max_length_ratio": 1.0, "max_length_offset": 5})
    model.eval()
    with torch.no_grad():
        there = [best[0].ids for best in beam_search(ModelScorer(model), sources.src_BS.to(device), decode)]
        here = [best[0].ids for best in beam_search(ModelScorer(model.to("cpu")), sources.src_BS, decode)]
    wanted = [[token for token in row if token > EOS] for row in sources.tgt_out_BT.tolist()]
    same = sum(list(one) == list(other) for one, other in zip(there, here, strict=True))
    return same, sum(list(one) == ids for one, ids in zip(there, wanted, strict=True)), len(wanted)


def gpu_tests(device: str) -> Found:
    """The tests marked gpu, in this process, where the stand-ins are on the path."""
    if find_spec("pytest") is None:
        return {"text": "not run: pytest is not installed"}
    import pytest

    os.chdir(Path(__file__).parents[1])
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = pytest.main(
            ["-q", "-m", "gpu", "-p", "no:cacheprovider", "-W", "default", "--tb=line", "tests/test_gpu.py"]
        )
    lines = said.getvalue().strip().splitlines() or [""]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return {
        "failed": failed or ([f"pytest ended with {status}"] if status else []),
        "text": "; ".join([*failed, lines[-1]]),
    }


def attention(device: str, *, tiny: bool) -> Found:
    """Milliseconds forward and backward of one attention to padded sentences, by mask, and without padding at all."""
    generator = np.random.default_rng(1)
    lengths = np.sort(generator.integers(20, 36, 20 if tiny else 900))  # as in a batch of sentences of like length
    batch, longest, heads, width = len(lengths), int(lengths.max()), 8, 64
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    is_token_BT = torch.from_numpy(np.arange(longest) < lengths[:, None]).to(device)
    strips = [torch.randn(int(lengths.sum()), heads, width, device=device).to(dtype) for _ in range(3)]

    def padded() -> Tensor:
        rectangles = []
        for strip in strips:
            rectangle = strip.new_zeros(batch, longest, heads, width)
            rectangle[is_token_BT] = strip
            rectangles.append(rectangle.transpose(1, 2))
        mixed = F.scaled_dot_product_attention(*rectangles, attn_mask=is_token_BT[:, None, None, :])
        return mixed.transpose(1, 2)[is_token_BT]

    ways = {"mask": padded}
    with contextlib.suppress(ImportError):
        from torch.nn.attention.varlen import varlen_attn

        if device == "cuda":
            ends = torch.from_numpy(np.concatenate(([0], np.cumsum(lengths)))).to(device, torch.int32)
            ways["varlen"] = lambda: varlen_attn(strips[0], strips[1], strips[2], ends, ends, longest, longest)
    found, seconds, failed = {}, {}, []
    for name, way in ways.items():
        for strip in strips:
            strip.requires_grad_()
        found[name] = way().detach().float()

        def both(way: Callable[[], Tensor] = way) -> None:
            way().float().sum().backward()

        seconds[name] = best_seconds(both, device)
    shown = ", ".join(f"{name} {1000 * value:.2f} ms" for name, value in seconds.items())
    if "varlen" not in found:
        return {"seconds": seconds, "text": f"{shown}; varlen is not there"}
    error = float((found["varlen"] - found["mask"]).abs().max())
    if not error <= 0.02:
        failed.append(f"they differ by {error:.3f}")
    return {"seconds": seconds, "failed": failed, "text": f"{shown}; greatest difference {error:.1e}"}
