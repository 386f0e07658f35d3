import hashlib
import json
from pathlib import Path

import datasets
import numpy as np
import pytest

from tfmt.corpus.batches import (
    MIN_WIDTH,
    Corpus,
    Cursor,
    Side,
    cut_by_length,
    largest_update,
    open_prepared,
    plan_epoch,
    prepared_tokenizer,
    relative_weights,
    share_of,
    updates_from,
)
from tfmt.errors import DataError
from tfmt.special_ids import BOS, EOS, PAD


def make_corpus(num_pairs: int = 500) -> Corpus:
    generator = np.random.default_rng(1)

    def sentences():
        return [generator.integers(4, 99, size=generator.integers(1, 30)).tolist() for _ in range(num_pairs)]

    return Corpus(Side.of(sentences()), Side.of(sentences()))


def plan(corpus: Corpus, *, batch_tokens: int = 400, micro_batch_tokens: int = 200, seed: int = 1, epoch: int = 0):
    return plan_epoch(corpus, batch_tokens=batch_tokens, micro_batch_tokens=micro_batch_tokens, seed=seed, epoch=epoch)


def as_lists(updates):
    return [[pairs.tolist() for pairs in update.micro_batches] for update in updates]


def test_batch_holds_the_sentences_with_their_ends():
    corpus = Corpus(Side.of([[5, 6], [7]]), Side.of([[8], [9, 10, 11]]))
    batch = corpus.batch(np.array([1, 0]))
    assert batch.src_BS[:, :3].tolist() == [[7, EOS, PAD], [5, 6, EOS]]
    assert batch.tgt_in_BT[:, :4].tolist() == [[BOS, 9, 10, 11], [BOS, 8, PAD, PAD]]
    assert batch.tgt_out_BT[:, :4].tolist() == [[9, 10, 11, EOS], [8, EOS, PAD, PAD]]
    assert batch.num_tokens == 6
    assert batch.src_BS.shape == batch.tgt_in_BT.shape == batch.tgt_out_BT.shape == (2, MIN_WIDTH)
    assert batch.src_BS[:, 3:].eq(PAD).all()
    assert batch.tgt_out_BT[:, 4:].eq(PAD).all()


def test_an_epoch_holds_each_pair_once():
    corpus = make_corpus()
    pairs = [pair for update in plan(corpus) for group in update.micro_batches for pair in group.tolist()]
    assert sorted(pairs) == list(range(len(corpus)))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("micro_batch_tokens", [70, 150, 400])
