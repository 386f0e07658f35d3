"""What a run keeps: its checkpoints, the links `best` and `last`, and its summary. Rank 0's alone."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from torch import Tensor

from tfmt import checkpoint
from tfmt.checkpoint import TrainState
from tfmt.config import RunConfig
from tfmt.corpus.tokenizer import Tokenizer
from tfmt.errors import ConfigError
from tfmt.model.transformer import Transformer
from tfmt.train import retention
from tfmt.train.summary import Summary

logger = logging.getLogger(__name__)


class Archive:
    def __init__(self, run: Path, cfg: RunConfig, tokenizer: Tokenizer) -> None:
        self.folder = run
        self.cfg = cfg
        self.tokenizer = tokenizer

    def read(
        self, folder: Path, model: Transformer, ema: Transformer | None, begun: TrainState
    ) -> tuple[TrainState, Mapping[str, Tensor]]:
        """Put weights back as they were when a checkpoint was saved, and the run's links; its state, and optimizers'.

        `begun` is the state of this process before: what it trains on, validates by, and runs on. Raises ConfigError
        where the checkpoint is of other data.
        """
        saved = Tokenizer.load(folder / "tokenizer.model")
        if saved.fingerprint != self.tokenizer.fingerprint:
            raise ConfigError(
                f"data.train: prepared with another tokenizer than {self.folder} was trained with; "
                "use that one, or choose another --output"
            )
        state, optimizer = checkpoint.load_state(folder, model, ema=ema)
        if state.data != begun.data:
            raise ConfigError(
                f"data.train: holds other pairs than {self.folder} was trained on; "
                "prepare them as they were, choose another --output, or pass --overwrite to start anew"
            )
        if state.machine != begun.machine:
            logger.warning(
                f"the run was on {state.machine} and is now on {begun.machine}: its sums are rounded differently "
                "from here on"
            )
        retention.link(self.folder, "last", folder)
        best, best_step = self._settle_best(state, begun.validation)
        continued = replace(
            state,
            best=best,
            best_step=best_step,
            ranked=() if best is None else state.ranked,
            num_worse=0 if best is None else state.num_worse,
            validation=begun.validation,
            machine=begun.machine,
        )
        self._prune(continued)
        return continued, optimizer

    def write(
        self,
        state: TrainState,
        model: Transformer,
        optimizer: Mapping[str, Tensor],
        ema: Transformer | None,
        *,
        regular: bool,
        is_best: bool,
    ) -> None:
        """Save a checkpoint, which is then the last, and the best if it is; `regular`: it was due by `save_every`."""
        folder = checkpoint.checkpoint_folder(self.folder, state.step)
        checkpoint.save_checkpoint(
            folder,
            model,
            self.cfg,
            self.tokenizer,
            state=state,
            optimizer=optimizer,
            ema=ema,
            regular=regular or folder in retention.regular_checkpoints(self.folder),  # saved before, on a stop
        )
        retention.link(self.folder, "last", folder)
        if is_best:
            retention.link(self.folder, "best", folder)
        self._prune(state)

    def to_average(self, state: TrainState) -> list[Path]:
        """The checkpoints that the average is to be made of, as far as they are there."""
        if self.cfg.train.average_of == "best":
            candidates = [checkpoint.checkpoint_folder(self.folder, scored.step) for scored in state.ranked]
        else:
            newest = checkpoint.checkpoint_folder(self.folder, state.step)
            candidates = sorted({*retention.regular_checkpoints(self.folder), newest}, reverse=True)
        return sorted(islice(filter(retention.is_whole, candidates), self.cfg.train.average))

    def write_average(self, model: Transformer, step: int, *, is_best: bool) -> None:
        average = self.folder / "checkpoints" / f"average-{step:08d}"
        checkpoint.save_model(average, model, self.cfg, self.tokenizer, step=step, overwrite=True)
        if is_best:
            retention.link(self.folder, "best", average)
        retention.prune_averages(self.folder, average)

    def summarise(self, state: TrainState, reason: str, averaged: list[str]) -> Summary:
        """Say in the folder that the run has ended."""
        best = self.folder / "best"
        summary = Summary(
            reason=reason,
            step=state.step,
            tokens_seen=state.tokens_seen,
            minutes=state.seconds / 60,
            best_by=self.cfg.train.best_by,
            best_score=None if state.best is None else abs(state.best),
            best=best.resolve().name if best.exists() else None,
            averaged=averaged,
        )
        summary.write(self.folder)
        return summary

    def _prune(self, state: TrainState) -> None:
        cfg = self.cfg.train
        retention.prune(self.folder, cfg.keep, state.ranked[: cfg.keep_best])

    def _settle_best(self, state: TrainState, validation: str) -> tuple[float | None, int]:
        """Score and step of the best so far, and the link `best` to match, whatever a kill has left."""
        link = self.folder / "best"
        if not validation or state.validation != validation:
            if validation and state.validation:
                logger.warning("validation text, [decode] or best_by differ from before; what is best is found anew")
            link.unlink(missing_ok=True)
            return None, 0
        summary = Summary.read(self.folder)
        average = summary.best_score if summary else None
        if average is not None and link.resolve().name.startswith("average-") and link.exists():
            return (-average if self.cfg.train.best_by in ("ppl", "loss") else average), state.best_step
        folder = checkpoint.checkpoint_folder(self.folder, state.best_step)
        if not state.best_step or not folder.exists():
            link.unlink(missing_ok=True)
            return None, 0
        retention.link(self.folder, "best", folder)
        return state.best, state.best_step
