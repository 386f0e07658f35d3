"""No character is ever lost, and the same text gives the same bytes."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import sentencepiece

from tfmt.corpus.tokenizer import ESCAPE, SPACE, Tokenizer, _sample, train_tokenizer
from tfmt.errors import DataError, ModelError, OutputExists
from tfmt.special_ids import BOS, EOS, PAD, UNK

TEXT = [
    "the cat sat on the mat",
    "der Hund sitzt auf der Matte  und  bellt",
    "the dog and the cat like playing basketball",
    "我喜欢打篮球 我是一条狗",
    "a▁b with <s> and </s> and <unk> in it",
    "tab\there, 12 o'clock!",
] * 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "text.txt").write_bytes("\n".join(TEXT).encode())
    train_tokenizer([folder / "text.txt"], vocab_size=400, output=folder / "tokenizer.model")
    return folder


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Tokenizer:
    return Tokenizer.load(folder / "tokenizer.model")


AWKWARD = [
    "",
    " ",
    "   ",
    "a  b",
    " lead",
    "  two",
    "trail ",
    "trail  ",
    "\ttab\t\t",
    "▁",
    "▁▁a ▁ b▁",
    "x 😊 𝔘 ꙮ",
    "👩‍🚀👨‍👩‍👧‍👦🇩🇪",
    "e\u0301 \u00e9 \u0301",
    "<s>",
    "</s>",
    "<unk>",
    "<pad>",
    "<0x41> <0xE2><0x96><0x81>",
    "a\u2028b\u2029c\u0085d\x0be\x0cf",
    "a\rb\r",
    "a\nb\n\n",
    "\r\n",
    "a\0b",
    "\ufeffa",
    "\u00a0\u3000\u200b",
    " ⁇ ⁇",
    "\ufffd",
    "▅ ▅",
    ESCAPE,
    f"{ESCAPE}_",
    f"{ESCAPE}{ESCAPE}_▁{ESCAPE}",
    "ﬁ Ａ ｱ ½ ™ \u1e9b\u0323",
    "هذا نص عربي \u202bعربي\u202c",
    "\U0010ffff\ufdd0\uffff",
    "A" * 5000,
]


@pytest.mark.parametrize("text", AWKWARD, ids=lambda text: ascii(text)[:30])
def test_decode_of_encode_is_the_text(tokenizer: Tokenizer, text: str) -> None:
    (ids,) = tokenizer.encode([text])
    assert tokenizer.decode(ids) == text
    assert min(ids, default=4) > UNK


def test_decode_of_encode_is_the_text_for_random_strings(tokenizer: Tokenizer) -> None:
    generator = random.Random(1)
    alphabet = [*"ab  ▁_<s>/\t\r\n", ESCAPE, "😊", "the", " the cat", "我", "\u0301", "\u2028", "⁇", "\u00a0"]
    texts = ["".join(generator.choices(alphabet, k=generator.randint(0, 30))) for _ in range(1500)]
    encoded = tokenizer.encode(texts)  # enough for threads
    assert [tokenizer.decode(ids) for ids in encoded] == texts
    assert encoded == [tokenizer.encode([text])[0] for text in texts]  # neighbours change nothing


def test_common_words_are_one_piece_wherever_they_stand(tokenizer: Tokenizer) -> None:
    first, later = tokenizer.encode(["the", "a the"])
    assert len(first) == 1
    assert later[-1] == first[0]


def test_special_ids_are_what_every_prepared_folder_was_written_with() -> None:
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)


def test_decoding_says_nothing_for_special_ids(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode(["the cat"])
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == "the cat"
    assert tokenizer.decode([UNK, *ids, UNK]) == "the cat"
    assert tokenizer.decode([PAD, BOS, EOS, UNK]) == ""
    assert tokenizer.decode([]) == ""


def test_decoding_any_ids_never_crashes(tokenizer: Tokenizer) -> None:
    generator = random.Random(2)
    for _ in range(300):
        ids = generator.choices(range(tokenizer.vocab_size), k=generator.randint(1, 20))
        text = tokenizer.decode(ids)
        assert "⁇" not in text
        text.encode()
    (smile,) = tokenizer.encode(["😊"])
    assert tokenizer.decode(smile[:-1]).strip("\ufffd") == ""


def test_same_files_size_and_seed_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train_tokenizer([folder / "text.txt"], vocab_size=320, output=tmp_path / name, seed=seed, max_lines=12)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_threads_and_locale_do_not_change_the_bytes(folder: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tfmt.corpus.tokenizer import train_tokenizer; "
        "train_tokenizer([Path(sys.argv[1])], vocab_size=400, output=Path(sys.argv[2]))"
    )
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONHASHSEED": "7",
    }
    done = subprocess.run(
        [sys.executable, "-c", script, folder / "text.txt", tmp_path / "other.model"],
        env=environment,
        capture_output=True,
        check=True,
    )
    assert (tmp_path / "other.model").read_bytes() == (folder / "tokenizer.model").read_bytes()
    assert done.stdout == b""
    assert b".cc" not in done.stderr  # sentencepiece itself stays silent


def test_a_vocabulary_too_large_is_capped_with_a_notice(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    report = train_tokenizer([folder / "text.txt"], vocab_size=32_000, output=tmp_path / "t.model")
    assert report.requested == 32_000
    assert report.vocab_size == Tokenizer.load(tmp_path / "t.model").vocab_size < 1000
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert f"{report.vocab_size:,}" in record.message
    assert "32,000" in record.message
    assert capfd.readouterr() == ("", "")
    # the largest possible is possible, and says nothing
    caplog.clear()
    again = train_tokenizer([folder / "text.txt"], vocab_size=report.vocab_size, output=tmp_path / "u.model")
    assert again.vocab_size == report.vocab_size
    assert not caplog.records


@pytest.mark.parametrize("size", [-1, 1, 4, 100, 265])
def test_a_vocabulary_too_small_names_the_minimum(
    folder: Path, tmp_path: Path, size: int, capfd: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "t.model"
    with pytest.raises(DataError, match=r"too small; this text needs at least (\d+)") as caught:
        train_tokenizer([folder / "text.txt"], vocab_size=size, output=output)
    minimum = int(str(caught.value).partition("at least ")[2].split()[0])
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    assert train_tokenizer([folder / "text.txt"], vocab_size=minimum, output=output).vocab_size == minimum


@pytest.mark.parametrize("text", ["", "\n\n", " \n\u00a0\n\t\n", "\r\n"])
def test_no_text_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode())
    with pytest.raises(DataError, match=r"a\.txt: no text"):
        train_tokenizer([tmp_path / "a.txt"], vocab_size=320, output=tmp_path / "t.model")
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_text_above_the_cap_is_sampled_with_a_notice(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    report = train_tokenizer([folder / "text.txt"], vocab_size=320, output=tmp_path / "t", max_lines=10)
    assert (report.lines_seen, report.lines_used) == (30, 10)
    assert "10 of 30 lines" in caplog.records[0].message


def test_sampling_is_uniform_and_reproducible() -> None:
    texts = [str(number) for number in range(100)]
    assert _sample(texts, 100, 1) == (texts, 100)
    assert _sample(texts, 10, 1) == _sample(iter(texts), 10, 1)
    assert _sample(texts, 10, 1) != _sample(texts, 10, 2)
    counts = dict.fromkeys(texts, 0)
    for seed in range(2000):
        for text in _sample(texts, 10, seed)[0]:
            counts[text] += 1
    assert all(120 < count < 290 for count in counts.values())  # 200 expected, deviation 13.4


def test_long_lines_are_learned_from(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n" + "lorem ipsum " * 20_000)
    train_tokenizer([tmp_path / "a.txt"], vocab_size=290, output=tmp_path / "t.model")
    tokenizer = Tokenizer.load(tmp_path / "t.model")
    assert [len(ids) for ids in tokenizer.encode(["lorem ipsum"])] == [2]


def test_characters_sentencepiece_keeps_for_itself_do_not_hide_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("▅ hello ▅\n" * 5, encoding="utf-8")
    train_tokenizer([tmp_path / "a.txt"], vocab_size=400, output=tmp_path / "t.model")
    tokenizer = Tokenizer.load(tmp_path / "t.model")
    assert [len(ids) for ids in tokenizer.encode(["hello"])] == [1]


def test_both_sides_of_a_corpus_are_learned_from(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("hello\tworld\n" * 5)
    (tmp_path / "a.jsonl").write_text('{"de": "Hund", "en": "dog"}\n' * 5)
    files = [tmp_path / "a.tsv", tmp_path / "a.jsonl"]
    train_tokenizer(files, vocab_size=400, output=tmp_path / "t.model", source_language="de", target_language="en")
    tokenizer = Tokenizer.load(tmp_path / "t.model")
    assert [len(ids) for ids in tokenizer.encode(["hello", "world", "Hund", "dog"])] == [1, 1, 1, 1]
    assert len(tokenizer.encode(['{"de":'])[0]) > 4


def test_output_that_exists_stays(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "t.model"
    output.write_text("mine")
    with pytest.raises(OutputExists):
        train_tokenizer([folder / "text.txt"], vocab_size=320, output=output)
    assert output.read_text() == "mine"
    train_tokenizer([folder / "text.txt"], vocab_size=320, output=output, overwrite=True)
    assert Tokenizer.load(output).vocab_size == 320


def test_training_never_replaces_its_own_text(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("hello world\n" * 5)
    with pytest.raises(DataError, match="one of the files"):
        train_tokenizer([text], vocab_size=320, output=text, overwrite=True)
    assert text.read_text() == "hello world\n" * 5


def test_a_saved_tokenizer_is_the_same_after_its_file_is_gone(folder: Path, tmp_path: Path) -> None:
    data = (folder / "tokenizer.model").read_bytes()
    (tmp_path / "a").write_bytes(data)
    tokenizer = Tokenizer.load(tmp_path / "a")
    (tmp_path / "a").unlink()
    tokenizer.save(tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == data
    assert tokenizer.fingerprint == hashlib.sha256(data).hexdigest()


def foreign(**settings: object) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello world"] * 9),
        model_writer=model,
        vocab_size=300,
        hard_vocab_limit=False,
        model_type="bpe",
        minloglevel=2,
        **settings,
    )
    return model.getvalue()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda _: b"", "is empty"),
        (lambda _: b"these are not the bytes\n" * 20, "not a sentencepiece model"),
        (lambda model: model[: len(model) // 2], "damaged"),
        (lambda model: model[:-1], "damaged"),
        (
            lambda _: foreign(byte_fallback=True),
            r"special ids pad -1, bos 1, eos 2, unk 0; expected 0, 1, 2, 3",
        ),
        (lambda _: foreign(pad_id=0, bos_id=1, eos_id=2, unk_id=3), "no byte pieces"),
    ],
)
def test_a_file_that_is_no_tokenizer_of_ours_is_named(
    tokenizer: Tokenizer,
    tmp_path: Path,
    damage: object,
    reason: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "tokenizer.model"
    tokenizer.save(path)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(ModelError, match=reason) as caught:
        Tokenizer.load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_tokenizer_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such tokenizer"):
        Tokenizer.load(tmp_path / "none")
    with pytest.raises(ModelError, match="is not a file"):
        Tokenizer.load(tmp_path)


def test_a_piece_of_another_vocabulary_is_cut_as_its_text_is(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("the theatre gathers 😊 <s> thesis\nhere there <0x41> ether\n" * 9, encoding="utf-8")
    old, new = tmp_path / "old.model", tmp_path / "new.model"
    train_tokenizer([text], vocab_size=300, output=old)
    train_tokenizer([text], vocab_size=330, output=new)
    small, large = Tokenizer.load(old), Tokenizer.load(new)
    begins = [piece for piece in large.pieces if piece.startswith(SPACE) and len(piece) > 1]
    assert len(begins) > 10
    for piece in begins:
        assert small.cut(piece) == small.encode([piece[1:].replace(SPACE, " ")])[0]
    for piece in set(small.pieces[260:]):
        assert small.cut(piece) == [small.pieces.index(piece)]
    for foreign in ("Ω", "<s>", "<0x41>"):
        assert small.decode(small.cut(SPACE + foreign)) == foreign  # never a special id or byte by its name
