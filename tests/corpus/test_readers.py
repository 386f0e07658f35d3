"""Pairs stay pairs, whatever a user's files look like."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from tfmt.corpus.readers import Pair, kind_of, parse_columns, read_corpus, read_text_pairs
from tfmt.errors import DataError


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def sides(pairs: object) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs]  # type: ignore[attr-defined]


def test_text_files_pair_line_by_line(tmp_path: Path) -> None:
    source = write(tmp_path / "train.de", "eins\r\n\r\ndrei\r\n")
    target = write(tmp_path / "train.en", "\ufeffone\ntwo\nthree")
    assert list(read_text_pairs(source, target)) == [
        Pair("eins", "one", f"{source}:1"),
        Pair("", "two", f"{source}:2"),
        Pair("drei", "three", f"{source}:3"),
    ]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1e", "\r"])
def test_other_separators_do_not_shift_pairs(tmp_path: Path, separator: str) -> None:
    source = write(tmp_path / "a", f"eins\nzw{separator}ei\ndrei\n")
    target = write(tmp_path / "b", "one\ntwo\nthree\n")
    assert sides(read_text_pairs(source, target)) == [
        ("eins", "one"),
        (f"zw{separator}ei", "two"),
        ("drei", "three"),
    ]


@pytest.mark.parametrize("compress", [False, True])
def test_unequal_line_counts_are_refused_before_the_first_pair(tmp_path: Path, compress: bool) -> None:
    source = write(tmp_path / "a.txt", "1\n2\n3\n4\n5\n")
    target = tmp_path / ("b.txt.gz" if compress else "b.txt")
    target.write_bytes(gzip.compress(b"1\n2\n3\n4") if compress else b"1\n2\n3\n4")
    with pytest.raises(DataError) as caught:
        read_text_pairs(source, target)
    for word in (str(source), str(target), " 5 ", " 4;"):
        assert word in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("lines", [2, 5])
def test_unequal_line_counts_of_a_pipe_are_refused_at_its_end(tmp_path: Path, lines: int) -> None:
    source = write(tmp_path / "a.txt", "1\n2\n3\n")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("x\n" * lines,))
    writer.start()
    with pytest.raises(DataError, match=f" 3 lines .* {lines};"):
        list(read_text_pairs(source, pipe))
    writer.join()


def test_one_file_for_both_sides_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "a.txt", "x\n")
    with pytest.raises(DataError, match="two files"):
        read_text_pairs(source, tmp_path / "." / "a.txt")


def test_a_missing_side_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.txt: no such file"):
        read_text_pairs(write(tmp_path / "a.txt", "x\n"), tmp_path / "none.txt")


def test_tsv_knows_no_quotes(tmp_path: Path) -> None:
    path = write(tmp_path / "train.tsv", '"a\tb"\n"c"\t""d"" \r\n  e\tf\n')
    assert list(read_corpus(path)) == [
        Pair('"a', 'b"', f"{path}:1"),
        Pair('"c"', '""d"" ', f"{path}:2"),
        Pair("  e", "f", f"{path}:3"),
    ]


@pytest.mark.parametrize(("line", "found"), [("only one", 1), ("a\tb\tc", 3)])
def test_tsv_with_other_than_two_columns_names_the_line(tmp_path: Path, line: str, found: int) -> None:
    path = write(tmp_path / "train.tsv", f"a\tb\n{line}\n")
    with pytest.raises(DataError, match=f"train.tsv:2: expected 2 .* found {found}"):
        list(read_corpus(path))


def test_columns_pick_and_may_swap(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", "a\tb\tc\nd\te\tf\tmore\n")
    assert sides(read_corpus(path, columns=(1, 3))) == [("a", "c"), ("d", "f")]
    assert sides(read_corpus(path, columns=(3, 1))) == [("c", "a"), ("f", "d")]
    with pytest.raises(DataError, match=r"t.tsv:1: --columns 1,4 needs 4 columns, found 3"):
        list(read_corpus(path, columns=(1, 4)))


def test_a_blank_line_is_an_empty_pair_so_that_it_is_counted(tmp_path: Path) -> None:
    tsv = write(tmp_path / "a.tsv", "a\tb\n\n\t\n")
    jsonl = write(tmp_path / "a.jsonl", '{"source": "a", "target": "b"}\n\n')
    assert sides(read_corpus(tsv)) == [("a", "b"), ("", ""), ("", "")]
    assert sides(read_corpus(jsonl)) == [("a", "b"), ("", "")]


@pytest.mark.parametrize(
    "line",
    [
        '{"source": "Hund", "target": "dog"}',
        '{"de": "Hund", "en": "dog", "id": 7}',
        '{"translation": {"de": "Hund", "en": "dog"}}',
        '{"id": 1, "translation": {"source": "Hund", "target": "dog"}}',
        '{"DE": "Hund", "en": "dog"}',
    ],
)
def test_jsonl_takes_the_usual_shapes(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "a.jsonl", line + "\n")
    pairs = list(read_corpus(path, source_language="de", target_language="en"))
    assert pairs == [Pair("Hund", "dog", f"{path}:1")]


def test_jsonl_keeps_line_breaks_tabs_and_separators_as_content(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"source": "a\\nb\\tc", "target": "d\u2028\u0085e\\u2028 \\ud83d\\ude0a"}\n')
    assert sides(read_corpus(path)) == [("a\nb\tc", "d\u2028\u0085e\u2028 😊")]


def test_jsonl_null_is_an_empty_side(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"source": "a", "target": null}\n')
    assert sides(read_corpus(path)) == [("a", "")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"source": "a"', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('["a", "b"]', "found list"),
        ('{"source": "a"}', "no 'target' among its keys source"),
        ('{"de": "a", "en": "b"}', "no 'source' among its keys de, en; .*--source-language"),
        ('{"source": 3, "target": "b"}', "source is 3; expected a string"),
        ('{"source": "a\\ud800", "target": "b"}', r"source holds \\ud800 at character 2"),
        ('{"source": "a", "target": "\\u0000"}', r"target holds \\u0000 at character 1"),
    ],
)
def test_a_bad_jsonl_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    path = write(tmp_path / "a.jsonl", f'{{"source": "a", "target": "b"}}\n{line}\n')
    with pytest.raises(DataError, match=f"a.jsonl:2: .*{words}") as caught:
        list(read_corpus(path))
    assert "\n" not in str(caught.value)


def test_a_language_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"de": "a", "en": "b"}\n')
    with pytest.raises(DataError, match="no 'fr' among its keys de, en"):
        list(read_corpus(path, source_language="de", target_language="fr"))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.tsv", "tsv"),
        ("a.TSV.GZ", "tsv"),
        ("a.jsonl.xz", "jsonl"),
        ("a.tmx", "tmx"),
        ("a.xlf", "xliff"),
        ("hf:wmt14", "hf"),
        ("a.tsv.zst", "tsv"),
        ("train.de", None),
        ("a.txt.gz", None),
    ],
)
def test_the_name_tells_the_kind(name: str, kind: str | None) -> None:
    assert kind_of(Path(name)) == kind


def test_compressed_corpora_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"a\tb\n"))
    assert list(read_corpus(path)) == [Pair("a", "b", f"{path}:1")]


@pytest.mark.parametrize("name", ["a.tmx", "a.po", "a.xliff", "a.csv", "a.parquet.gz", "hf:wmt14:train"])
def test_kinds_not_read_yet_are_named(name: str) -> None:
    with pytest.raises(DataError, match=r"is not among the kinds read: tsv, jsonl"):
        read_corpus(Path(name))


def test_a_name_that_tells_nothing_needs_a_format(tmp_path: Path) -> None:
    path = write(tmp_path / "corpus.dat", "a\tb\n")
    with pytest.raises(DataError, match="--format tsv or jsonl"):
        read_corpus(path)
    assert sides(read_corpus(path, kind="tsv")) == [("a", "b")]


def test_columns_of_jsonl_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--columns"):
        read_corpus(write(tmp_path / "a.jsonl", "{}\n"), columns=(1, 2))


def test_parse_columns() -> None:
    assert parse_columns("") is None
    assert parse_columns("1,3") == (1, 3)
    for bad in ("1", "0,1", "1,1", "a,b", "1,2,3", "-1,2"):
        with pytest.raises(DataError, match="--columns"):
            parse_columns(bad)


def test_reading_is_lazy(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "a\tb\nbroken\n")
    assert next(read_corpus(path)).target == "b"
