"""The model against torch.nn.Transformer, against itself step by step, and against the paper's counts."""

import pytest
import torch
from fakes import small_config
from torch import nn
from torch.testing import assert_close

from tfmt.config import ModelConfig
from tfmt.model import layers
from tfmt.model.layers import Dropout
from tfmt.model.transformer import Transformer, num_parameters
from tfmt.special_ids import PAD

VOCAB = 50
SRC_BS = torch.tensor([[5, 6, 7, 8, 9, 2], [5, 6, 2, PAD, PAD, PAD], [11, 12, 13, 2, PAD, PAD]])
TGT_BT = torch.tensor([[1, 20, 21, 22, PAD], [1, 23, 24, 25, 26], [1, 27, PAD, PAD, PAD]])


def make_model(**changes: object) -> Transformer:
    torch.manual_seed(5)
    return Transformer(small_config(**changes), VOCAB).eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_equals_torch_transformer_with_copied_weights(norm):
    ours = make_model(norm=norm)
    cfg = ours.cfg
    shared = {
        "d_model": cfg.d_model, "nhead": cfg.num_heads, "dim_feedforward": cfg.d_ff, "dropout": 0.0,
        "layer_norm_eps": cfg.norm_eps, "batch_first": True, "norm_first": norm == "pre",
    }  # fmt: skip
    final = (lambda: nn.LayerNorm(cfg.d_model, eps=cfg.norm_eps)) if norm == "pre" else (lambda: None)
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**shared), cfg.encoder_layers, final(), enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**shared), cfg.decoder_layers, final())
    theirs = nn.Transformer(
        cfg.d_model, cfg.num_heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )
    with torch.no_grad():
        for parameter in ours.parameters():  # norms and biases too must matter
            parameter.add_(0.1 * torch.randn_like(parameter))
        copy_stack(ours.encoder, encoder.layers)
        copy_stack(ours.decoder, decoder.layers)
        if norm == "pre":
            encoder.norm.load_state_dict(ours.encoder_norm.state_dict())
            decoder.norm.load_state_dict(ours.decoder_norm.state_dict())

    def embed(ids_BT):
        x_BTD = ours.source_embedding(ids_BT) * cfg.d_model**0.5
        return x_BTD + ours.positions.table_TD[: ids_BT.shape[1]]

    length = TGT_BT.shape[1]
    hidden_BTD = theirs.eval()(
        embed(SRC_BS),
        embed(TGT_BT),
        tgt_mask=~torch.ones(length, length, dtype=torch.bool).tril(),
        src_key_padding_mask=SRC_BS == PAD,
        memory_key_padding_mask=SRC_BS == PAD,
        tgt_key_padding_mask=TGT_BT == PAD,
    )
    expected_BTV = ours.head(hidden_BTD)
    actual_BTV = ours.decode(TGT_BT, ours.encode(SRC_BS))
    is_token = TGT_BT != PAD
    assert_close(actual_BTV[is_token], expected_BTV[is_token], atol=1e-5, rtol=1e-4)


def copy_stack(ours: nn.ModuleList, theirs: nn.ModuleList) -> None:
    for block, layer in zip(ours, theirs, strict=True):
        copy_attention(block.self_attention, layer.self_attn)
        norms = [(block.self_residual, layer.norm1)]
        if hasattr(block, "cross_attention"):
            copy_attention(block.cross_attention, layer.multihead_attn)
            norms += [(block.cross_residual, layer.norm2), (block.feed_forward_residual, layer.norm3)]
        else:
            norms += [(block.feed_forward_residual, layer.norm2)]
        for residual, norm in norms:
            norm.load_state_dict(residual.norm.state_dict())
        layer.linear1.load_state_dict(block.feed_forward.inner.state_dict())
        layer.linear2.load_state_dict(block.feed_forward.outer.state_dict())


def copy_attention(ours: nn.Module, theirs: nn.MultiheadAttention) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("beam", [1, 3])
def test_cached_equals_uncached_decoding(norm, beam):
    model = make_model(norm=norm)
    memory = model.encode(SRC_BS)
    expected_BTV = model.decode(TGT_BT, memory)
    state = model.start(memory, beam)
    for t in range(TGT_BT.shape[1]):
        logits_RV = model.step(TGT_BT[:, t].repeat_interleave(beam), state)
        for b in range(len(TGT_BT)):
            if TGT_BT[b, t] != PAD:
                assert_close(
                    logits_RV[b * beam : (b + 1) * beam],
                    expected_BTV[b, t].expand(beam, -1),
                    atol=1e-5,
                    rtol=1e-4,
                )


def test_selecting_rows_carries_their_past_and_drops_sentences():
    model = make_model()
    memory = model.encode(SRC_BS)
    state = model.start(memory, beam=2)
    model.step(torch.ones(6, dtype=torch.long), state)
    model.step(torch.tensor([20, 30, 23, 33, 27, 37]), state)
    state = state.select(torch.tensor([1, 1, 4, 5]))  # sentence 0 twice from its second row, sentence 1 leaves
    logits_RV = model.step(torch.tensor([21, 31, 28, 38]), state)
    prefixes = torch.tensor([[1, 30, 21], [1, 30, 31], [1, 27, 28], [1, 37, 38]])
    rows_of_source = model.encode(SRC_BS[[0, 0, 2, 2]])
    assert_close(logits_RV, model.decode(prefixes, rows_of_source)[:, -1], atol=1e-5, rtol=1e-4)


