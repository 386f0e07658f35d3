"""From prepared folders to batches: a pure order of updates.

An epoch is planned from lengths, seed and epoch number alone: pairs are shuffled, put beside pairs of like length, cut
into parts, and these are shuffled and gathered into updates of `batch_tokens` target tokens each, give or take a few.
A `Cursor` is therefore the whole position in the data.

Letters: B sentences · S source length · T target length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tfmt.errors import DataError
from tfmt.files import read_json, sha256
from tfmt.special_ids import BOS, EOS, PAD

Ids = NDArray[np.integer]
MIN_WIDTH = 16  # of a rectangle of ids: a CPU's softmax over fewer keys is up to 10 times slower, even in all


@dataclass(frozen=True)
class Batch:
    """Ids as the model takes them, padded with PAD; `num_tokens` counts target tokens, <eos> included."""

    src_BS: Tensor  # ends in <eos>
    tgt_in_BT: Tensor  # starts with <bos>
    tgt_out_BT: Tensor  # ends in <eos>
    num_tokens: int
    weight_B: Tensor | None = None  # how much each pair counts in the training loss; None: all count 1
    src_place_P: Tensor | None = None  # where tokens stand in the flattened rectangle; None: to be found out, for
    tgt_place_P: Tensor | None = None  # which a GPU has to be waited for
    pairs: NDArray[np.int64] | None = None  # their numbers in the corpus, from 0

    def to(self, device: torch.device) -> Batch:
        if device.type == "cuda":  # from pinned memory the CPU need not wait
            return self._of_each(lambda tensor: tensor.pin_memory().to(device, non_blocking=True))
        return self._of_each(lambda tensor: tensor.to(device))

    def twice(self) -> Batch:
        """All pairs, and all once more after them; `num_tokens` counts them once."""
        doubled = self._of_each(lambda tensor: torch.cat((tensor, tensor)))
        for places_P, ids_BT in ((doubled.src_place_P, self.src_BS), (doubled.tgt_place_P, self.tgt_in_BT)):
            if places_P is not None:
                places_P[len(places_P) // 2 :] += ids_BT.numel()
        return doubled

    def halves(self) -> tuple[Batch, Batch]:
        """The first half of the pairs, and the others."""
        middle = len(self.src_BS) // 2
        return self._part(slice(middle)), self._part(slice(middle, None))

    def _part(self, rows: slice) -> Batch:
        tgt_out_BT = _trimmed(self.tgt_out_BT[rows])
        return Batch(
            _trimmed(self.src_BS[rows]),
            _trimmed(self.tgt_in_BT[rows]),
            tgt_out_BT,
            int((tgt_out_BT != PAD).sum()),
            weight_B=None if self.weight_B is None else self.weight_B[rows],
            pairs=None if self.pairs is None else self.pairs[rows],
        )

    def _of_each(self, make: Callable[[Tensor], Tensor]) -> Batch:
        made: dict[str, Any] = {item.name: getattr(self, item.name) for item in fields(self)}
        made |= {name: make(value) for name, value in made.items() if isinstance(value, Tensor)}
        return Batch(**made)


def _trimmed(ids_BT: Tensor) -> Tensor:
    """Without the columns that hold nothing but padding."""
    return ids_BT[:, : int((ids_BT != PAD).sum(dim=1).max())]


@dataclass(frozen=True)
class Cursor:
    """A position in the data: `update` updates of `epoch` are done."""

    epoch: int
    update: int
    num_updates: int = field(default=0, compare=False)  # in all of this epoch; 0: not planned yet

    @property
    def epochs(self) -> float:
        """Passes over the corpus, the done part of the present one included."""
        return self.epoch + (self.update / self.num_updates if self.update else 0)


class Side:
    """One side of a corpus: all ids end to end, and where each sentence begins and ends."""

    def __init__(self, values: Ids, offsets: NDArray[np.int64]) -> None:
        self.values = values
        self.offsets = offsets
        self.lengths: NDArray[np.int64] = np.diff(offsets) + 1  # with the <eos> or <bos> added to each

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> Side:
        lengths = np.fromiter((len(ids) for ids in sentences), dtype=np.int64, count=len(sentences))
        flat = [token for ids in sentences for token in ids]
        return cls(np.array(flat, dtype=np.int32), np.concatenate(([0], np.cumsum(lengths))))

    def rectangle(self, pairs: NDArray[np.int64], *, first: int | None = None, last: int | None = None) -> Tensor:
        """The sentences of these pairs, (B, longest or MIN_WIDTH), with an id put before or after each."""
        lengths = self.lengths[pairs]
        column = np.arange(max(lengths.max(), MIN_WIDTH))
        is_text = column < lengths[:, None] - 1  # all but the id that is added
        place = (self.offsets[pairs, None] + column)[is_text]
        ids = np.full(is_text.shape, PAD, dtype=np.int64)
        if first is not None:
            ids[:, 0] = first
            ids[:, 1:][is_text[:, :-1]] = self.values[place]
        if last is not None:
            ids[is_text] = self.values[place]
            ids[np.arange(len(pairs)), lengths - 1] = last
        return torch.from_numpy(ids)


@dataclass(frozen=True)
class Corpus:
    """Prepared pairs, as numbers."""

    source: Side
    target: Side
    weights: NDArray[np.float32] | None = None  # see `relative_weights`; None: all pairs count the same

    def __len__(self) -> int:
        return len(self.source.lengths)

    def fingerprint(self) -> str:
        """A hash of all ids, where sentences end, and the weights."""
        digest = hashlib.sha256()
        for side in (self.source, self.target):
            digest.update(np.ascontiguousarray(side.values).data)
            digest.update(side.lengths.data)
        if self.weights is not None:
            digest.update(self.weights.data)
        return digest.hexdigest()

    def batch(self, pairs: NDArray[np.int64]) -> Batch:
        src_BS, tgt_in_BT = self.source.rectangle(pairs, last=EOS), self.target.rectangle(pairs, first=BOS)
        return Batch(
            src_BS=src_BS,
            tgt_in_BT=tgt_in_BT,
            tgt_out_BT=self.target.rectangle(pairs, last=EOS),
            num_tokens=int(self.target.lengths[pairs].sum()),
            weight_B=None if self.weights is None else torch.from_numpy(self.weights[pairs]),
            src_place_P=(src_BS != PAD).flatten().nonzero().squeeze(1),
            tgt_place_P=(tgt_in_BT != PAD).flatten().nonzero().squeeze(1),
            pairs=pairs,
        )


@dataclass(frozen=True)
class Update:
    """One update's micro-batches, and the target tokens in all of them."""

    micro_batches: list[NDArray[np.int64]]
    num_tokens: int
    shares: Sequence[Sequence[Batch]] = ()  # the batches of each worker of this process, where they are made ahead


