"""Label-smoothed cross-entropy and R-Drop, summed over tokens, without ever holding all logits.

The smoothing mass is spread over all V entries, the right one included (as fairseq, Marian and PyTorch do;
tensor2tensor spreads it over the other V - 1): loss = (1 - e) * -log p(y) + e * mean over v of -log p(v).
The gradient of each chunk is made while its logits are at hand.

Letters: P target tokens · C tokens of one chunk · D width · V vocabulary · B sentences · T target length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from tfmt.corpus.batches import Batch
from tfmt.model.transformer import Transformer

CHUNK_LOGITS = 2_000_000  # numbers in one chunk of logits: bounds the memory, and keeps to a CPU's caches
GPU_CHUNK_LOGITS = 128_000_000  # a quarter of a gigabyte in bf16; smaller products would leave a GPU idle
MIN_CHUNK = 256  # tokens, where the vocabulary is large


def batch_loss_sums(
    model: Transformer, batch: Batch, label_smoothing: float, r_drop: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The sums of `loss_sums` over a batch's target tokens; with `r_drop`, those of `r_drop_sums` over two passes."""
    if r_drop:
        batch = batch.twice()
    memory = model.encode(batch.src_BS, batch.src_place_P)
    h_PD, layout = model.decode_hidden(batch.tgt_in_BT, memory, batch.tgt_place_P)
    tokens = slice(layout.num_tokens)
    h_PD, gold_P, factor_P = h_PD[tokens], layout.strip(batch.tgt_out_BT)[tokens], None
    if batch.weight_B is not None:
        factor_P = layout.strip(batch.weight_B.unsqueeze(1).expand(batch.tgt_out_BT.shape))[tokens]
    if r_drop:
        return r_drop_sums(h_PD, model.head.weight, gold_P, label_smoothing, r_drop, factor_P)
    return loss_sums(h_PD, model.head.weight, gold_P, label_smoothing, factor_P)


def loss_sums(
    h_PD: Tensor, weight_VD: Tensor, gold_P: Tensor, label_smoothing: float, factor_P: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Two sums over tokens, in nats: the smoothed loss, which has a gradient, and the plain one, -log p(gold).

    Equals `torch.nn.functional.cross_entropy(h @ weight.T, gold, label_smoothing=e, reduction="sum")`. A token's
    smoothed loss counts `factor` times, its plain one once.
    """
    wants_gradient = torch.is_grad_enabled() and (h_PD.requires_grad or weight_VD.requires_grad)
    return _CrossEntropy.apply(h_PD, weight_VD, gold_P, label_smoothing, factor_P, wants_gradient)  # type: ignore[no-any-return, no-untyped-call]


def r_drop_sums(
    h_PD: Tensor,
    weight_VD: Tensor,
    gold_P: Tensor,
    label_smoothing: float,
    alpha: float,
    factor_P: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The same two sums where each token has gone through the model twice, with other dropout (Wu et al., 2021).

    The strip's halves are the two passes. A token's smoothed loss is the mean of its two, and alpha / 4 times
    KL(p1 | p2) + KL(p2 | p1): half of the paper's loss, so that it compares with the loss of one pass.
    """
    wants_gradient = torch.is_grad_enabled() and (h_PD.requires_grad or weight_VD.requires_grad)
    return _RDrop.apply(h_PD, weight_VD, gold_P, label_smoothing, alpha, factor_P, wants_gradient)  # type: ignore[no-any-return, no-untyped-call]


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        h_PD: Tensor,
        weight_VD: Tensor,
        gold_P: Tensor,
        label_smoothing: float,
        factor_P: Tensor | None,
        wants_gradient: bool,
    ) -> tuple[Tensor, Tensor]:
        head = _Head(h_PD, weight_VD, gold_P, label_smoothing)
        if wants_gradient:
            head.want_gradients(of_weight=ctx.needs_input_grad[1])
        for here in _chunks(h_PD, len(weight_VD)):
            logits_CV = head.logits(here)
            p_CV, log_sum_C1 = _softmax(logits_CV, gold_P[here].unsqueeze(1))
            factor_C1 = None if factor_P is None else factor_P[here].unsqueeze(1)
            head.add_losses(here, logits_CV, log_sum_C1, factor_C1)
            if wants_gradient:
                p_CV = head.minus_gold_(here, p_CV)
                head.add_gradients(here, p_CV if factor_C1 is None else p_CV.mul_(factor_C1))
        if wants_gradient:
            ctx.save_for_backward(*head.gradients(factor_P))
        ctx.mark_non_differentiable(head.plain)
        return head.smoothed, head.plain

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        return *_scale(ctx.saved_tensors, grad), None, None, None, None