def test_processes_share_an_update_evenly(size, micro_batch_tokens):
    corpus = make_corpus()
    longer = np.maximum(corpus.source.lengths, corpus.target.lengths)
    for update in plan(corpus, micro_batch_tokens=micro_batch_tokens):
        shares = [share_of(update, corpus, rank, size) for rank in range(size)]
        pairs = [pair for share in shares for part in share for pair in part.tolist()]
        assert sorted(pairs) == sorted(pair for part in update.micro_batches for pair in part.tolist())
        assert {len(share) for share in shares} == {-(-len(update.micro_batches) // size)}
        largest = max(longer[part].sum() for share in shares for part in share if len(part))
        assert largest <= micro_batch_tokens + longer.max()
        if len(update.micro_batches) % size:
            loads = [sum(int(longer[part].sum()) for part in share) for share in shares]
            assert max(loads) - min(loads) <= 2 * len(shares[0]) * longer.max()


def test_one_process_does_an_update_as_it_was_planned():
    corpus = make_corpus()
    for update in plan(corpus):
        assert [part.tolist() for part in share_of(update, corpus, 0, 1)] == as_lists([update])[0]


def test_more_processes_than_pairs_share_what_there_is():
    corpus = make_corpus(num_pairs=2)
    (update,) = plan(corpus)
    shares = [[part.tolist() for part in share_of(update, corpus, rank, 5)] for rank in range(5)]
    assert sorted(pair for share in shares for part in share for pair in part) == [0, 1]
    assert [len(share) for share in shares] == [1] * 5


def test_a_plan_is_a_function_of_seed_and_epoch():
    corpus = make_corpus()
    assert as_lists(plan(corpus)) == as_lists(plan(corpus))
    assert as_lists(plan(corpus)) != as_lists(plan(corpus, epoch=1))
    assert as_lists(plan(corpus)) != as_lists(plan(corpus, seed=2))


@pytest.mark.parametrize("source_ratio", [0.6, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("micro_batch_tokens", [300, 1000, 1500, 2000, 2400, 3000, 10_000])
def test_updates_hold_the_tokens_asked_for_whatever_goes_through_at_once(source_ratio, micro_batch_tokens):
    generator = np.random.default_rng(2)
    lengths = generator.integers(5, 30, size=6000)
    sources = np.maximum(1, np.round(lengths * source_ratio * np.exp(generator.normal(0, 0.15, size=6000)))).astype(int)
    corpus = Corpus(Side.of([[5] * n for n in sources]), Side.of([[5] * n for n in lengths]))
    updates = plan(corpus, batch_tokens=2000, micro_batch_tokens=micro_batch_tokens)
    counts = np.array([update.num_tokens for update in updates])
    assert counts.sum() == corpus.target.lengths.sum()
    assert abs(counts.mean() - 2000) < 0.01 * 2000
    assert counts.min() > 0.9 * 2000
    assert counts.max() < 1.1 * 2000
    longer = np.maximum(corpus.source.lengths, corpus.target.lengths)
    for update in updates:
        assert update.num_tokens == sum(corpus.target.lengths[group].sum() for group in update.micro_batches)
        assert max(longer[group].sum() for group in update.micro_batches) <= micro_batch_tokens
    num_micro_batches = sum(len(update.micro_batches) for update in updates)
    needed = max(len(updates), longer.sum() / micro_batch_tokens)
    assert num_micro_batches < 2 * needed


def test_in_room_for_the_largest_update_each_goes_through_at_once():
    corpus = make_corpus(5000)
    room = largest_update(corpus, 2000, seed=1)
    assert {len(update.micro_batches) for update in plan(corpus, batch_tokens=2000, micro_batch_tokens=room)} == {1}
    less = plan(corpus, batch_tokens=2000, micro_batch_tokens=room - 1)
    assert max(len(update.micro_batches) for update in less) == 2


def test_micro_batches_keep_their_budget_and_like_lengths():
    corpus = make_corpus(5000)
    longer = np.maximum(corpus.source.lengths, corpus.target.lengths)
    for update in plan(corpus, batch_tokens=2000, micro_batch_tokens=300):
        for group in update.micro_batches:
            assert longer[group].sum() <= 300
            assert longer[group].max() - longer[group].min() <= 4


def test_giant_pairs_are_micro_batches_of_their_own():
    corpus = make_corpus(400)
    giants = Corpus(
        Side.of([*sentences_of(corpus.source), [5] * 1000, [6]]),
        Side.of([*sentences_of(corpus.target), [6], [5] * 3000]),
    )
    groups = [group.tolist() for update in plan(giants) for group in update.micro_batches]
    assert [400] in groups
    assert [401] in groups
    assert sum(len(group) > 5 for group in groups) > 40


def test_batch_tokens_below_a_sentence_make_an_update_of_each():
    corpus = Corpus(Side.of([[5] * 9] * 20), Side.of([[5] * 9] * 20))
    assert as_lists(plan(corpus, batch_tokens=3, micro_batch_tokens=4)) != []
    assert {len(update.micro_batches) for update in plan(corpus, batch_tokens=3, micro_batch_tokens=4)} == {1}
    assert {update.num_tokens for update in plan(corpus, batch_tokens=3, micro_batch_tokens=4)} == {10}


def test_a_corpus_below_batch_tokens_makes_one_update_an_epoch():
    corpus = make_corpus(10)
    updates = plan(corpus, batch_tokens=10**6, micro_batch_tokens=50)
    assert len(updates) == 1
    assert updates[0].num_tokens == corpus.target.lengths.sum()


def test_going_on_from_a_cursor_gives_the_same_updates():
    corpus = make_corpus()
    settings = {"batch_tokens": 400, "micro_batch_tokens": 200, "seed": 1}
    straight = updates_from(corpus, Cursor(0, 0), **settings)
    num_updates = len(plan(corpus))
    seen = [next(straight) for _ in range(2 * num_updates + 3)]
    assert seen[num_updates - 1][0] == Cursor(1, 0)
    for done in (1, num_updates - 1, num_updates, num_updates + 2):
        cursor = seen[done - 1][0]
        going_on = updates_from(corpus, cursor, **settings)
        for expected_cursor, expected in seen[done : done + 5]:
            actual_cursor, actual = next(going_on)
            assert actual_cursor == expected_cursor
            assert as_lists([actual]) == as_lists([expected])


def test_validation_groups_hold_every_pair_within_the_budget():
    corpus = make_corpus()
    groups = cut_by_length(corpus, 100)
    assert sorted(pair for group in groups for pair in group.tolist()) == list(range(len(corpus)))
    longer = np.maximum(corpus.source.lengths, corpus.target.lengths)
    assert max(longer[group].sum() for group in groups) <= 100


def write_prepared(folder: Path, sources, targets, tokenizer: bytes = b"t", **options) -> Path:
    dataset = datasets.Dataset.from_dict({"source": sources, "target": targets})
    dataset.save_to_disk(str(folder / "dataset"), **options)
    fingerprint = hashlib.sha256(tokenizer).hexdigest()
    (folder / "report.json").write_text(json.dumps({"tokenizer": fingerprint}), encoding="utf-8")
    (folder / "tokenizer.model").write_bytes(tokenizer)
    return folder


def write_weighted(folder: Path, sources, targets, weights) -> Path:
    write_prepared(folder, sources, targets)
    dataset = datasets.load_from_disk(str(folder / "dataset")).add_column("weight", weights)
    dataset.save_to_disk(str(folder / "weighted"))
    (folder / "dataset").rename(folder / "unweighted")
    (folder / "weighted").rename(folder / "dataset")
    return folder


def test_weights_come_with_their_pairs_and_are_1_on_average_over_target_tokens(tmp_path):
    first = write_weighted(tmp_path / "a", [[5], [6]], [[7], [8, 9, 9, 9]], [0.5, 3.0])
    second = write_prepared(tmp_path / "b", [[40]], [[42]])  # without weights: all 1
    corpus = open_prepared([first, second], 100)
    mean = (2 * 0.5 + 5 * 3.0 + 2 * 1.0) / 9
    assert corpus.weights == pytest.approx([0.5 / mean, 3 / mean, 1 / mean])
    assert corpus.batch(np.array([2, 0])).weight_B.tolist() == pytest.approx([1 / mean, 0.5 / mean])
    assert corpus.weights @ corpus.target.lengths == pytest.approx(9)
    assert corpus.fingerprint() != Corpus(corpus.source, corpus.target).fingerprint()


def test_weights_that_are_all_the_same_are_none():
    lengths = np.array([3, 1, 4, 1, 5])
    assert relative_weights(np.full(5, 0.3, dtype=np.float32), lengths) is None


def sentences_of(side: Side) -> list[list[int]]:
    return [side.values[a:b].tolist() for a, b in zip(side.offsets, side.offsets[1:], strict=False)]


def test_prepared_folders_are_read_end_to_end(tmp_path):
    sources, targets = [[5], [], [6, 7], [8, 9, 10]], [[11, 12], [13], [14], []]
    first = write_prepared(tmp_path / "a", sources, targets, num_shards=2)
    second = write_prepared(tmp_path / "b", [[40, 41]], [[42]])
    corpus = open_prepared([first, second], 100)
    assert sentences_of(corpus.source) == [*sources, [40, 41]]
    assert sentences_of(corpus.target) == [*targets, [42]]


def test_folders_made_with_different_tokenizers_are_refused(tmp_path):
    folders = [write_prepared(tmp_path / name, [[5]], [[6]], tokenizer=name.encode()) for name in ("a", "b")]
    assert prepared_tokenizer(folders[:1]) == folders[0] / "tokenizer.model"
    with pytest.raises(DataError, match="another tokenizer"):
        prepared_tokenizer(folders)


def test_a_folder_that_is_not_prepared_is_refused(tmp_path):
    with pytest.raises(DataError, match="not a folder made by"):
        prepared_tokenizer([tmp_path])
    with pytest.raises(DataError, match="cannot open its dataset"):
        open_prepared([tmp_path], 100)


def test_a_damaged_prepared_folder_is_named(tmp_path):
    folder = write_prepared(tmp_path / "a", [[5]], [[60]])
    with pytest.raises(DataError, match="holds id 60, the vocabulary ends at 49"):
        open_prepared([folder], 50)
    (folder / "tokenizer.model").write_bytes(b"another")
    with pytest.raises(DataError, match="not the tokenizer its pairs were encoded with"):
        prepared_tokenizer([folder])
    (folder / "report.json").write_text("[]")
    with pytest.raises(DataError, match=r"report\.json: damaged"):
        prepared_tokenizer([folder])
    for text in ("{}", '{"_data_files": []}', "{"):
        (folder / "dataset/state.json").write_text(text)
        with pytest.raises(DataError, match="cannot open its dataset"):
            open_prepared([folder], 100)
