"""The layers of docs/design.md, read off the imports: they point down only."""

import ast
import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tfmt"

LEVELS = {
    "tfmt": 0,  # the package itself: its version
    "errors": 0,
    "units": 0,
    "files": 1,
    "special_ids": 1,
    "config": 1,
    "config_file": 1,
    "device": 1,
    "corpus": 2,
    "model": 2,
    "evaluate": 2,
    "runlog": 2,
    "checkpoint": 3,
    "decode": 3,
    "train": 4,
    "cli": 5,
    "__main__": 6,
}
SIDEWAYS = {("decode", "checkpoint"), ("config_file", "config")}  # imports within a level that are meant
HOMES = {
    "sentencepiece": ("corpus/tokenizer.py",),
    "sacrebleu": ("evaluate/",),
    "sacremoses": ("evaluate/",),
    "datasets": ("corpus/",),
    "pyarrow": ("corpus/",),
    "typer": ("cli/",),
    "rich": ("cli/", "runlog/live.py"),
    "wandb": ("runlog/trackers.py",),
    "trackio": ("runlog/trackers.py",),
}
NEVER = {  # from the part or file named, to the module named or anything in it
    "model": ("tfmt.corpus",),
    "corpus": ("torch.nn",),
    "evaluate": ("torch", "tfmt.corpus"),
    "decode": ("tfmt.train",),
}
VAGUE_NAMES = {"utils", "util", "helpers", "common", "constants", "registry", "base", "misc"}
HEAVY = ("torch", "datasets", "pyarrow", "sacrebleu", "numpy", "tfmt.config", "tfmt.config_file")


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    return "tfmt" if first == "__init__" else first


def imports_in(tree: ast.AST) -> Iterator[str]:
    """Dotted names of all that is imported, inside functions too; `from torch import nn` gives torch.nn."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=0):
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.ImportFrom():
                raise AssertionError("relative import; write it in full")


def imports_of(path: Path) -> list[str]:
    return list(imports_in(ast.parse(path.read_bytes())))


def part_imported(name: str) -> str | None:
    """`errors` for tfmt.errors.DataError; None for what is not ours."""
    head, _, rest = name.partition(".")
    if head != "tfmt":
        return None
    part = rest.partition(".")[0]
    return "tfmt" if part in ("", "__version__") else part


def is_within(name: str, module: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def violations(path: Path) -> Iterator[str]:
    here = part_of(path)
    for name in imports_of(path):
        there = part_imported(name)
        if there is None or there == here:
            continue
        if LEVELS[there] >= LEVELS[here] and (here, there) not in SIDEWAYS:
            yield f"{path.relative_to(SOURCE)} (level {LEVELS[here]}) imports {name} (level {LEVELS[there]})"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
class TestEachModule:
    def test_has_a_level(self, path: Path) -> None:
        assert part_of(path) in LEVELS, "a new part: give it a level here and in docs/design.md"

    def test_imports_point_down_only(self, path: Path) -> None:
        assert list(violations(path)) == []

    def test_third_parties_stay_at_home(self, path: Path) -> None:
        where = path.relative_to(SOURCE).as_posix()
        for name in imports_of(path):
            home = HOMES.get(name.partition(".")[0])
            assert home is None or where.startswith(home), f"{name} belongs in {home}"

    def test_knows_nothing_it_must_not(self, path: Path) -> None:
        for name in imports_of(path):
            for module in NEVER.get(part_of(path), ()):
                assert not is_within(name, module), f"{path.relative_to(SOURCE)} imports {name}"

    def test_is_named_for_what_it_holds(self, path: Path) -> None:
        assert not VAGUE_NAMES & set(path.relative_to(SOURCE).with_suffix("").parts)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import torch.nn as nn", ["torch.nn"]),
        ("from torch import nn", ["torch.nn"]),
        ("def f():\n    from tfmt.corpus.readers import Pair", ["tfmt.corpus.readers.Pair"]),
        ("if TYPE_CHECKING:\n    import datasets", ["datasets"]),
    ],
)
def test_no_way_to_import_goes_unseen(code: str, names: list[str]) -> None:
    assert list(imports_in(ast.parse(code))) == names


HELP = """
import json, sys
from tfmt.cli.main import run
status = run({words!r})
print(json.dumps([status, sorted(name for name in {heavy!r} if name in sys.modules)]))
"""


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["train", "--help"],
        ["translate", "--help"],
        ["eval", "--help"],
        ["average", "--help"],
    ],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    # typer itself imports pydantic as soon as a command has options
    script = HELP.format(words=words, heavy=HEAVY if len(words) > 1 else (*HEAVY, "pydantic"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [0, []]


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"]], ids=" ".join)
def test_help_takes_under_half_a_second_of_cpu_time(words: list[str]) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "tfmt", *words], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5
