r"""Files and folders written whole or not at all, and text read line by line.

Only `\n` ends a line: U+2028, U+0085, VT, FF and a lone CR never do. `\r\n` loses its `\r`, a leading byte
order mark is dropped, and text is UTF-8 whatever the locale.
"""

from __future__ import annotations

import bz2
import codecs
import errno
import glob
import gzip
import hashlib
import json
import lzma
import os
import re
import shutil
import socket
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from tfmt.errors import DataError, DiskFull, OutputExists

BOM = "\ufeff"
COMPRESSIONS = (".gz", ".bz2", ".xz")


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 text file, decompressed by its suffix, without their line ends."""
    with open_bytes(path) as stream:
        yield from decode_lines(stream, str(path))


def decode_lines(stream: BinaryIO, name: str) -> Iterator[str]:
    """Lines of an open byte stream; raises DataError naming file, line and byte of text that is not UTF-8."""
    with _damage_named(name):
        for number, raw in enumerate(stream, start=1):
            yield _decode(raw, name, number)


def count_lines(path: Path) -> int:
    """How many lines `read_lines` would yield, without decoding them."""
    count, last = 0, b"\n"
    with open_bytes(path) as stream, _damage_named(str(path)):
        while block := stream.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")


@contextmanager
def _damage_named(name: str) -> Iterator[None]:
    try:
        yield
    except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # bz2 and gzip raise OSError without a number
            raise
        raise DataError(f"{name}: damaged compressed file ({error}); decompress it by hand to see") from error


def _decode(raw: bytes, name: str, number: int) -> str:
    if number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{name}: is UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8")
    nul = raw.find(b"\0")
    if nul >= 0:
        raise DataError(f"{name}:{number}: byte {nul + 1} is NUL; text must be UTF-8 without NUL bytes")
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{name}:{number}: byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8; "
            "convert the file to UTF-8"
        ) from error
    if number == 1:
        line = line.removeprefix(BOM)
    return line.removesuffix("\n").removesuffix("\r")


def check_input(path: Path) -> None:
    """Raise DataError when no file stands at `path`, or of a kind not read; before any work, unopened."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder; expected a text file")
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if path.suffix.lower() == ".zst":
        raise DataError(f"{path}: zstd is not read; decompress it (zstd -d), or use {', '.join(COMPRESSIONS)}")


def open_bytes(path: Path) -> BinaryIO:
    """Open for reading, through the decompressor its suffix names."""
    check_input(path)
    match path.suffix.lower():
        case ".gz":
            return cast(BinaryIO, gzip.open(path))
        case ".bz2":
            return cast(BinaryIO, bz2.open(path))
        case ".xz":
            return cast(BinaryIO, lzma.open(path))
        case _:
            return path.open("rb")


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object of a file tfmt has written; raises DataError when it is damaged."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: missing or damaged ({error}); make it anew") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}: damaged: holds no JSON object; make it anew")
    return value


def sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_room(path: Path, num_bytes: int) -> None:
    """Raise DiskFull where `num_bytes` cannot be written at `path`; a quota shows only when it is met."""
    standing = next(folder for folder in path.absolute().parents if folder.exists())
    free = shutil.disk_usage(standing).free
    if free < num_bytes:
        raise DiskFull(path, needed=num_bytes, free=free)


@contextmanager
def whole_file(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield a path beside `path` to write to; it takes the name `path` only when the block ends well."""
    check_output(path, overwrite=overwrite)
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: is not a regular file, and cannot be replaced; choose another --output")
    with _room_beside(path) as beside:
        yield beside
        _sync(beside)
        if not overwrite:
            check_output(path, overwrite=False)
        beside.replace(path)
        _sync(path.parent)


@contextmanager
def whole_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty folder beside `path`; it takes the name `path` only when the block ends well."""
    check_output(path, overwrite=overwrite)
    with _room_beside(path) as beside:
        beside.mkdir()
        yield beside
        for file in sorted(beside.rglob("*")):
            _sync(file)
        _sync(beside)
        check_output(path, overwrite=overwrite)
        _take_place(beside, path)


def check_output(path: Path, *, overwrite: bool) -> None:
    """Raise OutputExists when something stands at `path`; before any work, so that none is done in vain."""
    if not overwrite and (path.exists() or path.is_symlink()):
        raise OutputExists(path)
    above = next((folder for folder in path.absolute().parents if folder.exists()), path)
    if not above.is_dir():
        raise DataError(f"{path}: cannot be made, since {above} is a file; choose another --output")
    if not os.access(above, os.W_OK):
        raise DataError(f"{path}: cannot be made, since {above} is read-only; choose another --output")


@contextmanager
def _room_beside(path: Path) -> Iterator[Path]:
    """A free name beside `path`; whatever the block leaves there, and the folders made for it, go if it fails."""
    made = [folder for folder in path.absolute().parents if not folder.exists()]  # the innermost first
    path.parent.mkdir(parents=True, exist_ok=True)
    _clear_left_overs(path)
    beside = path.parent / f".{path.name}.{_owner()}.partial"
    try:
        yield beside
    except BaseException as error:
        _remove(beside)
        for folder in made:
            try:
                folder.rmdir()
            except OSError:  # somebody else has put something there
                break
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(path) from error
        raise
    _remove(beside)


def _clear_left_overs(path: Path) -> None:
    """Delete what killed runs of this machine left beside `path`; what a living run writes is not ours to touch."""
    for left_over in path.parent.glob(f".{glob.escape(path.name)}.*"):
        owner = re.fullmatch(r"([^.]+)-(\d+)\.(partial|aside)", left_over.name.removeprefix(f".{path.name}."))
        if owner and owner[1] == _machine() and not _is_running(int(owner[2])):
            clear_left_over(left_over, path)


def clear_left_over(left_over: Path, path: Path) -> None:
    """Put back what an overwrite of `path` had set aside, if it was killed between its two renames; else delete."""
    if left_over.suffix == ".aside" and not path.exists():
        left_over.rename(path)
    else:
        _remove(left_over)


def _owner() -> str:
    return f"{_machine()}-{os.getpid()}"


def _machine() -> str:
    return socket.gethostname().replace(".", "_")


def _is_running(pid: int) -> bool:
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _take_place(beside: Path, path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        # a folder cannot be replaced in one call: the old one steps aside, and is deleted last
        aside = path.parent / f".{path.name}.{_owner()}.aside"
        path.rename(aside)
        try:
            beside.rename(path)
        except BaseException:
            aside.rename(path)
            raise
        shutil.rmtree(aside)
    else:
        path.unlink(missing_ok=True)
        beside.rename(path)
    _sync(path.parent)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
