"""The encoder-decoder Transformer (Vaswani et al., 2017), and one step of its decoder at a time.

Letters: B sentences · S source length · T target length · R rows decoded (B sentences x K hypotheses each) ·
P tokens in a flat strip · D width · N heads · H head width · V vocabulary.
Initial weights: embeddings N(0, d_model^-0.5), all other matrices uniform Glorot, biases 0 (the paper says nothing;
tensor2tensor's defaults come to the same).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from tfmt.config import ModelConfig
from tfmt.model.layers import Block, Cache, Dropout, Norm, Source, WordDropout
from tfmt.model.layout import Layout
from tfmt.model.positions import Sinusoidal
from tfmt.special_ids import PAD

BF16_ROWS = 128  # in training a strip's length is a multiple of this, so that few kernels are made anew for each batch


@dataclass(frozen=True)
class Memory:
    """What the encoder made of the source: a vector for each token."""

    h_PD: Tensor
    layout: Layout


@dataclass
class DecoderState:
    """All that the next step needs: each block's source and the keys and values of the target so far."""

    sources: list[Source]
    caches: list[Cache]
    length: int  # target tokens read

    def select(self, rows_R: Tensor) -> DecoderState:
        """The state of other rows: K for each sentence that stays, sentences in order, from rows of that sentence."""
        _, beam = self.sources[0].queries.shape
        num_rows = len(rows_R)
        if num_rows == self.sources[0].k_BNSH.shape[0] * beam:
            sources = self.sources
        else:
            kept_B = rows_R[::beam] // beam
            queries = Layout.full(num_rows // beam, beam)
            sources = [
                Source(
                    source.k_BNSH[kept_B],
                    source.v_BNSH[kept_B],
                    None if source.mask_B11S is None else source.mask_B11S[kept_B],
                    queries,
                )
                for source in self.sources
            ]
        return DecoderState(sources, [cache.select(rows_R) for cache in self.caches], self.length)


class Transformer(nn.Module):
    """Encoder and decoder of blocks, over one vocabulary for both languages."""

    def __init__(self, cfg: ModelConfig, vocab_size: int) -> None:
        super().__init__()
        self.cfg = cfg
        self.vocab_size = vocab_size
        self.source_embedding = nn.Embedding(vocab_size, cfg.d_model)
        if not cfg.tie_embeddings:
            self.target_embedding = nn.Embedding(vocab_size, cfg.d_model)
        self.source_word_dropout = WordDropout(cfg.source_word_dropout)
        self.target_word_dropout = WordDropout(cfg.target_word_dropout)
        self.positions = Sinusoidal(cfg.d_model)
        self.dropout = Dropout(cfg.dropout)
        self.encoder = nn.ModuleList(Block(cfg, cross=False) for _ in range(cfg.encoder_layers))
        self.decoder = nn.ModuleList(Block(cfg, cross=True) for _ in range(cfg.decoder_layers))
        # post-norm blocks end in a norm; pre-norm ones need one more at the end of each stack
        pre_norm = cfg.norm == "pre"
        self.encoder_norm = Norm(cfg.d_model, eps=cfg.norm_eps) if pre_norm else nn.Identity()
        self.decoder_norm = Norm(cfg.d_model, eps=cfg.norm_eps) if pre_norm else nn.Identity()
        self.head = nn.Linear(cfg.d_model, vocab_size, bias=False)
        self._initialise()
        self._tie()

    @classmethod
    def without_weights(cls, cfg: ModelConfig, vocab_size: int, device: torch.device | str) -> Transformer:
        """A model whose weights are still undefined: no time is spent on numbers that loading replaces."""
        with torch.device("meta"):
            model = cls(cfg, vocab_size)
        model.to_empty(device=device)
        model.positions.reset()
        model._tie()
        return model

    def _tie(self) -> None:
        if self.cfg.tie_embeddings:
            self.target_embedding = self.source_embedding
            self.head.weight = self.source_embedding.weight

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.cfg.d_model**-0.5)

    @property
    def device(self) -> torch.device:
        return self.head.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The number format of the blocks' products and of all between them."""
        return cast(Block, self.encoder[0]).self_attention.query.weight.dtype

    def seed_dropout(self, *seed: int) -> None:
        """Let nothing but this seed decide what dropout draws from here on (on a GPU: whatever is drawn there)."""
        dropouts = [module for module in self.modules() if isinstance(module, Dropout)]
        seeds = np.random.SeedSequence(seed).generate_state(len(dropouts), np.uint64).tolist()
        for dropout, own_seed in zip(dropouts, seeds, strict=True):
            dropout.generator.manual_seed(own_seed)
        if self.device.type == "cuda":
            torch.cuda.manual_seed(seeds[0])

    def encode(self, src_BS: Tensor, place_P: Tensor | None = None) -> Memory:
        """Read the source: ids that end in <eos>, padded with PAD; `place`: where the others stand, if it is known."""
        layout = self._layout(src_BS, place_P)
        x_PD = self._embed(self.source_embedding, self.source_word_dropout, src_BS, layout)
        mask_B11S = _key_mask(layout)
        for block in self.encoder:
            x_PD = block(x_PD, layout, mask_B11S)
        return Memory(self.encoder_norm(x_PD), layout)

    def decode(self, tgt_BT: Tensor, memory: Memory) -> Tensor:
        """Logits of the token after each one of `tgt` (which starts with <bos>), (B, T, V), zero where padded."""
        h_PD, layout = self.decode_hidden(tgt_BT, memory)
        return layout.rectangle(self.head(h_PD))

    def decode_hidden(self, tgt_BT: Tensor, memory: Memory, place_P: Tensor | None = None) -> tuple[Tensor, Layout]:
        """What the head reads, one vector for each target token, and where these lie."""
        layout = self._layout(tgt_BT, place_P)
        x_PD = self._embed(self.target_embedding, self.target_word_dropout, tgt_BT, layout)
        length = tgt_BT.shape[1]
        # padding comes last in a sentence, so no token could look ahead to it: the causal mask is mask enough
        causal_11TT = torch.ones(1, 1, length, length, dtype=torch.bool, device=tgt_BT.device).tril()
        for block, source in zip(self.decoder, self._sources(memory, layout), strict=True):
            x_PD = block(x_PD, layout, causal_11TT, source, is_causal=True)
        return self.decoder_norm(x_PD), layout

    def start(self, memory: Memory, beam: int) -> DecoderState:
        """The state before the first step, with `beam` rows for each sentence."""
        queries = Layout.full(memory.layout.shape[0], beam)
        return DecoderState(self._sources(memory, queries), [Cache() for _ in self.decoder], length=0)

    def step(self, ids_R: Tensor, state: DecoderState) -> Tensor:
        """Logits of the token after `ids`, (R, V); the state moves on by these ids."""
        embedded_RD = self.target_embedding(ids_R) * math.sqrt(self.cfg.d_model)
        x_RD = self.positions.embed_at(embedded_RD, state.length)
        layout = Layout.full(len(ids_R), 1)
        for block, source, cache in zip(self.decoder, state.sources, state.caches, strict=True):
            x_RD = block(x_RD, layout, None, source, cache)
        state.length += 1
        return self.head(self.decoder_norm(x_RD))  # type: ignore[no-any-return]

    def _layout(self, ids_BT: Tensor, place_P: Tensor | None = None) -> Layout:
        rows = BF16_ROWS if self.training and self.dtype == torch.bfloat16 else 1
        return Layout.of(ids_BT != PAD, place_P, multiple=rows)

    def _embed(self, embedding: nn.Module, word_dropout: nn.Module, ids_BT: Tensor, layout: Layout) -> Tensor:
        embedded_PD = word_dropout(embedding(layout.strip(ids_BT)) * math.sqrt(self.cfg.d_model))
        return self.dropout(self.positions.embed(embedded_PD, layout).to(self.dtype))  # type: ignore[no-any-return]

    def _sources(self, memory: Memory, queries: Layout) -> list[Source]:
        mask_B11S = _key_mask(memory.layout)
        blocks = cast(Iterable[Block], self.decoder)
        keys_values = [block.cross_attention.keys_values(memory.h_PD, memory.layout) for block in blocks]
        return [Source(k_BNSH, v_BNSH, mask_B11S, queries) for k_BNSH, v_BNSH in keys_values]


def _key_mask(layout: Layout) -> Tensor | None:
    return None if layout.mask_BT is None else layout.mask_BT[:, None, None, :]


def num_parameters(model: nn.Module) -> int:
    """Numbers that training adjusts; a matrix used thrice counts once."""
    return sum(parameter.numel() for parameter in model.parameters())
