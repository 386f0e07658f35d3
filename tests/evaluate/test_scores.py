import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from tfmt.errors import DataError, MissingExtra
from tfmt.evaluate import scores
from tfmt.evaluate.scores import bleu, compound_split_bleu, score, segment_chrf, word_split

ENGLISH = [
    "The cat sat on the mat, and looked at me.",
    "“Quotes” cost $3.50 - don't they?",
    "A line with U+2028\u2028inside stays one line.",
    "Trailing space ",
    "He said: no!",
]
ENGLISH_REFERENCE = [
    "The cat was sitting on the mat and looked at me.",
    "“Quotes” cost $3.50, don't they?",
    "A line with U+2028\u2028in it stays one line.",
    "Trailing spaces",
    "She said: no!",
]
ENGLISH_REFERENCE_2 = ["On the mat sat a cat.", "Quotes are $3.50.", "One line.", "Space", "He said no."]
CHINESE = ["我是一条狗。", "我喜欢打篮球,你呢?", "他有3本书。", "今天是2024年5月1日。"]
CHINESE_REFERENCE = ["我是一只狗。", "我喜欢打篮球，你呢？", "他有三本书。", "今天是2024年5月1日。"]


def by_sacrebleu(
    folder: Path, hypotheses: list[str], references: list[list[str]], *options: str
) -> dict[str, tuple[float, str]]:
    """What sacrebleu's own command says of the same lines in files: the oracle."""
    paths = []
    for number, lines in enumerate([hypotheses, *references]):
        path = folder / f"{number}.txt"
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
        paths.append(str(path))
    words = [
        *paths[1:],
        "-i",
        paths[0],
        "-m",
        "bleu",
        "chrf",
        "ter",
        "--format",
        "json",
        "-w",
        "10",
        *options,
    ]
    done = subprocess.run([sys.executable, "-m", "sacrebleu", *words], capture_output=True, check=True)
    return {result["name"]: (result["score"], result["signature"]) for result in json.loads(done.stdout)}


@pytest.mark.parametrize(
    ("hypotheses", "references", "language", "options"),
    [
        (ENGLISH, [ENGLISH_REFERENCE], "en", ()),
        (ENGLISH, [ENGLISH_REFERENCE], "", ()),
        (ENGLISH, [ENGLISH_REFERENCE, ENGLISH_REFERENCE_2], "en", ()),
        (CHINESE, [CHINESE_REFERENCE], "zh-Hans", ("-l", "en-zh")),
        (["", *ENGLISH[1:4], " "], [ENGLISH_REFERENCE], "en", ()),
        (ENGLISH, [["", *ENGLISH_REFERENCE[1:]]], "en", ()),
        ([""], [["something"]], "en", ()),
        (["nothing"], [["shared"]], "en", ()),
        (ENGLISH, [ENGLISH], "en", ()),
    ],
    ids=[
        "english",
        "no language",
        "two references",
        "chinese",
        "empty lines",
        "empty reference",
        "all empty",
        "no match",
        "the same",
    ],
)
def test_values_and_signatures_equal_those_of_sacrebleus_command(
    tmp_path: Path,
    hypotheses: list[str],
    references: list[list[str]],
    language: str,
    options: tuple[str, ...],
) -> None:
    ours = score(hypotheses, references, target_language=language)
    theirs = by_sacrebleu(tmp_path, hypotheses, references, *options)
    assert {
        "BLEU": (round(ours.bleu.score, 10), ours.bleu.signature),
        "chrF2": (round(ours.chrf.score, 10), ours.chrf.signature),
        "TER": (round(ours.ter.score, 10), ours.ter.signature),
    } == theirs


@pytest.mark.parametrize("tokenize", ["none", "char", "intl", "zh"])
def test_a_word_split_asked_for_equals_sacrebleus(tmp_path: Path, tokenize: str) -> None:
    ours = bleu(ENGLISH, [ENGLISH_REFERENCE], target_language="zh", tokenize=tokenize)
    theirs = by_sacrebleu(tmp_path, ENGLISH, [ENGLISH_REFERENCE], "-tok", tokenize)["BLEU"]
    assert (round(ours.score, 10), ours.signature) == theirs


def test_bleu_alone_is_the_bleu_of_all_three() -> None:
    assert bleu(ENGLISH, [ENGLISH_REFERENCE]) == score(ENGLISH, [ENGLISH_REFERENCE]).bleu


def test_bleu_follows_from_its_details() -> None:
    result = bleu(ENGLISH, [ENGLISH_REFERENCE])
    product = 1.0
    for precision in result.precisions:
        product *= precision / 100
    assert result.brevity_penalty is not None
    assert result.score == pytest.approx(100 * result.brevity_penalty * product**0.25)


def test_segment_chrf_of_the_same_line_is_100_and_of_an_empty_one_0() -> None:
    assert segment_chrf(["the same", ""], [["other", "words"], ["the same", "text"]]) == [
        pytest.approx(100),
        0,
    ]


