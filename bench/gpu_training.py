"""The training loops that gpu.py times: tfmt's own, and two that others would write, of the same model and updates."""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from gpu_checks import random_corpus, wait
from torch import Tensor, nn
from train_speed import Size, Text, flops_per_token

from tfmt.config import RunConfig
from tfmt.corpus.batches import Batch, Corpus, Cursor, updates_from
from tfmt.device import keep_freed_memory
from tfmt.special_ids import BOS, EOS, PAD
from tfmt.train.distributed import World
from tfmt.train.interrupt import Stop
from tfmt.train.trainer import Trainer

Found = dict[str, Any]
WARM_UP = 5  # updates, of the loops beside tfmt's
NUM_PROFILED = 8  # updates


@dataclass(frozen=True)
class Job:
    device: torch.device
    size: Size
    vocab_size: int
    batch_tokens: int  # of the target, an update
    seconds: float  # of training, after the warm-up
    log_every: int  # updates, in tfmt's loop
    corpus: Corpus = field(repr=False)

    @property
    def flops_per_token(self) -> float:
        source, target = (float(side.lengths.mean()) for side in (self.corpus.source, self.corpus.target))
        text = Text(len(self.corpus), source, target, len(self.corpus), target)
        return flops_per_token(self.size, text, self.vocab_size)

    def updates(self) -> Iterator[Batch]:
        """Updates of one batch each, on the device."""
        plan = updates_from(
            self.corpus,
            Cursor(0, 0),
            batch_tokens=self.batch_tokens,
            micro_batch_tokens=2 * self.batch_tokens,
            seed=1,
        )
        return (self.corpus.batch(update.micro_batches[0]).to(self.device) for _, update in plan)


def paper_base_job(device: str) -> Job:
    """Vaswani et al. (2017): 37,000 pieces, about 25,000 source and 25,000 target tokens an update."""
    size = Size(6, 512, 8, 2048, 0.1, log_every=1)
    return Job(torch.device(device), size, 37_000, 25_000, 12.0, 25, random_corpus(300_000, 37_000))


def tiny_job(device: str) -> Job:
    size = Size(1, 32, 4, 64, 0.1, log_every=1)
    return Job(torch.device(device), size, 500, 500, 1.0, 3, random_corpus(500, 500))


def train_tfmt(job: Job, *, compiled: bool = False) -> Found:
    """By the trainer itself, whose log says how fast it was; the first line of it has the warm-up, and is left out."""
    log = Stopwatch(job.seconds)
    precision = run_tfmt(job, log, compiled=compiled)
    first, *events = log.events
    rate = statistics.median(event["tokens_per_s"] for event in events)
    per_update = (events[-1]["tokens_seen"] - first["tokens_seen"]) / (events[-1]["step"] - first["step"])
    losses = f"{first['loss']:.2f} to {events[-1]['loss']:.2f}"
    return report(job, rate, per_update, f"{precision}, loss {losses}, first update after {log.first:.1f} s")


def train_tfmt_compiled(job: Job) -> Found:
    if job.device.type == "cpu":
        return {"text": "not run: needs a GPU"}
    return train_tfmt(job, compiled=True)


def profile_tfmt(job: Job) -> Found:
    """The kernels (on a CPU: the operations) that took most of the time of a few updates."""
    activity = torch.profiler.ProfilerActivity
    is_gpu = job.device.type == "cuda"
    profiler = torch.profiler.profile(activities=[activity.CPU, *[activity.CUDA] * is_gpu])
    log = Stopwatch(0.0, profiler)
    run_tfmt(replace(job, log_every=NUM_PROFILED), log)

    def seconds(row: Any) -> float:
        return float(row.self_device_time_total if is_gpu else row.self_cpu_time_total) / 1e6

    on_device = torch.autograd.DeviceType.CUDA if is_gpu else torch.autograd.DeviceType.CPU
    rows = [row for row in profiler.key_averages() if row.device_type == on_device]
    rows.sort(key=seconds, reverse=True)
    first, second = log.events
    busy, wall = sum(map(seconds, rows)), (second["tokens_seen"] - first["tokens_seen"]) / second["tokens_per_s"]
    kernels = [
        {"name": row.key, "ms_per_update": 1000 * seconds(row) / NUM_PROFILED, "calls": row.count / NUM_PROFILED}
        for row in rows[:25]
    ]
    lines = [f"{one['ms_per_update']:8.2f} ms {one['calls']:6.0f} x  {one['name'][:90]}" for one in kernels[:12]]
    head = f"{1000 * wall / NUM_PROFILED:.1f} ms an update (slowed by being watched), {busy / wall:.0%} of it at work:"
    return {"kernels": kernels, "text": "\n    ".join([head, *lines])}