def plan_epoch(corpus: Corpus, *, batch_tokens: int, micro_batch_tokens: int, seed: int, epoch: int) -> list[Update]:
    """All updates of one epoch; each pair stands in exactly one.

    The pairs, in order of length, are cut into parts of equally many target tokens, so many that each update has as
    many and about `batch_tokens` in all; these are shuffled and dealt out. Where a part is larger than
    `micro_batch_tokens` of the longer side, it makes several micro-batches. No small update is left over: a corpus of
    fewer tokens than that makes one update an epoch.
    """
    generator = np.random.default_rng((seed, epoch))
    source, target = corpus.source.lengths, corpus.target.lengths
    longer = np.maximum(source, target)
    shuffled = generator.permutation(len(corpus))
    # sorting by both lengths keeps padding low on both sides; a stable sort keeps the shuffle among equals
    by_length = shuffled[np.lexsort((source[shuffled], longer[shuffled]))]
    num_updates = max(1, round(int(target.sum()) / batch_tokens))
    places = _places_of_parts(target[by_length], longer[by_length], num_updates, micro_batch_tokens)
    parts = [_fitting(part, longer, micro_batch_tokens) for part in np.split(by_length, places)]
    order = generator.permutation(len(parts))
    updates = [
        [micro_batch for number in numbers for micro_batch in parts[number]]
        for numbers in np.array_split(order, min(num_updates, len(parts)))
    ]
    return [Update(some, sum(int(target[pairs].sum()) for pairs in some)) for some in updates]