class _RDrop(torch.autograd.Function):
    """KL(p | q) + KL(q | p) is the sum over v of (p - q) d, with d = log p - log q.

    Its gradient by the logits of p is p (d - KL(p | q)) + p - q; q's is the same with p and q exchanged.
    """

    @staticmethod
    def forward(
        ctx: Any,
        h_PD: Tensor,
        weight_VD: Tensor,
        gold_P: Tensor,
        label_smoothing: float,
        alpha: float,
        factor_P: Tensor | None,
        wants_gradient: bool,
    ) -> tuple[Tensor, Tensor]:
        head = _Head(h_PD, weight_VD, gold_P, label_smoothing)
        half_P = torch.full(gold_P.shape, 0.5, device=h_PD.device) if factor_P is None else factor_P / 2
        if wants_gradient:
            head.want_gradients(of_weight=ctx.needs_input_grad[1])
        num_tokens = len(h_PD) // 2
        for one in _chunks(h_PD, len(weight_VD), passes=2):
            other = slice(num_tokens + one.start, num_tokens + one.stop)
            half_C1 = half_P[one].unsqueeze(1)
            logp, p = [], []
            for here in (one, other):
                logits_CV = head.logits(here).float()  # the passes differ by little: bf16 would round that away
                p_CV, log_sum_C1 = _softmax(logits_CV, gold_P[here].unsqueeze(1))
                head.add_losses(here, logits_CV, log_sum_C1, half_C1)
                logp.append(logits_CV - log_sum_C1)
                p.append(p_CV)
            d_CV = logp[0] - logp[1]
            kl_C1 = (p[0] * d_CV).sum(dim=1, keepdim=True), -(p[1] * d_CV).sum(dim=1, keepdim=True)
            head.smoothed += (alpha / 2 * half_C1 * (kl_C1[0] + kl_C1[1])).sum()
            if wants_gradient:
                apart_CV = p[0] - p[1]
                slopes = (p[0] * (d_CV - kl_C1[0]) + apart_CV, p[1] * (-d_CV - kl_C1[1]) - apart_CV)
                for here, p_CV, slope_CV in zip((one, other), p, slopes, strict=True):
                    grad_CV = head.minus_gold_(here, p_CV).add_(slope_CV, alpha=alpha / 2).mul_(half_C1)
                    head.add_gradients(here, grad_CV.to(h_PD.dtype))
        if wants_gradient:
            ctx.save_for_backward(*head.gradients(half_P))
        head.plain /= 2
        ctx.mark_non_differentiable(head.plain)
        return head.smoothed, head.plain

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        return *_scale(ctx.saved_tensors, grad), None, None, None, None, None