def run_tfmt(job: Job, log: Stopwatch, *, compiled: bool = False) -> str:
    """Train till the log has seen enough; in which precision."""
    size = job.size
    layers = {"encoder_layers": size.layers, "decoder_layers": size.layers, "d_model": size.d_model}
    cfg = RunConfig.model_validate(
        {
            "model": layers | {"num_heads": size.num_heads, "d_ff": size.d_ff, "dropout": size.dropout},
            "train": {
                "batch_tokens": job.batch_tokens,
                "micro_batch_tokens": 2 * job.batch_tokens,
                "max_steps": 10**6,
                "log_every": job.log_every,
                "save_every": 10**6,
                "clip_norm": 0.0,
                "compile": compiled,
            },
        }
    )
    keep_freed_memory()
    trainer = Trainer(
        cfg,
        Path("nowhere"),
        corpus=job.corpus,
        tokenizer=SimpleNamespace(vocab_size=job.vocab_size),  # type: ignore[arg-type]
        validator=None,
        world=World(job.device),
        log=log,  # type: ignore[arg-type]
        stop=Stop(),
    )
    with contextlib.suppress(EnoughMeasured):
        trainer.run({})
    return trainer.precision


class EnoughMeasured(Exception):
    pass


class Stopwatch:
    """A log that ends the training when it has seen enough of it."""

    def __init__(self, seconds: float, profiler: torch.profiler.profile | None = None) -> None:
        self.seconds = seconds  # after the first line
        self.profiler = profiler  # of what comes between the first line and the second
        self.started = time.perf_counter()
        self.first = 0.0  # seconds till the first update was over (or under way, on a GPU)
        self.ends = math.inf
        self.events: list[dict[str, Any]] = []

    def event(self, name: str, **fields: Any) -> None:
        if name != "train":
            return
        self.events.append(fields)
        if len(self.events) == 1:
            self.ends = time.perf_counter() + self.seconds
            if self.profiler:
                self.profiler.start()
            return
        if self.profiler:
            self.profiler.stop()
        if time.perf_counter() > self.ends:
            raise EnoughMeasured

    def advance(self, step: int, progress: float) -> None:
        if step == 1 and not self.first:
            self.first = time.perf_counter() - self.started


def train_torch(job: Job) -> Found:
    return timed_loop(job, PlainTransformer(job))


