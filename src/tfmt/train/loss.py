"""Label-smoothed cross-entropy, summed over tokens, without ever holding all logits.

The smoothing mass is spread over all V entries, the right one included (as fairseq, Marian and PyTorch do;
tensor2tensor spreads it over the other V - 1): loss = (1 - e) * -log p(y) + e * mean over v of -log p(v).

Letters: P target tokens · C tokens of one chunk · D width · V vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tfmt.corpus.batches import Batch
from tfmt.model.transformer import Transformer

CHUNK_LOGITS = 2_000_000  # numbers in one chunk of logits: bounds the memory, and keeps to a CPU's caches
MIN_CHUNK = 256  # tokens, where the vocabulary is large


def batch_loss_sums(model: Transformer, batch: Batch, label_smoothing: float) -> tuple[Tensor, Tensor]:
    """The sums of `loss_sums` over a batch's target tokens."""
    h_PD, layout = model.decode_hidden(batch.tgt_in_BT, model.encode(batch.src_BS))
    return loss_sums(h_PD, model.head.weight, layout.strip(batch.tgt_out_BT), label_smoothing)


def loss_sums(h_PD: Tensor, weight_VD: Tensor, gold_P: Tensor, label_smoothing: float) -> tuple[Tensor, Tensor]:
    """Two sums over tokens, in nats: the smoothed loss, which has a gradient, and the plain one, -log p(gold).

    Equals `torch.nn.functional.cross_entropy(h @ weight.T, gold, label_smoothing=e, reduction="sum")`.
    """
    wants_gradient = torch.is_grad_enabled() and (h_PD.requires_grad or weight_VD.requires_grad)
    return _ChunkedCrossEntropy.apply(h_PD, weight_VD, gold_P, label_smoothing, wants_gradient)  # type: ignore[no-any-return, no-untyped-call]


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Makes each chunk's gradient while its logits are at hand: softmax minus the smoothed target."""

    @staticmethod
    def forward(
        ctx: Any, h_PD: Tensor, weight_VD: Tensor, gold_P: Tensor, label_smoothing: float, wants_gradient: bool
    ) -> tuple[Tensor, Tensor]:
        low = h_PD.dtype
        weight_low_VD = weight_VD.to(low)
        if wants_gradient:
            grad_h_PD = torch.empty_like(h_PD)
            grad_weight_VD = torch.zeros_like(weight_VD)
        smoothed = torch.zeros((), device=h_PD.device)
        plain = torch.zeros((), device=h_PD.device)
        # the mean over v of all logits needs none of them: it is h times the mean row
        mean_D = weight_VD.mean(dim=0)
        chunk = max(MIN_CHUNK, CHUNK_LOGITS // len(weight_VD))
        for start in range(0, len(h_PD), chunk):
            here = slice(start, start + chunk)
            gold_C1 = gold_P[here].unsqueeze(1)
            logits_CV = h_PD[here] @ weight_low_VD.T
            p_CV = logits_CV.softmax(dim=1)
            # log of the sum of exponentials, by the likeliest token: its probability is never near 0
            log_sum_C1 = logits_CV.amax(dim=1, keepdim=True).float() - p_CV.amax(dim=1, keepdim=True).float().log()
            plain_C1 = log_sum_C1 - logits_CV.gather(1, gold_C1)
            even_C1 = log_sum_C1 - (h_PD[here].float() @ mean_D).unsqueeze(1)
            plain += plain_C1.sum()
            smoothed += ((1 - label_smoothing) * plain_C1 + label_smoothing * even_C1).sum()
            if wants_gradient:
                p_CV.scatter_add_(1, gold_C1, torch.full_like(gold_C1, label_smoothing - 1, dtype=low))
                torch.mm(p_CV, weight_low_VD, out=grad_h_PD[here])
                grad_weight_VD += p_CV.T @ h_PD[here]
        if wants_gradient:  # of the even share, the same for all tokens and for all rows
            grad_h_PD -= (label_smoothing * mean_D).to(low)
            grad_weight_VD -= label_smoothing / len(weight_VD) * h_PD.float().sum(dim=0)
        if wants_gradient:
            ctx.save_for_backward(grad_h_PD, grad_weight_VD)
        ctx.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        grad_h_PD, grad_weight_VD = ctx.saved_tensors
        return grad_h_PD * grad, grad_weight_VD * grad, None, None, None
