"""Every error a user can meet.

TfmtError                exit status 2: the input or the usage is at fault
├── ConfigError          a configuration key or value
├── DataError            a text file, a corpus, a prepared dataset
├── ModelError           a model folder, a checkpoint, a tokenizer that does not belong
├── OutputExists         something stands where the output should go
├── MissingExtra         an optional package is not installed
├── TrainingError        exit status 1: training cannot go on
├── DiskFull             exit status 1
└── Interrupted          exit status 128 + signal: stopped by Ctrl-C, SIGTERM or SIGHUP

ToldElsewhere            one process of several has told of the error behind it; the others end without a word

A message is one line: what, where, the value seen, the bound or the choices, what to do.
"""

from __future__ import annotations

from pathlib import Path


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory has run out, by Python's word, a CPU allocator's, or a GPU's."""
    text = str(error).lower()
    signs = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed", "bad_alloc")
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(sign in text for sign in signs))


class TfmtError(Exception):
    """Root of the tree; `exit_status` is what the command line exits with."""

    exit_status = 2


class ConfigError(TfmtError):
    pass


class DataError(TfmtError):
    pass


class ModelError(TfmtError):
    pass


class OutputExists(TfmtError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: already exists; choose another --output, or pass --overwrite to replace it")


class MissingExtra(TfmtError):
    def __init__(self, what: str, install: str) -> None:
        super().__init__(f"{what} needs a package that is not installed; run: {install}")


class TrainingError(TfmtError):
    exit_status = 1


class DiskFull(TfmtError):
    exit_status = 1

    def __init__(self, path: Path, *, needed: int = 0, free: int = 0) -> None:
        """`needed` and `free` bytes where they were compared before writing."""
        seen = f"needs {needed:,} bytes, its disk has {free:,} left" if needed else "no space left on its disk"
        super().__init__(f"{path}: {seen}; nothing half-written is left: free some and try again")


class ToldElsewhere(Exception):
    """Raised from the error of this process, whose exit status it has."""


class Interrupted(TfmtError):
    def __init__(self, signal_number: int, message: str) -> None:
        super().__init__(message)
        self.exit_status = 128 + signal_number
