"""Beam search with exact stopping: a sentence ends when no hypothesis still growing can beat those that have ended.

Letters: B sentences still searched · K beam · R rows (B x K) · S source length · T target tokens so far ·
V vocabulary · A all continuations of a sentence (K x V) · C the best of them (2K) · E hypotheses that end.
Scores are in nats.
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
    limits = [max_target_length(length - 1, cfg) for length in (src_BS != PAD).sum(dim=1).tolist()]
    ended: list[list[Hypothesis]] = [[] for _ in range(batch)]
    alive = list(range(batch))  # which sentence each of the B is

    never = torch.tensor([PAD, BOS, UNK], device=device)

    state = scorer.start(src_BS, beam)
    prefix_RT = torch.full((batch * beam, 1), BOS, device=device)
    total_BK = torch.full((batch, beam), -torch.inf, device=device)
    total_BK[:, 0] = 0.0  # rows start equal: only one may speak, or each hypothesis would appear K times

    for length in range(1, max(limits) + 2):  # tokens of a hypothesis that ends now, <eos> included
        logp_RV = scorer.step(prefix_RT[:, -1], state)
        logp_RV.index_fill_(1, never, -torch.inf)
        logp_BKV = logp_RV.unflatten(0, (len(alive), beam))
        for number, sentence in enumerate(alive):
            if length > limits[sentence]:
                eos_K = logp_BKV[number, :, EOS].clone()
                logp_BKV[number] = -torch.inf
                logp_BKV[number, :, EOS] = eos_K

        vocab_size = logp_BKV.shape[-1]
        scores_BA = (total_BK.unsqueeze(2) + logp_BKV).flatten(1)
        total_BC, index_BC = scores_BA.topk(min(2 * beam, scores_BA.shape[1]), dim=1)
        row_BC, token_BC = index_BC // vocab_size, index_BC % vocab_size
        ends_BC = token_BC == EOS

        ending_BK = ends_BC[:, :beam] & total_BC[:, :beam].isfinite()
        place_E, rank_E = ending_BK.nonzero(as_tuple=True)
        ids_ET = prefix_RT[place_E * beam + row_BC[place_E, rank_E], 1:]
        penalty = length_penalty(length, cfg)
        for place, ids, total in zip(
            place_E.tolist(), ids_ET.tolist(), total_BC[place_E, rank_E].tolist(), strict=True
        ):
            sentence = alive[place]
            ended[sentence].append(Hypothesis(ids, total / penalty, truncated=length > limits[sentence]))

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