class _Head:
    """The output projection chunk by chunk, its sums of losses, and its gradients."""

    def __init__(self, h_PD: Tensor, weight_VD: Tensor, gold_P: Tensor, label_smoothing: float) -> None:
        self.h_PD, self.gold_P, self.label_smoothing = h_PD, gold_P, label_smoothing
        self.weight_low_VD = weight_VD.to(h_PD.dtype)
        self.mean_D = weight_VD.mean(dim=0)  # the mean over v of all logits needs none of them: it is h times this
        self.smoothed = torch.zeros((), device=h_PD.device)
        self.plain = torch.zeros((), device=h_PD.device)
        self.grad_h_PD: Tensor | None = None
        self.grad_weight_VD: Tensor | None = None

    def want_gradients(self, *, of_weight: bool) -> None:
        self.grad_h_PD = torch.empty_like(self.h_PD)
        self.grad_weight_VD = torch.zeros_like(self.weight_low_VD, dtype=self.mean_D.dtype) if of_weight else None

    def logits(self, here: slice) -> Tensor:
        return self.h_PD[here] @ self.weight_low_VD.T

    def add_losses(self, here: slice, logits_CV: Tensor, log_sum_C1: Tensor, factor_C1: Tensor | None) -> None:
        gold_C1 = self.gold_P[here].unsqueeze(1)
        plain_C1 = log_sum_C1 - logits_CV.gather(1, gold_C1)
        even_C1 = log_sum_C1 - (self.h_PD[here].float() @ self.mean_D).unsqueeze(1)
        smoothed_C1 = (1 - self.label_smoothing) * plain_C1 + self.label_smoothing * even_C1
        self.plain += plain_C1.sum()
        self.smoothed += (smoothed_C1 if factor_C1 is None else smoothed_C1 * factor_C1).sum()

    def minus_gold_(self, here: slice, p_CV: Tensor) -> Tensor:
        """The loss's gradient by the logits, but for the even share, which is the same for all and comes last."""
        gold_C1 = self.gold_P[here].unsqueeze(1)
        return p_CV.scatter_add_(1, gold_C1, torch.full_like(gold_C1, self.label_smoothing - 1, dtype=p_CV.dtype))

    def add_gradients(self, here: slice, grad_CV: Tensor) -> None:
        assert self.grad_h_PD is not None
        torch.mm(grad_CV, self.weight_low_VD, out=self.grad_h_PD[here])
        if self.grad_weight_VD is not None:
            self.grad_weight_VD += grad_CV.T @ self.h_PD[here]

    def gradients(self, factor_P: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Both gradients, after the last chunk."""
        assert self.grad_h_PD is not None
        even_D, h_PD = (self.label_smoothing * self.mean_D).to(self.h_PD.dtype), self.h_PD.float()
        if factor_P is None:
            self.grad_h_PD -= even_D
        else:
            self.grad_h_PD -= even_D * factor_P.unsqueeze(1).to(even_D.dtype)
            h_PD = h_PD * factor_P.unsqueeze(1)
        if self.grad_weight_VD is not None:
            self.grad_weight_VD -= self.label_smoothing / len(self.grad_weight_VD) * h_PD.sum(dim=0)
        return self.grad_h_PD, self.grad_weight_VD


def _chunks(h_PD: Tensor, vocab_size: int, passes: int = 1) -> Iterator[slice]:
    """Slices of the first pass's tokens whose logits, of all passes together, are about so many numbers as fit."""
    num_tokens = len(h_PD) // passes
    size = max(MIN_CHUNK, (GPU_CHUNK_LOGITS if h_PD.is_cuda else CHUNK_LOGITS) // vocab_size) // passes
    for start in range(0, num_tokens, size):
        yield slice(start, min(start + size, num_tokens))


def _softmax(logits_CV: Tensor, gold_C1: Tensor) -> tuple[Tensor, Tensor]:
    """Probabilities, and the logarithm of the sum of exponentials (in fp32)."""
    p_CV = logits_CV.softmax(dim=1)
    gold_p_C1 = p_CV.gather(1, gold_C1).float()
    if p_CV.device.type == "cpu" and bool((gold_p_C1 > 1e-30).all()):  # a CPU's search for the likeliest token is slow
        return p_CV, logits_CV.gather(1, gold_C1).float() - gold_p_C1.log()
    # by the likeliest token: its probability is never near 0
    return p_CV, logits_CV.amax(dim=1, keepdim=True).float() - p_CV.amax(dim=1, keepdim=True).float().log()


def _scale(gradients: tuple[Tensor | None, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
    return tuple(None if gradient is None else gradient * grad for gradient in gradients)
