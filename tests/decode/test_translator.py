import random

import pytest

from tfmt.decode.translator import Translator

LINES = [
    "abc de",
    "",
    "f",
    "gh ab cd ef gh abc",
    "   ",
    "abc de",
    "\u00a0\u200b",
    "hg",
    "😊 𝔘 ꙮ",
    "c d e f g h a b c d",
]


def test_as_many_translations_as_lines_in_order(untrained):
    translations = untrained.translate(LINES)
    assert [translation.source for translation in translations] == LINES
    assert translations[0] == translations[5]


def test_blank_lines_stay_blank(untrained):
    for translation in untrained.translate(
        ["", " ", "\t", "\u00a0", "\u200b", "\u3000\ufeff", "\u2028", "\u2009\u00ad\x07"]
    ):
        assert translation.text == ""
        assert translation.score is None
        assert translation.flags == ["blank"]


@pytest.mark.parametrize("beam", [1, 4, 5])
def test_batch_order_and_neighbours_change_nothing(untrained, beam):
    generator = random.Random(2)
    lines = [" ".join(generator.choices("abcdefgh", k=generator.randint(1, 12))) for _ in range(50)]
    cfg = untrained.cfg.model_copy(update={"beam": beam})
    expected = None
    for batch_tokens in (1, 60, 10_000):
        for order in (lines, generator.sample(lines, len(lines))):
            translator = Translator(untrained.model, untrained.tokenizer, cfg, batch_tokens=batch_tokens)
            found = {t.source: t for t in translator.translate(order, num_best=2)}
            expected = expected or found
            for line in lines:
                assert found[line].text == expected[line].text
                assert found[line].score == pytest.approx(expected[line].score, abs=1e-4)


def test_hypotheses_begin_with_the_translation(untrained):
    translation = untrained.translate(["abc de"], num_best=3)[0]
    assert len(translation.hypotheses) == 3
    assert translation.hypotheses[0].text == translation.text
    assert translation.hypotheses[0].score == translation.score


def test_a_line_longer_than_any_before_is_translated(untrained):
    cfg = untrained.cfg.model_copy(update={"beam": 1, "max_length_ratio": 0.0})
    translator = Translator(untrained.model, untrained.tokenizer, cfg)
    translations = translator.translate(["abc", "ab " * 1000, "de"])
    assert len(translations) == 3
    assert (
        translations[0].text
        == untrained.__class__(untrained.model, untrained.tokenizer, cfg).translate(["abc"])[0].text
    )


def test_a_model_in_training_is_given_back_so(untrained):
    untrained.model.train()
    untrained.translate(["abc"])
    assert untrained.model.training
