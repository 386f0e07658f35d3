"""The training loop: a pure order of updates plus a small state, so that resuming is continuing.

A run folder is locked while it trains. A signal (Ctrl-C, SIGTERM) ends the update at hand, saves, and exits.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tfmt import checkpoint
from tfmt.checkpoint import Scored, TrainState
from tfmt.config import RunConfig
from tfmt.config_file import Differences, differences
from tfmt.corpus.batches import Batch, Corpus, Cursor, Update, share_of, updates_from
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.device import keep_freed_memory, matrix_rate, peak_memory, pick_precision, set_threads
from tfmt.errors import ConfigError, Interrupted, TrainingError
from tfmt.model.flops import forward_flops
from tfmt.model.transformer import Transformer, num_parameters
from tfmt.runlog.log import RunLog, View
from tfmt.train import retention
from tfmt.train.archive import Archive
from tfmt.train.averaging import average_weights
from tfmt.train.data import open_data
from tfmt.train.distributed import World
from tfmt.train.ema import MovingAverage
from tfmt.train.feed import ahead
from tfmt.train.freeze import check_parts, freeze, num_frozen
from tfmt.train.interrupt import BreakOff, Stop, signals_as_wish
from tfmt.train.learner import Learner, Measured
from tfmt.train.limits import progress, warn_of_rates, why_end
from tfmt.train.memory import fitting_micro_batch
from tfmt.train.meter import Meter
from tfmt.train.reporting import no_log, open_log
from tfmt.train.run_folder import as_words, own_run
from tfmt.train.schedule import lr_at
from tfmt.train.sharding import is_sharded, put, where_models_begin
from tfmt.train.shortfall import LeftOut
from tfmt.train.start import Start, start_from
from tfmt.train.summary import Summary
from tfmt.train.trouble import Counts, Diverged, TroubleCounter, all_finite
from tfmt.train.validate import Share, Validation, Validator
from tfmt.units import START, is_due

logger = logging.getLogger(__name__)


def train(cfg: RunConfig, run: Path, *, view: View, world: World, threads: int = 0, overwrite: bool = False) -> None:
    """Train to the end, from the start or from where `run` stopped; raises Interrupted on a signal, state saved."""
    set_threads(threads)
    keep_freed_memory()
    tokenizer, corpus = open_data(cfg)
    validator = Validator(cfg, tokenizer) if cfg.data.valid_source else None
    check_parts(cfg, tokenizer.vocab_size)
    start = None
    if world.is_main and cfg.train.start_from and (overwrite or not checkpoint.checkpoints(run)):
        start = start_from(Path(cfg.train.start_from), cfg.model, tokenizer)
    with ExitStack() as stack:
        changed: Differences = {}
        if world.is_main:
            changed = stack.enter_context(own_run(run, cfg, overwrite=overwrite))
            log = stack.enter_context(open_log(run, cfg, view))
        else:
            log = stack.enter_context(no_log())
        stop = stack.enter_context(signals_as_wish())
        trainer = Trainer(
            cfg,
            run,
            corpus=corpus,
            tokenizer=tokenizer,
            validator=validator,
            start=start,
            world=world,
            log=log,
            stop=stop,
        )
        trainer.run(changed)


class Trainer:
    def __init__(
        self,
        cfg: RunConfig,
        run: Path,
        *,
        corpus: Corpus,
        tokenizer: Tokenizer,
        validator: Validator | None,
        start: Start | None = None,
        world: World,
        log: RunLog,
        stop: Stop,
    ) -> None:
        self.cfg = cfg
        self.folder = run
        self.corpus = corpus
        self.tokenizer = tokenizer
        self.archive = Archive(run, cfg, tokenizer)
        self.validator = validator
        self.world = world
        self.device = world.device
        self.log = log
        self.stop = stop
        self.precision = pick_precision(cfg.train.precision, world.device)
        if cfg.train.compile and self.device.type == "cpu":
            raise ConfigError("train.compile: true pays on a GPU only, and this training is on cpu; set it false")
        data = corpus.fingerprint()
        self._check_alike(data)
        torch.manual_seed(cfg.seed)
        with where_models_begin(cfg.train, world):
            model = Transformer(cfg.model, tokenizer.vocab_size).train()
        self.start = start  # rank 0's, as the weights are that all begin with
        if start:
            start.put_into(model)
        freeze(model, cfg.train.freeze)
        self.num_weights = num_parameters(model), num_frozen(model)
        self.learner = Learner(model, cfg.train, self.precision, world)
        self.model = self.learner.model  # what this process holds of it
        self.ema = MovingAverage(self.model, cfg.train.ema) if cfg.train.ema else None
        self.state = TrainState(
            data=data,
            validation=validator.fingerprint() if validator else "",
            machine=f"{self._machine()} in {self.precision}, {torch.get_num_threads()} threads"
            + (", compiled" if cfg.train.compile else "")
            + (", sharded" if is_sharded(cfg.train, world) else ""),
        )
        warn_of_rates(cfg.train, int(corpus.target.lengths.sum()))
        self.makes_ahead = world.device.type == "cuda"  # on a CPU a thread for that would take a core from the work
        self.meter = Meter(world.device)
        self.troubles = TroubleCounter(world.device)
        self.matrix_rate = math.inf  # FLOP/s of all devices together, once it has been measured
        self.logged = START
        self.began = (0.0, 0.0)  # seconds and progress when this process took over

    @property
    def served(self) -> Transformer:
        """What is validated and saved for use: the model that trains, or the moving average of its weights."""
        return self.ema.model if self.ema else self.model

    def run(self, changed: Differences) -> None:
        """Update, log, validate, save, until a limit is reached; raises Interrupted when a signal has come."""
        self._continue()
        is_over = why_end(self.cfg.train, self.state) is not None
        if is_over and self.world.on_main(self._says_again):
            return
        if self.cfg.train.micro_batch_tokens == "auto" and not self.state.micro_batch_tokens:
            found = fitting_micro_batch(self.learner, self.corpus, self.cfg)
            self.state = replace(self.state, micro_batch_tokens=found)
        self._announce(changed)
        try:
            while (reason := self._train()) is None:
                pass
            self._finish(reason)
        except BreakOff:
            saved = self._save_for_stop()
            raise Interrupted(
                self.stop.signal_number,
                f"stopped by {self.stop.signal_name} after update {self.state.step:,}, {saved}",
            ) from None

    def _train(self) -> str | None:
        """Update, log, validate and save until a limit is reached: which; None after going back in trouble."""
        cfg, updates = self.cfg.train, self._updates()
        self.began = (self.state.seconds, progress(cfg, self.state))
        self.logged = self.state.position
        self.meter.restart()
        self.log.advance(self.state.step, progress(cfg, self.state))
        reason = why_end(cfg, self.state)
        try:
            self._validate_if_due(reason)  # what a signal broke off
            while reason is None:
                self._advance(updates)
                reason = why_end(cfg, self.state)
                self.log.advance(self.state.step, progress(cfg, self.state))
                if reason or self.stop.signal_number or is_due(cfg.log_every, self.logged, self.state.position):
                    self._log_training()
                self.stop.grant()
                is_saved = self._validate_if_due(reason)
                reason = why_end(cfg, self.state)
                if not is_saved and (reason or is_due(cfg.save_every, self.state.saved, self.state.position)):
                    self._save()
        except Diverged as trouble:
            self._go_back(trouble)
            return None
        return reason

    def _updates(self) -> Iterator[tuple[Cursor, Update]]:
        """Updates from where training stands; for a GPU their batches are made ahead."""
        updates = updates_from(
            self.corpus,
            self.state.cursor,
            batch_tokens=self.cfg.train.batch_tokens,
            micro_batch_tokens=self.cfg.train.tokens_at_once(self.state.micro_batch_tokens),
            seed=self.cfg.seed,
        )
        if not self.makes_ahead:
            return updates
        return ahead(
            (cursor, replace(update, shares=[list(share) for share in self._shares_of(update)]))
            for cursor, update in updates
        )

    def _validate_if_due(self, reason: str | None) -> bool:
        """Validate when it is time to, and save what is best so far; whether it has been saved."""
        state, every = self.state, self.cfg.train.validate_every
        wanted = reason is not None and state.step > state.validated.updates
        if self.validator is None or not (wanted or is_due(every, state.validated, state.position)):
            return False
        is_best = self._validate(self.validator)
        is_kept = any(scored.step == state.step for scored in self.state.ranked)
        if is_kept:
            self._save(is_best=is_best)
        return is_kept

    def _advance(self, updates: Iterator[tuple[Cursor, Update]]) -> None:
        """Make one update and move the state past it; then all agree on whether to stop, and on the time, rank 0's."""
        started = time.perf_counter()
        cursor, update = next(updates)
        measured = self.update(update)
        self.meter.add(measured, update.num_tokens, self._flops(update))
        self.troubles.add(measured)
        if self.ema:
            self.ema.follow(self.model, self.state.step + 1, measured.is_finite)
        seconds = self.state.seconds + time.perf_counter() - started if self.world.is_main else 0.0
        signal_number, seconds = self.world.most(self.stop.wish, seconds)
        self.stop.signal_number = int(signal_number)
        self.state = replace(
            self.state,
            step=self.state.step + 1,
            cursor=cursor,
            tokens_seen=self.state.tokens_seen + update.num_tokens,
            seconds=seconds,
        )
        if self.device.type == "cpu":  # which knows already: no need to wait for the next line of the log
            self._heed_troubles()

    def update(self, update: Update) -> Measured:
        """One optimizer step on all of an update's tokens, of which other processes do their shares."""
        lr, seed = self._lr(self.state.step + 1), (self.cfg.seed, self.state.step)
        return self.learner.learn(update.shares or self._shares_of(update), update.num_tokens, lr, seed)

    def _flops(self, update: Update) -> float:
        """Floating-point operations that an update's matrix products need."""
        pairs = np.concatenate(update.micro_batches)
        source, target = self.corpus.source.lengths[pairs], self.corpus.target.lengths[pairs]
        passes = 2 if self.cfg.train.r_drop else 1
        return 3 * passes * forward_flops(self.cfg.model, self.tokenizer.vocab_size, source, target)

    def _lr(self, step: int) -> float:
        return self.state.rate_scale * lr_at(step, self.cfg.train, self.cfg.model.d_model)

    def _shares_of(self, update: Update) -> list[Iterator[Batch]]:
        """The batches of each of this process's workers."""
        first = self.world.rank * self.learner.workers.num
        return [
            (
                self.corpus.batch(pairs).to(self.device)
                for pairs in share_of(update, self.corpus, number, self.learner.num_shares)
                if len(pairs)
            )
            for number in range(first, first + self.learner.workers.num)
        ]

    def _heed_troubles(self) -> None:
        """Bring the state's counts up to date; raise Diverged when too many updates in a row were skipped."""
        counts = self.troubles.read()
        self.state = replace(
            self.state,
            num_skipped=counts.num_skipped,
            num_skipped_in_row=counts.num_skipped_in_row,
            num_left_out=counts.num_left_out,
        )
        if counts.num_skipped_in_row >= self.cfg.train.max_skipped:
            raise Diverged(f"loss or gradient was not finite in {counts.num_skipped_in_row} updates in a row")

    def _go_back(self, trouble: Diverged) -> None:
        """Go on from the last good checkpoint at half the rate; raises TrainingError when that is no way out."""
        failed = self.state
        good = self.world.on_main(lambda: retention.newest_good_checkpoint(self.folder))
        advice = "lower train.learning_rate or raise train.warmup_steps, and start anew with --overwrite"
        at = f"{self.folder}: after update {failed.step:,}: {trouble}"
        if good is None:
            raise TrainingError(f"{at}, and no good checkpoint is there to go back to: {advice}")
        if failed.num_rewinds >= self.cfg.train.max_rewinds:
            raise TrainingError(f"{at}; {good.name} is the last good checkpoint (train.max_rewinds reached): {advice}")
        self.world.on_main(lambda: retention.delete_after(self.folder, good))
        self._load(good)
        self.state = replace(
            self.state,
            seconds=failed.seconds,
            num_skipped=failed.num_skipped,
            num_left_out=failed.num_left_out,
            num_rewinds=failed.num_rewinds + 1,
            rate_scale=failed.rate_scale / 2,
        )
        self._count_from_state()
        self.log.event(
            "rewind",
            step=self.state.step,
            failed_step=failed.step,
            reason=str(trouble),
            rate_scale=self.state.rate_scale,
            message=(
                f"after update {failed.step:,}: {trouble}; going back to update {self.state.step:,}, "
                f"at {self.state.rate_scale:g} times the rate"
            ),
        )

    def _continue(self) -> None:
        """Go back to the newest whole checkpoint, where there is one; rank 0 reads it for all."""
        self._load(self.world.on_main(lambda: retention.newest_whole_checkpoint(self.folder)))

    def _load(self, folder: Path | None) -> None:
        """Have all as a checkpoint holds it; None: as they have begun."""
        if folder is not None:
            held, ema = self.learner.held, self.ema
            model, average = held.to_save(self.model), held.to_save(ema.model) if ema else None
            state = self.state
            optimizer: Mapping[str, Tensor] = {}
            if self.world.is_main:
                state, optimizer = self.archive.read(folder, model, average, self.state)
            self.state = self.world.told(state)
            self.learner.take(dict(model.named_parameters()), optimizer)
            if ema and average:
                put(ema.model, held.given_out(dict(average.named_parameters())).items())
        self._count_from_state()

    def _count_from_state(self) -> None:
        state = self.state
        self.troubles.set(Counts(state.num_skipped, state.num_skipped_in_row, state.num_left_out))

    def _check_alike(self, data: str) -> None:
        """Raise ConfigError unless all processes have the same settings and pairs."""
        main, *others = self.world.gathered((self.cfg, data))
        for rank, (cfg, others_data) in enumerate(others, start=1):
            for key, (here, there) in differences(main[0], cfg).items():
                raise ConfigError(f"{key}: is {here!r} in process 0 and {there!r} in process {rank}; start all alike")
            if others_data != main[1]:
                raise ConfigError(
                    f"data.train: holds other pairs for process {rank} than for process 0; copy the folder"
                )

    def _announce(self, changed: Differences) -> None:
        step, (parameters, frozen), found = self.state.step, self.num_weights, self.state.micro_batch_tokens
        self.matrix_rate = self.world.size * self.world.on_main(lambda: matrix_rate(self.device, self.precision))
        how = "starting"
        if step:
            how = f"going on after update {step:,}"
        elif self.start:
            how = f"starting from {self.start.origin}"
        self.log.event(
            "resume" if step else "start",
            step=step,
            run=str(self.folder),
            device=str(self.device),
            precision=self.precision,
            threads=torch.get_num_threads(),
            processes=self.world.size,
            parameters=parameters,
            frozen=frozen,
            pairs=len(self.corpus),
            micro_batch_tokens=found or self.cfg.train.micro_batch_tokens,
            matrix_flops_per_s=self.matrix_rate,
            changed=changed,
            message=(
                f"{how}: {parameters:,} parameters{f' ({frozen:,} frozen)' if frozen else ''}, "
                f"{len(self.corpus):,} pairs, "
                f"on {self._machine()} in {self.precision}, {torch.get_num_threads()} threads"
                + (f", micro-batches of up to {found:,} tokens, which memory holds" if found else "")
                + (f"; {as_words(changed)}" if changed else "")
            ),
        )

    def _machine(self) -> str:
        return f"{self.world.size} x {self.device.type}" if self.world.size > 1 else str(self.device)

    def _seconds_left(self) -> float:
        """By the speed since this process took over: another may have had another machine, or a busier one."""
        seconds, share = self.began
        now = progress(self.cfg.train, self.state)
        return (self.state.seconds - seconds) * (1 - now) / (now - share) if now > share else 0.0

    def _log_training(self) -> None:
        self._heed_troubles()
        state, self.logged = self.state, self.state.position
        self.troubles.tell(self.log, state.step, self._left_out)
        reading = self.meter.read()
        if reading is None:
            return
        self.log.event(
            "train",
            step=state.step,
            epoch=state.cursor.epoch + 1 if state.cursor.update else max(state.cursor.epoch, 1),
            loss=reading.loss,
            nll=reading.nll,
            ppl=math.exp(min(reading.nll, 700.0)),
            lr=self._lr(state.step),
            grad_norm=reading.norm,
            tokens_per_s=reading.tokens_per_s,
            matrix_share=reading.flops_per_s / self.matrix_rate,
            peak_memory_bytes=peak_memory(self.device),
            tokens_seen=state.tokens_seen,
            skipped=state.num_skipped,
            left_out=state.num_left_out,
            seconds=state.seconds,
            progress=progress(self.cfg.train, state),
            seconds_left=self._seconds_left(),
        )

    def _left_out(self) -> list[LeftOut]:
        """The pairs that no memory held, in any process, since this was last asked; all must ask."""
        here, self.learner.left_out = self.learner.left_out, []
        return [pair for pairs in self.world.gathered(here) for pair in pairs]

    def _validate(self, validator: Validator) -> bool:
        """Validate and log; True when no earlier checkpoint was as good."""
        self._require_finite()
        started = time.perf_counter()
        found = validator(self.learner.held.to_use(self.served), self._shares)
        self._spend(time.perf_counter() - started)
        score, state = self._score(found), self.state
        is_best = state.best is None or score > state.best
        ranked = retention.rank(state.ranked, Scored(score, state.step), self.cfg.train.keep_best)
        self.state = replace(state, ranked=ranked, num_worse=state.num_worse + 1, validated=state.position)
        if is_best:
            self.state = replace(self.state, best=score, best_step=state.step, num_worse=0)
        self._log_validation(found, is_best=is_best, averaged=0)
        return is_best

    def _shares(self, work: Callable[[int, int], Share]) -> list[Share]:
        """Every process's share of a validation; a signal ends it at once, for all, since it can be done again."""
        share = None
        with suppress(BreakOff), self.stop.breakable():
            share = work(self.world.rank, self.world.size)
        shares = [share for share in self.world.gathered(share) if share is not None]
        if len(shares) < self.world.size:
            self.stop.signal_number = int(self.world.most(self.stop.wish)[0])
            raise BreakOff
        return shares

    def _score(self, found: Validation) -> float:
        """What decides which checkpoint is best; higher is better."""
        match self.cfg.train.best_by:
            case "bleu":
                return found.bleu
            case "chrf":
                return found.chrf
            case "ppl":
                return -found.ppl
            case "loss":
                return -found.loss

    def _log_validation(self, found: Validation, *, is_best: bool, averaged: int) -> None:
        self.log.event("validate", step=self.state.step, **asdict(found), is_best=is_best, averaged=averaged)

    def _save(self, *, is_best: bool = False) -> None:
        self._heed_troubles()
        self._require_finite()
        started = time.perf_counter()
        regular = is_due(self.cfg.train.save_every, self.state.saved, self.state.position)
        state = replace(self.state, saved=self.state.position)
        held, ema = self.learner.held, self.ema
        model, average = held.to_save(self.model), held.to_save(ema.model) if ema else None
        optimizer = self.learner.optimizer_state()
        self.world.on_main(
            lambda: self.archive.write(state, model, optimizer, average, regular=regular, is_best=is_best)
        )
        self.state = state
        self._spend(time.perf_counter() - started)

    def _save_for_stop(self) -> str:
        """Save unless it is saved; what has become of the last update, in words."""
        try:
            if self.state.saved.updates != self.state.step:
                self._save()
        except Diverged as trouble:
            return f"which is not saved ({trouble}); the same command goes on from the last checkpoint"
        return "which is saved; the same command goes on from there"

    def _require_finite(self) -> None:
        """Raise rather than save, or translate with, what is no number."""
        if self.world.most(not all_finite(self.model, self.served))[0]:
            raise Diverged("weights are not finite")

    def _spend(self, seconds: float) -> None:
        """Count time that went into something else than updates, rank 0's."""
        seconds = self.world.told(seconds)
        self.state = replace(self.state, seconds=self.state.seconds + seconds)
        self.meter.leave_out(seconds)

    def _finish(self, reason: str) -> None:
        """Average the last checkpoints, keep the average if it is the best, and say why training ended."""
        averaged = self._average()
        self.world.on_main(lambda: self._say(self.archive.summarise(self.state, reason, averaged)))

    def _says_again(self) -> bool:
        """Whether the run ended here, which is then said once more."""
        summary = Summary.read(self.folder)
        if summary is None or summary.step != self.state.step:
            return False
        self._say(summary)
        return True

    def _say(self, summary: Summary) -> None:
        self.log.event("end", step=summary.step, message=summary.message(self.folder))

    def _average(self) -> list[str]:
        """Average the last checkpoints, and keep that as the best if it is; which they are."""
        folders = self.world.on_main(lambda: self.archive.to_average(self.state))
        if len(folders) < 2:
            return []
        model = self.learner.held.to_use(self.model)
        self.world.on_main(lambda: average_weights(model, folders))
        self.world.copy_from_main(list(model.parameters()))
        found = self.validator(model, self._shares) if self.validator else None
        is_best = found is None or self.state.best is None or self._score(found) > self.state.best
        if found is not None:
            self._log_validation(found, is_best=is_best, averaged=len(folders))
            if is_best:
                self.state = replace(self.state, best=self._score(found))
        self.world.on_main(lambda: self.archive.write_average(model, self.state.step, is_best=is_best))
        return [folder.name for folder in folders]
