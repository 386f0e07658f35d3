"""The `tfmt` command: its subcommands, exit statuses, and one-line errors."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import sys
import traceback
from typing import Annotated

import typer

from tfmt import __version__
from tfmt.cli.average import average
from tfmt.cli.demo import demo
from tfmt.cli.eval import evaluate
from tfmt.cli.prepare import prepare
from tfmt.cli.tokenizer import train_tokenizer
from tfmt.cli.train import train
from tfmt.cli.translate import translate
from tfmt.errors import Interrupted, TfmtError, ToldElsewhere, is_out_of_memory

app = typer.Typer(
    name="tfmt",
    help="From a translator's own files to a measured, usable translation model.",
    epilog="An error is one line; --traceback with any command shows where it arose.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo)
app.command("train-tokenizer")(train_tokenizer)
app.command("prepare")(prepare)
app.command("train")(train)
app.command("translate")(translate)
app.command("eval")(evaluate)
app.command("average")(average)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tfmt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; exit 0 done, 2 the user's input is at fault, 1 anything else, 130 and 143 signals."""
    _use_utf8()
    if "OMP_WAIT_POLICY" not in os.environ:
        # threads that wait for one another yield the core soon: no slower alone, faster beside other programs (LOG.md)
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    # bf16 kernels are made for each size of a batch; the library's own 1,024 hold half a gigabyte that is seldom used
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "100")
    # PyTorch keeps 1,024 more a thread, which split up freed memory: training grew by gigabytes (LOG.md)
    os.environ.setdefault("LRU_CACHE_CAPACITY", "16")
    words = sys.argv[1:]
    show_traceback = "--traceback" in words
    words = [word for word in words if word != "--traceback"]
    sys.exit(run(words, show_traceback=show_traceback))


def _use_utf8() -> None:
    """UTF-8 whatever the locale: for the streams, and for names of files, which takes a new start of Python."""
    if not sys.flags.utf8_mode and sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", "-m", "tfmt", *sys.argv[1:]])
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed by the caller
            os.dup2(nothing, descriptor)
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def run(words: list[str], *, show_traceback: bool = False) -> int:
    """Run one command given as its words, and return its exit status."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as in the background of a script
            signal.signal(number, _stop)
    logger, handler = logging.getLogger("tfmt"), _OneLine(logging.WARNING)
    logger.addHandler(handler)
    try:
        result = app(words or ["--help"], prog_name="tfmt", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except typer.TyperException as error:  # usage: an unknown option, a missing argument
        context = vars(error).get("ctx")
        message = error.format_message().removeprefix("Invalid value: ").rstrip(".")
        command = context.command_path if context else "tfmt"
        _complain(f"{message[:1].lower()}{message[1:]}; see {command} --help")
        return 2
    except BrokenPipeError:
        # the reader of a pipe has left (`| head`): nothing to say, and nothing to flush at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except _Stopped as stopped:
        _complain(_stopped_by(stopped.number))
        return 128 + stopped.number
    except Exception as error:
        if isinstance(error, ToldElsewhere) and not show_traceback:
            return _exit_status(error)
        if signalled := _signal_behind(error):
            _complain(_stopped_by(signalled.number))
            return 128 + signalled.number
        if show_traceback:
            traceback.print_exc()
        if isinstance(error, Interrupted):
            with contextlib.suppress(OSError):
                print(error, file=sys.stderr)
        else:
            _complain(_one_line(error))
        return _exit_status(error)
    finally:
        logger.removeHandler(handler)


class _Stopped(BaseException):
    def __init__(self, number: int) -> None:
        self.number = number


def _signal_behind(error: BaseException | None) -> _Stopped | None:
    """The signal that an error wraps: one that comes while a module is imported is reported as the import's failure."""
    while error is not None and not isinstance(error, _Stopped):
        error = error.__cause__ or error.__context__
    return error


def _stopped_by(number: int) -> str:
    return f"stopped by {'Ctrl-C' if number == signal.SIGINT else signal.Signals(number).name}"


def _stop(number: int, frame: object) -> None:
    raise _Stopped(number)


class _OneLine(logging.Handler):
    """A warning of the library's own, as one line on stderr; looked up late, so that it goes where stderr goes."""

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # nobody reads any more, or a signal came amid a write
            print(f"{record.levelname.lower()}: {record.getMessage()}", file=sys.stderr, flush=True)


def _complain(message: str) -> None:
    label = "\033[31merror:\033[0m" if sys.stderr.isatty() else "error:"
    with contextlib.suppress(OSError):
        print(label, message, file=sys.stderr)


def _one_line(error: Exception) -> str:
    match error:
        case TfmtError():
            return str(error)
        case _ if is_out_of_memory(error):
            return "out of memory: make the model, train.micro_batch_tokens, --batch-tokens or --beam smaller"
        case OSError(filename=path, strerror=reason) if reason:
            return f"{path}: {reason.lower()}" if path else reason.lower()
        case _:
            text = " ".join(str(error).split())
            return f"{type(error).__name__}: {text} (a fault of tfmt; --traceback shows where)"


def _exit_status(error: BaseException | None) -> int:
    match error:
        case ToldElsewhere():
            return _exit_status(error.__cause__)
        case _Stopped():
            return 128 + error.number
        case TfmtError():
            return error.exit_status
        case FileNotFoundError() | PermissionError() | NotADirectoryError() | IsADirectoryError():
            return 2
        case _:
            return 1
