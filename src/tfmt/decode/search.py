"""Beam search with exact stopping: a sentence ends when no hypothesis still growing can beat those that have ended.

Letters: B sentences still searched · K beam · R rows (B x K) · S source length · T target tokens so far ·
V vocabulary · C candidates (2K). Scores are in nats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tfmt.config import DecodeConfig
from tfmt.decode.scorer import Scorer
from tfmt.special_ids import BOS, EOS, PAD, UNK


@dataclass(frozen=True)
class Hypothesis:
    """A target that has ended: ids without <eos>, and its log-probability divided by the length penalty."""

    ids: list[int]
    score: float
    truncated: bool  # <eos> was forced at the length limit


def length_penalty(length: int, cfg: DecodeConfig) -> float:
    """What a log-probability of `length` tokens, <eos> included, is divided by (Wu et al., 2016, eq. 14)."""
    match cfg.length_penalty:
        case "gnmt":
            return float(((5 + length) / 6) ** cfg.length_penalty_alpha)
        case "none":
            return 1.0


def max_target_length(source_length: int, cfg: DecodeConfig) -> int:
    """Most tokens a translation of `source_length` tokens may have, <eos> not counted in either."""
    return int(source_length * cfg.max_length_ratio) + cfg.max_length_offset


@torch.no_grad()
def beam_search(scorer: Scorer[Any], src_BS: Tensor, cfg: DecodeConfig, *, num_best: int = 1) -> list[list[Hypothesis]]:
    """The `num_best` best hypotheses of each source (ids ending in <eos>, padded), best first.

    At each step the 2K best continuations are ranked; those among the first K that end leave as hypotheses, and the
    first K that do not end go on. With beam 1 a sentence ends as soon as <eos> is likeliest (greedy decoding).
    """
    batch, beam, device = len(src_BS), cfg.beam, src_BS.device
    num_best = min(num_best, beam)
    limits = [max_target_length(int(length) - 1, cfg) for length in (src_BS != PAD).sum(dim=1)]
    ended: list[list[Hypothesis]] = [[] for _ in range(batch)]
    alive = list(range(batch))  # which sentence each of the B is

    state = scorer.start(src_BS, beam)
    prefix_RT = torch.full((batch * beam, 1), BOS, device=device)
    total_BK = torch.full((batch, beam), -torch.inf, device=device)
    total_BK[:, 0] = 0.0  # rows start equal: only one may speak, or each hypothesis would appear K times

    for length in range(1, max(limits) + 2):  # tokens of a hypothesis that ends now, <eos> included
        logp_RV = scorer.step(prefix_RT[:, -1], state)
        logp_RV[:, [PAD, BOS, UNK]] = -torch.inf
        at_limit = [number for number, sentence in enumerate(alive) if length > limits[sentence]]
        logp_BKV = logp_RV.unflatten(0, (len(alive), beam))
        if at_limit:
            must_end_BKV = logp_BKV[at_limit]
            eos_BK = must_end_BKV[..., EOS].clone()
            must_end_BKV.fill_(-torch.inf)
            must_end_BKV[..., EOS] = eos_BK
            logp_BKV[at_limit] = must_end_BKV

        vocab_size = logp_BKV.shape[-1]
        candidates_BV = (total_BK.unsqueeze(2) + logp_BKV).flatten(1)
        total_BC, index_BC = candidates_BV.topk(min(2 * beam, candidates_BV.shape[1]), dim=1)
        row_BC, token_BC = index_BC // vocab_size, index_BC % vocab_size
        ends_BC = token_BC == EOS

        _collect(ended, alive, prefix_RT, total_BC, row_BC, ends_BC, length, limits, cfg)

        going_BC = total_BC.masked_fill(ends_BC, -torch.inf)
        total_BK, place_BK = going_BC.topk(beam, dim=1)
        best_alive = total_BK[:, 0].tolist()
        stays = [
            number
            for number, sentence in enumerate(alive)
            if not _is_done(ended[sentence], best_alive[number], limits[sentence], num_best, cfg)
        ]
        if not stays:
            break
        stay_B = torch.tensor(stays, device=device)
        total_BK, place_BK = total_BK[stay_B], place_BK[stay_B]
        token_BK = token_BC[stay_B].gather(1, place_BK)
        rows_R = (row_BC[stay_B].gather(1, place_BK) + stay_B.unsqueeze(1) * beam).flatten()
        prefix_RT = torch.cat((prefix_RT[rows_R], token_BK.view(-1, 1)), dim=1)
        state = scorer.select(rows_R, state)
        alive = [alive[number] for number in stays]

    return [sorted(found, key=lambda hypothesis: -hypothesis.score)[:num_best] for found in ended]


def _collect(
    ended: list[list[Hypothesis]],
    alive: list[int],
    prefix_RT: Tensor,
    total_BC: Tensor,
    row_BC: Tensor,
    ends_BC: Tensor,
    length: int,
    limits: list[int],
    cfg: DecodeConfig,
) -> None:
    """Add what ends at this step, among each sentence's first K candidates, to its hypotheses."""
    ending_BK = ends_BC[:, : cfg.beam] & total_BC[:, : cfg.beam].isfinite()
    penalty = length_penalty(length, cfg)
    for number, candidate in ending_BK.nonzero().tolist():
        row = number * cfg.beam + int(row_BC[number, candidate])
        sentence = alive[number]
        ended[sentence].append(
            Hypothesis(
                ids=prefix_RT[row, 1:].tolist(),
                score=float(total_BC[number, candidate]) / penalty,
                truncated=length > limits[sentence],
            )
        )


def _is_done(found: list[Hypothesis], best_alive: float, limit: int, num_best: int, cfg: DecodeConfig) -> bool:
    """Whether nothing still growing can enter the best `num_best`: log-probabilities only fall, penalties only grow."""
    if best_alive == -torch.inf:
        return True
    if cfg.beam == 1:
        return bool(found)
    if len(found) < num_best:
        return False
    worst_kept = sorted((hypothesis.score for hypothesis in found), reverse=True)[num_best - 1]
    return best_alive / length_penalty(limit + 1, cfg) <= worst_kept