class PlainTransformer(nn.Module):
    """torch.nn.Transformer with tied embeddings, on padded rectangles."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        size = job.size
        self.d_model = size.d_model
        self.embedding = nn.Embedding(job.vocab_size, size.d_model)
        nn.init.normal_(self.embedding.weight, std=size.d_model**-0.5)
        self.dropout = nn.Dropout(size.dropout)
        self.layers = nn.Transformer(
            size.d_model, size.num_heads, size.layers, size.layers, size.d_ff, size.dropout, batch_first=True
        )
        place_T1 = torch.arange(512.0).unsqueeze(1)
        rate_D = torch.exp(torch.arange(0, size.d_model, 2) * (-math.log(10_000.0) / size.d_model))
        table_TD = torch.stack(((place_T1 * rate_D).sin(), (place_T1 * rate_D).cos()), dim=-1).flatten(1)
        self.register_buffer("table_TD", table_TD)

    def forward(self, batch: Batch) -> Tensor:
        """Logits, (B, T, V)."""
        causal_TT = nn.Transformer.generate_square_subsequent_mask(batch.tgt_in_BT.shape[1], batch.src_BS.device)
        padding_BS = batch.src_BS == PAD
        hidden_BTD = self.layers(
            self.embed(batch.src_BS),
            self.embed(batch.tgt_in_BT),
            tgt_mask=causal_TT.isinf(),
            tgt_is_causal=True,
            src_key_padding_mask=padding_BS,
            memory_key_padding_mask=padding_BS,
        )
        return F.linear(hidden_BTD, self.embedding.weight)

    def embed(self, ids_BT: Tensor) -> Tensor:
        table_TD: Any = self.table_TD
        embedded_BTD = self.embedding(ids_BT) * math.sqrt(self.d_model) + table_TD[: ids_BT.shape[1]]
        return self.dropout(embedded_BTD)  # type: ignore[no-any-return]


def train_marian(job: Job) -> Found:
    if find_spec("transformers") is None:
        return {"text": "not run: transformers is not installed"}
    return timed_loop(job, Marian(job))


class Marian(nn.Module):
    def __init__(self, job: Job) -> None:
        from transformers import MarianConfig, MarianMTModel

        super().__init__()
        size = job.size
        sides = {
            f"{side}_{name}": value
            for side in ("encoder", "decoder")
            for name, value in (
                ("layers", size.layers),
                ("attention_heads", size.num_heads),
                ("ffn_dim", size.d_ff),
                ("layerdrop", 0.0),
            )
        }
        config = MarianConfig(
            vocab_size=job.vocab_size,
            decoder_vocab_size=job.vocab_size,
            d_model=size.d_model,
            dropout=size.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            activation_function="relu",
            scale_embedding=True,
            max_position_embeddings=512,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=EOS,
            use_cache=False,
            **sides,
        )
        self.model = MarianMTModel(config)

    def forward(self, batch: Batch) -> Tensor:
        found = self.model(
            input_ids=batch.src_BS, attention_mask=(batch.src_BS != PAD).long(), decoder_input_ids=batch.tgt_in_BT
        )
        return found.logits  # type: ignore[no-any-return]


LOOPS: dict[str, Callable[[Job], Found]] = {
    "train tfmt": train_tfmt,
    "train tfmt compiled": train_tfmt_compiled,
    "train torch": train_torch,
    "train marian": train_marian,
    "profile tfmt": profile_tfmt,
}


def timed_loop(job: Job, model: nn.Module) -> Found:
    """Update by update in PyTorch's usual way: on a GPU under autocast, the loss of all logits at once, fused Adam."""
    torch.manual_seed(1)
    model.to(job.device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    batches = list(islice(job.updates(), 40))
    is_gpu = job.device.type == "cuda"
    precision = "bf16" if is_gpu else "fp32"
    losses, num_updates, num_tokens, started = [], 0, 0, 0.0
    for number, batch in enumerate(cycle(batches)):
        if number == WARM_UP:
            wait(job.device.type)
            started = time.perf_counter()
        if number > WARM_UP and number % 5 == 0 and time.perf_counter() - started > job.seconds:
            break
        with torch.autocast(job.device.type, torch.bfloat16, enabled=is_gpu):
            logits_BTV = model(batch)
            total = F.cross_entropy(
                logits_BTV.flatten(0, 1).float(),
                batch.tgt_out_BT.flatten(),
                ignore_index=PAD,
                label_smoothing=0.1,
                reduction="sum",
            )
        loss = total / batch.num_tokens
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        if number >= WARM_UP:
            num_updates += 1
            num_tokens += batch.num_tokens
    wait(job.device.type)
    seconds = time.perf_counter() - started
    shown = f"{precision}, loss {float(losses[0]):.2f} to {float(losses[-1]):.2f}"
    return report(job, num_tokens / seconds, num_tokens / num_updates, shown)


def report(job: Job, tokens_per_s: float, tokens_per_update: float, note: str) -> Found:
    peak = torch.cuda.max_memory_allocated() / 1e9 if job.device.type == "cuda" else 0.0
    return {
        "tokens_per_s": round(tokens_per_s),
        "updates_per_s": tokens_per_s / tokens_per_update,
        "flops_per_token": round(job.flops_per_token),
        "peak_gb": round(peak, 2),
        "note": note,
    }
