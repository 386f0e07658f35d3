"""`tfmt demo`: the whole job on the corpus that travels in the package, each step as the command a user would type."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from tfmt.cli.options import Device, Threads

NUM_SAMPLES = 6
DEFAULT_OUTPUT = Path("runs/demo")


def demo(
    output: Annotated[Path, typer.Option(help="Folder for all that is made.")] = DEFAULT_OUTPUT,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Train a small Chinese-English model on the embedded corpus and score it: about 3 minutes on two cores.

    Each step is a command to be used on files of your own. Stopped and started again, it goes on where it was.
    """
    from tfmt.files import whole_folder

    corpus, config = output / "corpus", output / "corpus" / "demo.toml"
    if not corpus.exists():
        with whole_folder(corpus) as beside:
            for file in (*sorted(bundled("data/demo").glob("*.[ze][hn]")), bundled("configs") / "demo.toml"):
                (beside / file.name).write_bytes(file.read_bytes())
    tokenizer, data, run = output / "tokenizer.model", output / "data", output / "run"
    train_files = [corpus / "train.zh", corpus / "train.en"]
    test_source, test_reference = corpus / "test.zh", corpus / "test.en"
    translations, report = output / "test.translated.en", output / "report"

    step = _Steps(5)
    if not step.stands("A vocabulary of subwords for both languages", tokenizer):
        step.run("train-tokenizer", *train_files, "--vocab-size", 2000, "--output", tokenizer)
    if not step.stands("Pairs of sentences as numbers", data):
        sides = ("--source", train_files[0], "--target", train_files[1])
        languages = ("--source-language", "zh", "--target-language", "en")
        step.run("prepare", *sides, *languages, "--tokenizer", tokenizer, "--output", data)
    step.begin("A Transformer learns to translate them")
    settings = {"train": data, "valid_source": corpus / "valid.zh", "valid_target": corpus / "valid.en"}
    overrides = [word for key, path in settings.items() for word in ("--set", f"data.{key}={_toml(path)}")]
    if output == DEFAULT_OUTPUT:
        overrides = []  # the configuration names just these
    machine = (*(("--device", device) if device != "auto" else ()), *(("--threads", threads) if threads else ()))
    step.run("train", config, *overrides, "--output", run, *machine)
    step.begin("It translates sentences it has never seen")
    step.run("translate", run, "--input", test_source, "--output", translations, "--overwrite", *machine)
    _print_samples(test_source, translations, test_reference)
    step.begin("How close its translations are to those a person made (BLEU: 100 is the same words)")
    evaluation = ("--hypotheses", translations, "--reference", test_reference, "--source", test_source)
    step.run("eval", *evaluation, "--target-language", "en", "--output", report, "--overwrite")

    tfmt = "tfmt" if shutil.which("tfmt") else shlex.quote(sys.argv[0])
    typer.echo(
        f"""
Everything lies in {output}:
  {corpus}/    the sentences, and the configuration of the run
  {run}/       the model, its checkpoints and log.jsonl
  {translations}, {report / "report.md"}

Try next:
  echo 我喜欢打篮球 | {tfmt} translate {run}
  echo 他的书比我的书贵 | {tfmt} translate {run} --json --n-best 3
  {tfmt} train --help    and the README's commands, on files of your own"""
    )


def bundled(name: str) -> Path:
    """A folder of the project that travels in the package; in a checkout, where it stands there."""
    package = Path(__file__).parents[1]
    packaged = package / "bundled" / Path(name).name
    return packaged if packaged.is_dir() else package.parents[1] / name


class _Steps:
    """Says what each step is, shows its command, and runs it."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.number = 0

    def begin(self, title: str) -> None:
        self.number += 1
        heading = f"[{self.number}/{self.total}] {title}"
        typer.echo("\n" + (f"\033[1m{heading}\033[0m" if sys.stdout.isatty() else heading))

    def stands(self, title: str, made: Path) -> bool:
        self.begin(title)
        if made.exists():
            typer.echo(f"{made} is there already")
        return made.exists()

    def run(self, command: str, *words: object) -> None:
        from tfmt.cli.main import app

        texts = [command, *map(str, words)]
        typer.echo(f"$ tfmt {shlex.join(texts)}")
        app(texts, prog_name="tfmt", standalone_mode=False)


def _print_samples(source: Path, translations: Path, reference: Path) -> None:
    from tfmt.files import read_lines

    triples = list(zip(*(list(read_lines(path)) for path in (source, translations, reference)), strict=True))
    for original, translation, expected in triples[:: max(1, len(triples) // NUM_SAMPLES)][:NUM_SAMPLES]:
        typer.echo(f"\n  {original}\n    tfmt       {translation}\n    reference  {expected}")


def _toml(path: Path) -> str:
    import json

    return json.dumps(str(path), ensure_ascii=False)  # a JSON string is a TOML string
