"""The commands of docs/training.md are commands, and their settings exist."""

import itertools
import re
import shlex
from pathlib import Path

import pytest

from tfmt.cli.demo import bundled
from tfmt.cli.main import run
from tfmt.config import DataConfig, ModelConfig, TrainConfig
from tfmt.config_file import load_config

PAGE = (Path(__file__).parents[1] / "docs/training.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line)
    for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
]


def test_there_are_some():
    assert len(COMMANDS) >= 4


@pytest.mark.parametrize("words", [words for words in COMMANDS if words[1] == "train"], ids=" ".join)
def test_each_training_is_a_configuration(words):
    overrides = [after for before, after in itertools.pairwise(words) if before == "--set"]
    load_config(bundled("configs") / f"{words[2]}.toml", overrides)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_each_command_has_these_options(words, capsys):
    assert words[0] == "tfmt"
    assert run([words[1], "--help"]) == 0
    help_text = capsys.readouterr().out
    for word in words:
        assert not word.startswith("--") or word in help_text


def test_each_key_named_exists():
    sections = {"data": DataConfig, "model": ModelConfig, "train": TrainConfig}
    found = re.findall(r"`(data|model|train)\.([a-z_]+)`", PAGE)
    assert len(found) > 5
    for section, key in found:
        assert key in sections[section].model_fields
