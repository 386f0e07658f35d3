"""Beam search against enumeration of everything it could have found."""

import itertools

import pytest
import torch
from fakes import TableScorer

from tfmt.config import DecodeConfig
from tfmt.decode import search
from tfmt.decode.search import beam_search, length_penalty, max_target_length
from tfmt.special_ids import EOS, PAD

VOCAB = 7  # four special ids and three words
WORDS = (4, 5, 6)


def random_table(seed: int, eos_bonus: float = 0.0) -> TableScorer:
    """Log-probabilities that depend on the whole prefix, and on the source."""
    memo: dict[tuple[tuple[int, ...], tuple[int, ...]], torch.Tensor] = {}

    def logp(source, prefix):
        if (source, prefix) not in memo:
            generator = torch.Generator().manual_seed(hash((seed, source, prefix)) % 2**31)
            logits = 2 * torch.randn(VOCAB, generator=generator)
            logits[EOS] += eos_bonus
            memo[source, prefix] = logits.log_softmax(0)
        return memo[source, prefix]

    return TableScorer(logp)


def enumerate_all(scorer: TableScorer, source: tuple[int, ...], max_length: int, cfg: DecodeConfig):
    """Every sequence of words up to the longest allowed, best first."""
    found = []
    for length in range(max_length + 1):
        for words in itertools.product(WORDS, repeat=length):
            ids = (*words, EOS)
            logp = sum(float(scorer.logp(source, ids[:t])[ids[t]]) for t in range(len(ids)))
            found.append((logp / length_penalty(len(ids), cfg), list(words)))
    return sorted(found, reverse=True)


SRC_BS = torch.tensor([[4, 5, EOS], [6, EOS, PAD], [5, 5, EOS]])


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("seed", range(5))
def test_wide_beam_equals_exhaustive_search(alpha, seed):
    cfg = DecodeConfig(beam=3**4, max_length_ratio=0, max_length_offset=4, length_penalty_alpha=alpha)
    scorer = random_table(seed)
    results = beam_search(scorer, SRC_BS, cfg, num_best=5)
    for source, hypotheses in zip(SRC_BS.tolist(), results, strict=True):
        expected = enumerate_all(scorer, tuple(source), 4, cfg)[:5]
        assert [hypothesis.ids for hypothesis in hypotheses] == [ids for _, ids in expected]
        for hypothesis, (score, _) in zip(hypotheses, expected, strict=True):
            assert hypothesis.score == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_the_best_does_not_depend_on_how_many_are_asked_for(beam):
    cfg = DecodeConfig(beam=beam, max_length_ratio=0, max_length_offset=8)
    for seed in range(20):
        one = beam_search(random_table(seed), SRC_BS, cfg, num_best=1)
        many = beam_search(random_table(seed), SRC_BS, cfg, num_best=beam)
        assert [found[0] for found in one] == [found[0] for found in many]


def test_hypotheses_are_distinct_and_best_first():
    cfg = DecodeConfig(beam=4, max_length_ratio=0, max_length_offset=8)
    for found in beam_search(random_table(1), SRC_BS, cfg, num_best=4):
        assert len({tuple(hypothesis.ids) for hypothesis in found}) == len(found) == 4
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


def test_beam_one_is_greedy():
    cfg = DecodeConfig(beam=1, max_length_ratio=0, max_length_offset=12)
    for seed in range(20):
        scorer = random_table(seed)
        for source, found in zip(SRC_BS.tolist(), beam_search(scorer, SRC_BS, cfg), strict=True):
            ids: list[int] = []
            while len(ids) < 12:
                logp = scorer.logp(tuple(source), tuple(ids)).clone()
                logp[[0, 1, 3]] = -torch.inf
                if logp.argmax() == EOS:
                    break
                ids.append(int(logp.argmax()))
            assert found[0].ids == ids


def test_stopping_early_loses_nothing(monkeypatch):
    """The best hypothesis is the one that a search to the very end would have kept."""
    cfg = DecodeConfig(beam=3, max_length_ratio=0, max_length_offset=10, length_penalty_alpha=1.0)
    stopped_early = 0
    for seed in range(20):
        scorer = random_table(seed, eos_bonus=1.0)
        stopped = beam_search(scorer, SRC_BS, cfg, num_best=2)
        steps = scorer.num_steps
        with monkeypatch.context() as patch:
            patch.setattr(search, "_is_done", lambda found, best_alive, *rest: best_alive == -torch.inf)
            to_the_end = beam_search(scorer, SRC_BS, cfg, num_best=2)
        assert stopped == to_the_end
        stopped_early += steps < scorer.num_steps - steps
    assert stopped_early > 10


def test_neighbours_change_nothing():
    cfg = DecodeConfig(beam=3, max_length_ratio=0, max_length_offset=8)
    for seed in range(10):
        scorer = random_table(seed)
        together = beam_search(scorer, SRC_BS, cfg, num_best=3)
        for number, source in enumerate(SRC_BS):
            assert beam_search(scorer, source[None], cfg, num_best=3) == [together[number]]


def test_a_hypothesis_at_the_limit_is_ended_and_marked():
    never_ends = TableScorer(lambda source, prefix: torch.tensor([-9.0, -9, -50, -9, -0.1, -3, -4]))
    cfg = DecodeConfig(beam=2, max_length_ratio=1.0, max_length_offset=2)
    long, short = beam_search(never_ends, SRC_BS[:2], cfg)
    assert long[0].ids == [4] * 4
    assert short[0].ids == [4] * 3
    assert long[0].truncated
    assert short[0].truncated


def test_special_ids_are_never_emitted():
    wants_special = TableScorer(lambda source, prefix: torch.tensor([-0.1, -0.1, -3.0, -0.1, -4, -5, -6]))
    cfg = DecodeConfig(beam=2, max_length_ratio=0, max_length_offset=3)
    for found in beam_search(wants_special, SRC_BS, cfg, num_best=2):
        assert all(set(hypothesis.ids) <= set(WORDS) for hypothesis in found)


def test_length_penalty_is_gnmts():
    assert length_penalty(1, DecodeConfig(length_penalty_alpha=0.6)) == 1.0
    assert length_penalty(7, DecodeConfig(length_penalty_alpha=0.6)) == pytest.approx(2**0.6)
    assert length_penalty(7, DecodeConfig(length_penalty="none")) == 1.0


def test_longest_target_is_the_papers_source_plus_fifty():
    cfg = DecodeConfig(max_length_ratio=1.0, max_length_offset=50)
    assert max_target_length(20, cfg) == 70
