"""A run as TensorBoard reads it: event files under tensorboard/, written without TensorBoard being installed.

A file is a row of records: length (8 bytes, little-endian), its checksum, the record, its checksum. A record is a
protocol buffer `Event` (tensorflow/core/util/event.proto); checksums are CRC-32C, rotated and shifted. That is all this
needs of either, so it takes no package along that would bring a hundred megabytes.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from pathlib import Path
from typing import BinaryIO

from tfmt.runlog.log import Event, View

TRAINING = {  # log field: name of the chart
    "loss": "training/smoothed loss", "ppl": "training/perplexity", "lr": "training/learning rate",
    "grad_norm": "training/gradient norm", "tokens_per_s": "training/tokens per second",
    "matrix_share": "training/share of matrix rate", "peak_memory_bytes": "training/peak memory in bytes",
    "epoch": "training/epoch", "skipped": "training/skipped updates",
}  # fmt: skip
VALIDATION = {
    "loss": "validation/smoothed loss", "ppl": "validation/perplexity", "bleu": "validation/BLEU",
    "chrf": "validation/chrF",
}  # fmt: skip


class TensorBoardView(View):
    """Charts of training and validation; a run that goes on begins a new file, which takes over from its step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: BinaryIO | None = None

    def show(self, event: Event) -> None:
        match event["event"]:
            case "start" | "resume" | "rewind":
                # a session begins: what older files hold of this step and later ones is forgotten
                self._write(_varint_field(2, event["step"] + 1) + _bytes_field(7, _varint_field(1, 1)))
            case "train":
                self._scalars(event, TRAINING)
            case "validate" if not event["averaged"]:
                self._scalars(event, VALIDATION)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _scalars(self, event: Event, names: dict[str, str]) -> None:
        values = [
            _bytes_field(1, _bytes_field(1, name.encode()) + _float_field(2, float(event[field])))
            for field, name in names.items()
        ]
        self._write(_varint_field(2, event["step"]) + _bytes_field(5, b"".join(values)))

    def _write(self, event: bytes) -> None:
        if not self._file:
            self.folder.mkdir(exist_ok=True)
            name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}.tfmt"
            self._file = (self.folder / name).open("xb")
            self._write(_bytes_field(3, b"brain.Event:2"))
        record = _double_field(1, time.time()) + event
        length = struct.pack("<Q", len(record))
        self._file.write(length + _checksum(length) + record + _checksum(record))
        self._file.flush()


LARGEST = 3.4e38  # that four bytes hold; a perplexity may exceed it


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _varint_field(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _double_field(field: int, number: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", number)


def _bytes_field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _float_field(field: int, number: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", min(number, LARGEST))


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = _crc_table()  # of CRC-32C (Castagnoli)


def _checksum(content: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in content:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
