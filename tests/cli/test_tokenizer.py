"""`tfmt train-tokenizer` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfmt.cli.main import run


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("the cat sat on the mat\n" * 5)
    return path


def train(*words: object) -> int:
    return run(["train-tokenizer", *map(str, words)])


def test_it_prints_the_size_and_the_path(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = text.parent / "t.model"
    assert train(text, text, "--vocab-size", 275, "--output", output) == 0
    assert capsys.readouterr() == (f"{output}: 275 pieces from 10 lines\n", "")
    assert output.is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{tmp}/none.txt", "--vocab-size", "300", "--output", "{tmp}/t"], "none.txt: no such file"),
        (["{tmp}/text.txt", "--vocab-size", "100", "--output", "{tmp}/t"], "needs at least"),
        (["{tmp}/text.txt", "--vocab-size", "300", "--output", "{tmp}/text.txt"], "already exists"),
        (["{tmp}/text.txt", "--vocab-size", "0", "--output", "{tmp}/t"], "vocab-size"),
        (["{tmp}/text.txt", "--output", "{tmp}/t"], "--vocab-size"),
        (["--vocab-size", "300", "--output", "{tmp}/t"], "FILE"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(
    text: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = text.read_bytes()
    assert train(*[word.replace("{tmp}", str(text.parent)) for word in words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
    assert [file.name for file in text.parent.iterdir()] == ["text.txt"]
    assert text.read_bytes() == before


def test_the_cap_on_lines_stands_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    from tfmt.corpus.tokenizer import DEFAULT_MAX_LINES

    assert train("--help") == 0
    assert str(DEFAULT_MAX_LINES) in capsys.readouterr().out