def largest_update(corpus: Corpus, batch_tokens: int, seed: int) -> int:
    """Tokens of the longer side in the largest update, so that a micro-batch need not be larger."""
    longer = np.maximum(corpus.source.lengths, corpus.target.lengths)
    updates = plan_epoch(corpus, batch_tokens=batch_tokens, micro_batch_tokens=int(longer.sum()), seed=seed, epoch=0)
    return max(int(longer[pairs].sum()) for update in updates for pairs in update.micro_batches)


def share_of(update: Update, corpus: Corpus, rank: int, size: int) -> list[NDArray[np.int64]]:
    """The micro-batches that one of `size` processes does of an update; all do equally many, of nearly as many tokens.

    Where the planned ones cannot be dealt out so, the update's pairs are cut anew in order of length, each part as
    large as the others, give or take a sentence; parts are empty where pairs are few.
    """
    parts = size * -(-len(update.micro_batches) // size)
    if parts == len(update.micro_batches):
        return update.micro_batches[rank::size]
    pairs = np.concatenate(update.micro_batches)
    longer = np.maximum(corpus.source.lengths[pairs], corpus.target.lengths[pairs])
    order = np.argsort(longer, kind="stable")
    return np.split(pairs[order], _even_places(longer[order], parts))[rank::size]


def cut_by_length(corpus: Corpus, max_tokens: int) -> list[NDArray[np.int64]]:
    """All pairs, those of like length together, at most `max_tokens` of the longer side in each group, or one pair."""
    longer = np.maximum(corpus.source.lengths, corpus.target.lengths)
    order = np.argsort(longer, kind="stable")
    places, used = [], 0
    for place, length in enumerate(longer[order].tolist()):
        used += length
        if place and used > max_tokens:
            places.append(place)
            used = length
    return np.split(order, places)


def _places_of_parts(
    target: NDArray[np.int64], longer: NDArray[np.int64], num_updates: int, max_tokens: int
) -> NDArray[np.int64]:
    """Where to cut pairs, whose lengths these are, into a whole number of parts an update: that which makes the fewest
    micro-batches of `max_tokens`, and of several such the most parts, since these mix more lengths in an update."""
    ends = np.cumsum(np.minimum(longer, max_tokens))  # a giant is one micro-batch, whatever its size
    per_update = max(1, int(ends[-1]) // (num_updates * max_tokens))
    step = max(1, per_update // 20)
    fewest, best = np.inf, np.empty(0, dtype=np.int64)
    while per_update * num_updates <= fewest:  # more parts would be more micro-batches
        places = np.unique(_even_places(target, per_update * num_updates))
        places = places[(places > 0) & (places < len(target))]
        sums = np.diff(ends[places - 1], prepend=0, append=ends[-1])
        num_micro_batches = int(np.sum(-(-sums // max_tokens)))
        if num_micro_batches <= fewest:
            fewest, best = num_micro_batches, places
        per_update += step
    return best


def _even_places(lengths: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    """Where to cut a row of sentences into parts of equally many tokens: each belongs where its middle lies."""
    ends = np.cumsum(lengths)
    part = (2 * ends - lengths) * parts // (2 * ends[-1])
    return np.searchsorted(part, np.arange(1, parts))


def _fitting(pairs: NDArray[np.int64], longer: NDArray[np.int64], max_tokens: int) -> list[NDArray[np.int64]]:
    """These pairs in as few groups of equal size as hold at most `max_tokens` each, or one pair."""
    lengths = longer[pairs]
    num = -(-int(lengths.sum()) // max_tokens)
    while True:
        groups = [group for group in np.split(pairs, _even_places(lengths, num)) if len(group)]
        if all(len(group) == 1 or longer[group].sum() <= max_tokens for group in groups):
            return groups
        num += 1


def updates_from(
    corpus: Corpus, cursor: Cursor, *, batch_tokens: int, micro_batch_tokens: int, seed: int
) -> Iterator[tuple[Cursor, Update]]:
    """Updates without end from `cursor` on, each with the cursor that stands after it."""
    epoch, done = cursor.epoch, cursor.update
    while True:
        updates = plan_epoch(
            corpus, batch_tokens=batch_tokens, micro_batch_tokens=micro_batch_tokens, seed=seed, epoch=epoch
        )
        for number in range(done, len(updates)):
            last = number + 1 == len(updates)
            yield (Cursor(epoch + 1, 0) if last else Cursor(epoch, number + 1, len(updates))), updates[number]
        epoch, done = epoch + 1, 0


def open_prepared(folders: Sequence[Path], vocab_size: int) -> Corpus:
    """The pairs of folders that `prepare` made, end to end; raises DataError when one is no such folder, or damaged."""
    sides: list[list[Side]] = [[], []]
    weights: list[NDArray[np.float32]] = []
    for folder in folders:
        table = _open_table(folder)
        for number, column in enumerate(("source", "target")):
            side = _side_of_column(table.column(column))
            if len(side.values) and int(side.values.max()) >= vocab_size:
                raise DataError(
                    f"{folder}: its dataset holds id {side.values.max()}, the vocabulary ends at {vocab_size - 1}; "
                    "run `tfmt prepare` again"
                )
            sides[number].append(side)
        is_weighted = "weight" in table.column_names
        weights.append(table.column("weight").to_numpy() if is_weighted else np.ones(len(table), dtype=np.float32))
    source, target = _join(sides[0]), _join(sides[1])
    return Corpus(source, target, relative_weights(np.concatenate(weights), target.lengths))


def relative_weights(weights: NDArray[np.float32], target_lengths: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Weights divided by their mean over all target tokens; None where they are all the same.

    So a loss summed over tokens times these, divided by the number of tokens, is over an epoch the weighted mean: a
    pair of weight 2 counts like two of weight 1, however large the weights of all are.
    """
    if (weights == weights[0]).all():
        return None
    mean = float(weights.astype(np.float64) @ target_lengths) / int(target_lengths.sum())
    return (weights / mean).astype(np.float32)


def prepared_tokenizer(folders: Sequence[Path]) -> Path:
    """The tokenizer file of prepared folders; raises DataError when they were made with different ones."""
    fingerprints = {}
    for folder in folders:
        report, tokenizer = folder / "report.json", folder / "tokenizer.model"
        if not report.is_file() or not tokenizer.is_file():
            raise DataError(f"{folder}: not a folder made by `tfmt prepare`; name one in data.train")
        fingerprints[folder] = read_json(report).get("tokenizer")
        if sha256(tokenizer) != fingerprints[folder]:
            raise DataError(f"{tokenizer}: not the tokenizer its pairs were encoded with; run `tfmt prepare` again")
    for folder, fingerprint in fingerprints.items():
        if fingerprint != fingerprints[folders[0]]:
            raise DataError(
                f"{folder}: made with another tokenizer than {folders[0]}; prepare all of data.train with one tokenizer"
            )
    return folders[0] / "tokenizer.model"


def _open_table(folder: Path):  # type: ignore[no-untyped-def]  # pyarrow has no types
    import datasets

    try:
        dataset = datasets.load_from_disk(str(folder / "dataset"))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(f"{folder}: cannot open its dataset ({error}); run `tfmt prepare` again") from error
    return dataset.data.table


def _side_of_column(column) -> Side:  # type: ignore[no-untyped-def]
    """An Arrow list column is already a strip of values and offsets: no copy where it is one chunk."""
    values, offsets, total = [], [np.zeros(1, dtype=np.int64)], 0
    for chunk in column.chunks:
        bounds = chunk.offsets.to_numpy().astype(np.int64)
        values.append(chunk.values.to_numpy(zero_copy_only=True)[bounds[0] : bounds[-1]])
        offsets.append(bounds[1:] - bounds[0] + total)
        total += int(bounds[-1] - bounds[0])
    return Side(values[0] if len(values) == 1 else np.concatenate(values), np.concatenate(offsets))


def _join(sides: list[Side]) -> Side:
    if len(sides) == 1:
        return sides[0]
    starts = np.cumsum([0] + [len(side.values) for side in sides])
    offsets = [np.zeros(1, dtype=np.int64)]
    offsets += [side.offsets[1:] + start for side, start in zip(sides, starts, strict=False)]
    return Side(np.concatenate([side.values for side in sides]), np.concatenate(offsets))
