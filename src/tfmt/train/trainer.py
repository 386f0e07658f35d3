"""The training loop: a pure order of updates plus a small state, so that resuming is continuing.

A run folder is locked while it trains. A signal (Ctrl-C, SIGTERM) ends the update at hand, saves, and exits.
"""

from __future__ import annotations

import json
import math
import signal
import time
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import Tensor

from tfmt import checkpoint
from tfmt.checkpoint import TrainState
from tfmt.config import RunConfig
from tfmt.corpus.batches import Corpus, Cursor, Update, open_prepared, prepared_tokenizer, updates_from
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.device import autocast, pick_device, pick_precision, set_threads
from tfmt.errors import ConfigError, Interrupted, TrainingError
from tfmt.model.transformer import Transformer, num_parameters
from tfmt.runlog import RunLog, View
from tfmt.train.interrupt import Stop, signals_as_wish
from tfmt.train.loss import loss_sums
from tfmt.train.optim import lr_at, make_optimizer
from tfmt.train.run_folder import own_run
from tfmt.train.validate import Validation, Validator


def train(
    cfg: RunConfig, run: Path, *, view: View, device: str = "auto", threads: int = 0, overwrite: bool = False
) -> None:
    """Train to the end, from the start or from where `run` stopped; raises Interrupted on a signal, state saved."""
    set_threads(threads)
    where = pick_device(device)
    if not cfg.data.train:
        raise ConfigError("data.train: is empty; name the folder that `tfmt prepare` made")
    folders = [Path(folder) for folder in cfg.data.train]
    tokenizer = Tokenizer.load(prepared_tokenizer(folders))
    corpus = open_prepared(folders)
    validator = Validator(cfg, tokenizer) if cfg.data.valid_source else None
    with own_run(run, cfg, overwrite=overwrite), RunLog(run / "log.jsonl", view) as log, signals_as_wish() as stop:
        Trainer(cfg, run, corpus, tokenizer, validator, where, log).run(stop)