def test_unequal_counts_are_an_error_with_both() -> None:
    with pytest.raises(DataError, match="2 hypotheses but 1 lines in reference 2"):
        score(["a", "b"], [["a", "b"], ["a"]])


def test_nothing_to_score_is_an_error() -> None:
    with pytest.raises(DataError, match="no hypotheses"):
        score([], [[]])


@pytest.mark.parametrize(
    ("language", "split"),
    [("zh", "zh"), ("zh-Hans", "zh"), ("ZH_cn", "zh"), ("cmn-Hant", "zh"), ("de", "13a"), ("", "13a")],
)
def test_the_target_language_picks_the_word_split(language: str, split: str) -> None:
    assert word_split(language) == split


@pytest.fixture
def without_mecab(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sacrebleu.tokenizers.tokenizer_ja_mecab", "sacrebleu.tokenizers.tokenizer_ko_mecab"):
        __import__(module)
        monkeypatch.setattr(sys.modules[module], "MeCab", None)
    scores._split_of_language.cache_clear()


@pytest.mark.usefixtures("without_mecab")
@pytest.mark.parametrize("language", ["ja", "ko-KR"])
def test_without_mecab_characters_are_compared_and_a_warning_says_so_once(
    caplog: pytest.LogCaptureFixture, language: str
) -> None:
    text = ["こんにちは世界"]
    assert "tok:char" in bleu(text, [text], target_language=language).signature
    assert "tok:char" in bleu(text, [text], target_language=language).signature
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert f"pip install 'sacrebleu[{language[:2]}]'" in caplog.text


@pytest.mark.usefixtures("without_mecab")
def test_mecab_asked_for_but_missing_is_an_error_that_names_the_package() -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'sacrebleu\[ja\]'"):
        word_split(tokenize="ja-mecab")


def test_an_unknown_word_split_is_an_error_with_the_choices() -> None:
    with pytest.raises(DataError, match=r"'14a'.*13a"):
        bleu(["a"], [["a"]], tokenize="14a")


def test_a_flores_split_that_cannot_be_fetched_is_one_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from sacrebleu.tokenizers import tokenizer_spm

    def no_network(url: str, path: str) -> None:
        raise OSError("no network")

    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr(tokenizer_spm, "download_file", no_network)
    with pytest.raises(DataError, match="could not be fetched"):
        word_split(tokenize="flores200")


@pytest.mark.parametrize(
    "hypotheses",
    [["Hello , world ."], ["ein Wor@@ t", "noch ein Wort"], ["▁Hello ▁world"], ["It is ."] * 150],
    ids=["spaced", "bpe", "sentencepiece", "many"],
)
def test_tokenised_hypotheses_are_warned_of_in_one_line_of_ours(
    caplog: pytest.LogCaptureFixture, hypotheses: list[str]
) -> None:
    score(hypotheses, [hypotheses])
    assert [record.name for record in caplog.records] == ["tfmt.evaluate.scores"]
    assert "look tokenised" in caplog.text


def test_plain_hypotheses_are_not_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    french = ["Vraiment ? Oui !", "Il dit : non ; moi aussi."]
    score([*ENGLISH, *french, "", "..."], [[*ENGLISH_REFERENCE, *french, "", "..."]])
    score(CHINESE, [CHINESE_REFERENCE], target_language="zh")
    assert not caplog.records


def test_compound_split_bleu_is_bleu_of_mosess_words_with_compounds_in_parts(tmp_path: Path) -> None:
    """The words are written out by hand; sacrebleu's command scores them without smoothing."""
    plain = ["A low-cost, well-known plan: it's $3.50 a go.", 'State-of-the-art "systems" won.']
    words = [
        "A low ##AT##-##AT## cost , well ##AT##-##AT## known plan : it &apos;s $ 3.50 a go .",
        "State ##AT##-##AT## of ##AT##-##AT## the ##AT##-##AT## art &quot; systems &quot; won .",
    ]
    reference = ["A cheap, well-known plan: it's $3.50 a go.", "State-of-the-art systems have won."]
    reference_words = [
        "A cheap , well ##AT##-##AT## known plan : it &apos;s $ 3.50 a go .",
        "State ##AT##-##AT## of ##AT##-##AT## the ##AT##-##AT## art systems have won .",
    ]
    options = ("-tok", "none", "--smooth-method", "none")
    value, signature = by_sacrebleu(tmp_path, words, [reference_words], *options)["BLEU"]
    found = compound_split_bleu(plain, [reference], "en-GB")
    assert found.score == pytest.approx(value, abs=1e-9)
    assert found.signature == signature.replace("tok:none", "tok:moses-compounds-split")
    assert found.score > bleu(plain, [reference]).score


def test_mosess_words_need_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tfmt\[moses\]'"):
        compound_split_bleu(["a"], [["a"]])
