"""Text read line by line, and output written whole or not at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import socket
from pathlib import Path

import pytest

from tfmt.errors import DataError, OutputExists
from tfmt.files import check_input, check_output, count_lines, read_lines, sha256, whole_file, whole_folder

AWKWARD = "a\u2028b\nc\u0085d\x0b\x0c\x1c\x1de\nf\rg\n\nlast"


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_only_newline_ends_a_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", AWKWARD.encode())
    assert list(read_lines(path)) == AWKWARD.split("\n")


@pytest.mark.parametrize("text", ["", "\n", "\n\n", "a", "a\n", "a\n\n", "a\r\nb\r\n", "a\rb", AWKWARD])
def test_count_lines_counts_what_read_lines_yields(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "a.txt", text.encode())
    assert count_lines(path) == len(list(read_lines(path)))


def test_carriage_return_goes_only_before_a_newline(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"a\r\n\rb\r\rc\r\n\r\nd\r")
    assert list(read_lines(path)) == ["a", "\rb\r\rc", "", "d"]


def test_byte_order_mark_goes_only_at_the_start(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "\ufeffa\n\ufeffb\n".encode())
    assert list(read_lines(path)) == ["a", "\ufeffb"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"ok\nok\nab\xffc\n", (":3: byte 3", "0xff", "UTF-8")),
        (b"ok\nok\nabc\0d\n", (":3: byte 4", "NUL")),
        (b"caf\xe9\n", (":1: byte 4", "0xe9")),
        ("hello\n".encode("utf-16"), ("UTF-16", "iconv")),
        (b"\xed\xa0\x80\n", (":1: byte 1",)),  # a surrogate is not UTF-8
    ],
)
def test_bytes_that_are_not_text_are_named(tmp_path: Path, data: bytes, words: tuple[str, ...]) -> None:
    path = write(tmp_path / "bad.txt", data)
    with pytest.raises(DataError) as caught:
        list(read_lines(path))
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    for word in words:
        assert word in message


COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_text_reads_as_plain(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"a.txt{suffix}", COMPRESS[suffix](AWKWARD.encode()))
    assert list(read_lines(path)) == AWKWARD.split("\n")
    assert count_lines(path) == 5


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("damage", ["cut", "flipped", "not compressed"])
def test_damaged_compression_names_the_file(tmp_path: Path, suffix: str, damage: str) -> None:
    data = bytearray(COMPRESS[suffix](os.urandom(3000)))
    match damage:
        case "cut":
            data = data[: len(data) // 2]
        case "flipped":
            for place in range(40, 1000, 40):
                data[place] ^= 0xFF
        case _:
            data = bytearray(b"plain text\n")
    path = write(tmp_path / f"a{suffix}", bytes(data))
    with pytest.raises(DataError, match="damaged") as caught:
        count_lines(path)
    assert str(path) in str(caught.value)


def test_zstd_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="zstd"):
        check_input(write(tmp_path / "a.txt.zst", b"x"))


def test_a_missing_input_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(read_lines(tmp_path / "none.txt"))
    with pytest.raises(DataError, match="is a folder"):
        list(read_lines(tmp_path))


def test_whole_file_appears_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"
    with whole_file(path) as beside:
        beside.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert [file.name for file in path.parent.iterdir()] == ["a.txt"]


def test_an_error_leaves_the_old_output_and_nothing_else(tmp_path: Path) -> None:
    file, folder = tmp_path / "a.txt", tmp_path / "run"
    file.write_text("old")
    folder.mkdir()
    (folder / "x").write_text("old")

    def break_off(beside: Path) -> None:
        beside.write_text("half")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), whole_file(file, overwrite=True) as beside:
        break_off(beside)
    with pytest.raises(ZeroDivisionError), whole_folder(folder, overwrite=True) as beside:
        break_off(beside / "x")
    assert file.read_text() == (folder / "x").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "run"]


def test_output_that_exists_is_refused_untouched(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"old")
    with pytest.raises(OutputExists, match="--overwrite"), whole_file(path):
        raise AssertionError("the block must not run")
    with pytest.raises(OutputExists), whole_folder(path):
        raise AssertionError("the block must not run")
    assert path.read_bytes() == b"old"


def test_a_dangling_link_counts_as_output(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "none")
    with pytest.raises(OutputExists):
        check_output(link, overwrite=False)


def test_overwrite_replaces_the_whole_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for name in ("old", "new"):
        with whole_folder(folder, overwrite=True) as beside:
            (beside / name).write_text(name)
    assert [file.name for file in folder.iterdir()] == ["new"]
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_output_made_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"

    def both_write(beside: Path) -> None:
        beside.write_text("mine")
        path.write_text("theirs")

    with pytest.raises(OutputExists), whole_file(path) as beside:
        both_write(beside)
    assert path.read_text() == "theirs"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_what_a_killed_run_left_is_removed(tmp_path: Path) -> None:
    machine = socket.gethostname().replace(".", "_")
    stale = tmp_path / f".a[1].txt.{machine}-999999999.partial"  # no process has this number
    alive = tmp_path / f".a[1].txt.{machine}-{os.getppid()}.partial"
    elsewhere = tmp_path / ".a[1].txt.another_machine-999999999.partial"
    for path in (stale, alive, elsewhere):
        path.write_text("half")
    with whole_file(tmp_path / "a[1].txt") as beside:
        beside.write_text("new")
    assert not stale.exists()
    assert alive.exists()
    assert elsewhere.exists()


def test_folders_made_for_an_output_go_when_it_fails(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    with pytest.raises(ValueError, match="stop"), whole_folder(tmp_path / "old/new1/new2/out"):
        raise ValueError("stop")
    assert [path.name for path in tmp_path.rglob("*")] == ["old"]


def test_a_device_is_not_replaced() -> None:
    with pytest.raises(DataError, match="not a regular file"), whole_file(Path("/dev/null"), overwrite=True):
        pass


def test_sha256_is_that_of_the_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a", b"abc")
    assert sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_folder_left_aside_by_a_killed_overwrite_comes_back(tmp_path: Path) -> None:
    aside = tmp_path / f".out.{socket.gethostname().replace('.', '_')}-999999999.aside"
    aside.mkdir()
    (aside / "kept").write_text("old")
    with pytest.raises(OutputExists), whole_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out/kept").read_text() == "old"