def test_padding_and_neighbours_change_nothing():
    model = make_model()
    together_BTV = model.decode(TGT_BT, model.encode(SRC_BS))
    for b in range(len(SRC_BS)):
        source, target = SRC_BS[b][SRC_BS[b] != PAD][None], TGT_BT[b][TGT_BT[b] != PAD][None]
        alone_BTV = model.decode(target, model.encode(source))
        assert_close(together_BTV[b, : target.shape[1]], alone_BTV[0], atol=1e-5, rtol=1e-4)
    wider = torch.cat([SRC_BS, torch.full((3, 9), PAD)], dim=1)
    assert_close(model.decode(TGT_BT, model.encode(wider)), together_BTV, atol=1e-5, rtol=1e-4)


def test_no_token_sees_a_later_one():
    model = make_model()
    memory = model.encode(SRC_BS[:1])
    before = model.decode(torch.tensor([[1, 20, 21, 22]]), memory)
    after = model.decode(torch.tensor([[1, 20, 21, 33]]), memory)
    assert_close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])


@pytest.mark.parametrize(
    ("cfg", "vocab_size", "expected"),
    [
        (ModelConfig(), 37_000, 63_082_496),
        (ModelConfig(), 32_768, 60_915_712),
        (ModelConfig(d_model=1024, num_heads=16, d_ff=4096, dropout=0.3), 37_000, 214_245_376),
    ],
)
def test_paper_models_have_the_closed_forms_number_of_parameters(cfg, vocab_size, expected):
    with torch.device("meta"):
        model = Transformer(cfg, vocab_size)
    assert num_parameters(model) == expected


def test_one_matrix_serves_three_places_when_tied():
    tied = make_model()
    assert tied.source_embedding.weight is tied.target_embedding.weight is tied.head.weight
    untied = make_model(tie_embeddings=False)
    assert num_parameters(untied) == num_parameters(tied) + 2 * VOCAB * untied.cfg.d_model


def test_dropout_stands_where_the_paper_has_it_and_nowhere_else():
    """At the output of each sub-layer and on the embedded sums (5.4): not on attention weights, not inside ReLU."""
    model = make_model(dropout=0.1)
    places = {name.rpartition(".")[0] for name, module in model.named_modules() if isinstance(module, Dropout)}
    blocks = [f"encoder.{i}" for i in range(2)] + [f"decoder.{i}" for i in range(2)]
    expected = {""} | {f"{block}.{part}_residual" for block in blocks for part in ("self", "feed_forward")}
    assert places == expected | {f"decoder.{i}.cross_residual" for i in range(2)}
    # and no other draw is made: with these switched off, training mode is evaluation mode
    for module in model.modules():
        if isinstance(module, Dropout):
            module.share = 0.0
    expected_BTV = model.decode(TGT_BT, model.encode(SRC_BS))
    assert model.train().decode(TGT_BT, model.encode(SRC_BS)).equal(expected_BTV)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_dropped_word_leaves_its_place_and_nothing_else(side, monkeypatch):
    """Dropping a token is reading an embedding of zeros there; the other side is untouched."""
    model = make_model(dropout=0.0, tie_embeddings=False, **{f"{side}_word_dropout": 0.5}).train()
    monkeypatch.setattr(layers, "drop", lambda ones_P1, *_: (torch.arange(len(ones_P1)) != 1).float().unsqueeze(1))
    dropped_BTV = model.decode(TGT_BT[1:2], model.encode(SRC_BS[1:2]))
    zero, zeroed = 49, {"source": SRC_BS, "target": TGT_BT}[side][1:2].clone()
    zeroed[0, 1] = zero
    with torch.no_grad():
        getattr(model, f"{side}_embedding").weight[zero] = 0
    src_BS, tgt_BT = (zeroed, TGT_BT[1:2]) if side == "source" else (SRC_BS[1:2], zeroed)
    assert_close(dropped_BTV, model.eval().decode(tgt_BT, model.encode(src_BS)))


def test_initial_weights_have_the_stated_spread():
    torch.manual_seed(1)
    model = Transformer(ModelConfig(encoder_layers=1, decoder_layers=1), 5000)
    assert abs(model.head.weight.std().item() - 512**-0.5) < 1e-3
    inner = model.encoder[0].feed_forward.inner
    assert abs(inner.weight.abs().max().item() - (6 / (512 + 2048)) ** 0.5) < 1e-3
    assert inner.bias.eq(0).all()


def test_weights_follow_the_seed():
    first, second = make_model(tie_embeddings=False), make_model(tie_embeddings=False)
    for (name, a), (_, b) in zip(first.named_parameters(), second.named_parameters(), strict=True):
        assert a.equal(b), name
