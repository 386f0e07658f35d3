"""What a search asks: how likely each next token is, for every row it holds.

Letters: B sentences · S source length · K beam · R rows (B x K, a sentence's rows side by side) · V vocabulary.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from torch import Tensor

from tfmt.model.transformer import DecoderState, Transformer

State = TypeVar("State")


class Scorer(Protocol[State]):
    """A model, an ensemble, or a test's table: the search cannot tell them apart."""

    def start(self, src_BS: Tensor, beam: int) -> State:
        """Read the sources; the state has `beam` equal rows for each."""
        ...

    def step(self, ids_R: Tensor, state: State) -> Tensor:
        """Log-probabilities (nats, float32) of the token after each row's newest, (R, V); moves the state on."""
        ...

    def select(self, rows_R: Tensor, state: State) -> State:
        """The state of these rows: `beam` for each sentence that stays, in order."""
        ...


class ModelScorer:
    def __init__(self, model: Transformer) -> None:
        self.model = model

    def start(self, src_BS: Tensor, beam: int) -> DecoderState:
        return self.model.start(self.model.encode(src_BS), beam)

    def step(self, ids_R: Tensor, state: DecoderState) -> Tensor:
        return self.model.step(ids_R, state).float().log_softmax(dim=-1)

    def select(self, rows_R: Tensor, state: DecoderState) -> DecoderState:
        return state.select(rows_R)