class Trainer:
    def __init__(
        self,
        cfg: RunConfig,
        run: Path,
        corpus: Corpus,
        tokenizer: Tokenizer,
        validator: Validator | None,
        device: torch.device,
        log: RunLog,
    ) -> None:
        self.cfg = cfg
        self.folder = run
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.validator = validator
        self.device = device
        self.log = log
        self.precision = pick_precision(cfg.train.precision, device)
        torch.manual_seed(cfg.seed)
        self.model = Transformer(cfg.model, tokenizer.vocab_size).to(device).train()
        self.optimizer = make_optimizer(self.model, cfg.train)
        self.state = TrainState()
        self.meter = Meter(device)

    def run(self, stop: Stop) -> None:
        """Update, log, validate, save, until a limit is reached; raises Interrupted when a signal has come."""
        cfg = self.cfg.train
        self._continue()
        reason = self._why_end()
        if reason and (self.folder / "finished.json").exists():
            self.log.event("end", step=self.state.step, message=self._finished_message())
            return
        self._announce()
        updates = updates_from(
            self.corpus,
            self.state.cursor,
            batch_tokens=cfg.batch_tokens,
            micro_batch_tokens=cfg.micro_batch_tokens,
            seed=self.cfg.seed,
        )
        while reason is None:
            self._advance(*next(updates))
            reason = self._why_end()
            step, stops = self.state.step, reason is not None or stop.signal_number != 0
            if stops or step % cfg.log_every == 0:
                self._log_training()
            validates = reason is not None or (cfg.validate_every and step % cfg.validate_every == 0)
            is_best = self._validate() if validates else False
            if stops or is_best or step % cfg.save_every == 0:
                self._save(is_best=is_best)
            if stop.signal_number and reason is None:
                name = signal.Signals(stop.signal_number).name
                raise Interrupted(
                    stop.signal_number,
                    f"stopped by {name} after update {step:,}, which is saved; the same command goes on",
                )
        self._finish(reason)

    def _advance(self, cursor: Cursor, update: Update) -> None:
        """Make one update and move the state past it."""
        started = time.perf_counter()
        loss, nll, norm = self.update(update)
        self.meter.add(loss, nll, norm, update.num_tokens)
        self.state = replace(
            self.state,
            step=self.state.step + 1,
            cursor=cursor,
            tokens_seen=self.state.tokens_seen + update.num_tokens,
            seconds=self.state.seconds + time.perf_counter() - started,
        )

    def update(self, update: Update) -> tuple[Tensor, Tensor, Tensor]:
        """One optimizer step on all of an update's tokens: mean smoothed loss, mean plain loss, gradient norm."""
        cfg = self.cfg.train
        sums = torch.zeros(2, device=self.device)
        for pairs in update.micro_batches:
            batch = self.corpus.batch(pairs).to(self.device)
            with autocast(self.precision, self.device):
                h_PD, layout = self.model.decode_hidden(batch.tgt_in_BT, self.model.encode(batch.src_BS))
                smoothed, plain = loss_sums(
                    h_PD, self.model.head.weight, layout.strip(batch.tgt_out_BT), cfg.label_smoothing
                )
            (smoothed / update.num_tokens).backward()
            sums += torch.stack((smoothed.detach(), plain))
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), cfg.clip_norm or math.inf)
        for group in self.optimizer.param_groups:
            group["lr"] = lr_at(self.state.step + 1, cfg, self.cfg.model.d_model)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        loss, nll = sums / update.num_tokens
        return loss, nll, norm

    def _continue(self) -> None:
        """Go back to the newest whole checkpoint, where there is one."""
        folder = checkpoint.newest_whole_checkpoint(self.folder)
        if folder is None:
            return
        saved = Tokenizer.load(folder / "tokenizer.model")
        if saved.fingerprint != self.tokenizer.fingerprint:
            raise ConfigError(
                f"data.train: prepared with another tokenizer than {self.folder} was trained with; "
                "use that one, or choose another --output"
            )
        self.state = checkpoint.load_state(folder, self.model, self.optimizer)

    def _announce(self) -> None:
        step = self.state.step
        how = f"going on after update {step:,}" if step else "starting"
        self.log.event(
            "resume" if step else "start",
            step=step,
            device=str(self.device),
            precision=self.precision,
            threads=torch.get_num_threads(),
            parameters=num_parameters(self.model),
            pairs=len(self.corpus),
            message=(
                f"{how}: {num_parameters(self.model):,} parameters, {len(self.corpus):,} pairs, "
                f"on {self.device} in {self.precision}, {torch.get_num_threads()} threads"
            ),
        )

    def _why_end(self) -> str | None:
        """Which limit is reached, in words."""
        cfg, state = self.cfg.train, self.state
        if cfg.max_steps and state.step >= cfg.max_steps:
            return f"max_steps {cfg.max_steps:,} reached"
        if cfg.max_epochs and state.cursor.epoch >= cfg.max_epochs:
            return f"max_epochs {cfg.max_epochs:,} reached"
        if cfg.max_minutes and state.seconds >= 60 * cfg.max_minutes:
            return f"max_minutes {cfg.max_minutes:g} reached"
        return None

    def _progress(self) -> float:
        """Share of the training done, by the limit that is nearest."""
        cfg, state = self.cfg.train, self.state
        shares = [0.0]
        if cfg.max_steps:
            shares.append(state.step / cfg.max_steps)
        if cfg.max_epochs:
            shares.append(state.tokens_seen / (cfg.max_epochs * int(self.corpus.target.lengths.sum())))
        if cfg.max_minutes:
            shares.append(state.seconds / (60 * cfg.max_minutes))
        return min(1.0, max(shares))

    def _log_training(self) -> None:
        state, progress = self.state, self._progress()
        loss, nll, norm, tokens_per_s = self.meter.read()
        if not math.isfinite(loss) or not math.isfinite(norm):
            raise TrainingError(
                f"{self.folder}: loss {loss} and gradient norm {norm} near update {state.step:,}; it is not saved: "
                "lower train.learning_rate or raise train.warmup_steps, and start anew with --overwrite"
            )
        self.log.event(
            "train",
            step=state.step,
            epoch=state.cursor.epoch + 1 if state.cursor.update else max(state.cursor.epoch, 1),
            loss=loss,
            nll=nll,
            ppl=math.exp(min(nll, 700.0)),
            lr=lr_at(state.step, self.cfg.train, self.cfg.model.d_model),
            grad_norm=norm,
            tokens_per_s=tokens_per_s,
            tokens_seen=state.tokens_seen,
            seconds=state.seconds,
            progress=progress,
            seconds_left=state.seconds * (1 - progress) / progress if progress else 0.0,
        )

    def _validate(self) -> bool:
        """Validate and log; True when no earlier checkpoint was as good."""
        if self.validator is None:
            return False
        started = time.perf_counter()
        found = self.validator(self.model, self.precision)
        self._spend(time.perf_counter() - started)
        is_best = self.state.best is None or found.bleu > self.state.best
        self.state = replace(
            self.state,
            best=found.bleu if is_best else self.state.best,
            best_step=self.state.step if is_best else self.state.best_step,
        )
        self._log_validation(found, is_best=is_best, averaged=0)
        return is_best

    def _log_validation(self, found: Validation, *, is_best: bool, averaged: int) -> None:
        self.log.event("validate", step=self.state.step, **asdict(found), is_best=is_best, averaged=averaged)

    def _save(self, *, is_best: bool) -> None:
        if self.meter.has_unread and not self.meter.is_finite():
            self._log_training()  # raises: what is not finite is never saved
        started = time.perf_counter()
        folder = checkpoint.checkpoint_folder(self.folder, self.state.step)
        checkpoint.save_checkpoint(
            folder, self.model, self.cfg, self.tokenizer, state=self.state, optimizer=self.optimizer
        )
        checkpoint.link(self.folder, "last", folder)
        if is_best:
            checkpoint.link(self.folder, "best", folder)
        checkpoint.prune(self.folder, self.cfg.train.keep)
        self._spend(time.perf_counter() - started)

    def _spend(self, seconds: float) -> None:
        """Count time that went into something else than updates."""
        self.state = replace(self.state, seconds=self.state.seconds + seconds)
        self.meter.started += seconds

    def _finish(self, reason: str) -> None:
        """Average the last checkpoints, keep the average if it is the best, and say why training ended."""
        averaged = self._average()
        summary = {
            "reason": reason,
            "step": self.state.step,
            "tokens_seen": self.state.tokens_seen,
            "minutes": self.state.seconds / 60,
            "best_bleu": self.state.best,
            "best": (self.folder / "best").resolve().name if (self.folder / "best").exists() else None,
            "averaged": averaged,
        }
        (self.folder / "finished.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        self.log.event("end", step=self.state.step, message=self._finished_message())

    def _average(self) -> list[str]:
        folders = checkpoint.checkpoints(self.folder)[-self.cfg.train.average :]
        if self.cfg.train.average < 2 or len(folders) < 2:
            return []
        checkpoint.average_weights(self.model, folders)
        found = self.validator(self.model, self.precision) if self.validator else None
        is_best = found is None or self.state.best is None or found.bleu >= self.state.best
        if found is not None:
            self._log_validation(found, is_best=is_best, averaged=len(folders))
            if is_best:
                self.state = replace(self.state, best=found.bleu)
        average = self.folder / "checkpoints" / f"average-{self.state.step:08d}"
        checkpoint.save_model(average, self.model, self.cfg, self.tokenizer, step=self.state.step, overwrite=True)
        if is_best:
            checkpoint.link(self.folder, "best", average)
        return [folder.name for folder in folders]

    def _finished_message(self) -> str:
        summary = json.loads((self.folder / "finished.json").read_text(encoding="utf-8"))
        best = f"; best validation BLEU {summary['best_bleu']:.2f}" if summary["best_bleu"] is not None else ""
        return (
            f"finished: {summary['reason']}, {summary['step']:,} updates in {summary['minutes']:.1f} minutes{best}; "
            f"the model is {self.folder / 'best' if summary['best'] else self.folder / 'last'}"
        )


class Meter:
    """Means since the last reading, summed on the device so that no update waits for the CPU."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._clear()

    def _clear(self) -> None:
        self.sums = torch.zeros(3, device=self.device)
        self.num_tokens = 0
        self.num_updates = 0
        self.started = time.perf_counter()

    @property
    def has_unread(self) -> bool:
        return self.num_updates > 0

    def add(self, loss: Tensor, nll: Tensor, norm: Tensor, num_tokens: int) -> None:
        self.sums += torch.stack((loss, nll, norm))
        self.num_tokens += num_tokens
        self.num_updates += 1

    def is_finite(self) -> bool:
        return bool(self.sums.isfinite().all())

    def read(self) -> tuple[float, float, float, float]:
        """Mean loss, plain loss and gradient norm of the updates since the last reading, and target tokens a second."""
        loss, nll, norm = (self.sums / self.num_updates).tolist()
        tokens_per_s = self.num_tokens / (time.perf_counter() - self.started)
        self._clear()
        return loss, nll, norm, tokens_per_s
