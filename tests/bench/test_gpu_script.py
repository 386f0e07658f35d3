"""bench/gpu.sh where there is no GPU, nor some of the packages that tfmt is installed with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parents[2] / "bench/gpu.sh"

WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            path = [folder for folder in sys.path if folder.endswith("stand_ins")]
        return PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
"""
BARE = ("pydantic", "tomli_w", "datasets", "transformers")


def run_script(tmp_path: Path, *words: str, modules: dict[str, str]) -> tuple[int, list[str], dict[str, dict]]:
    """Status, lines and figures by section, with these Python files put before all packages."""
    for name, text in modules.items():
        (tmp_path / name).write_text(text)
    env = os.environ | {"PYTHON": sys.executable, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}
    command = ["bash", str(SCRIPT), "--device", "cpu", "--tiny", "--output", str(tmp_path / "figures.json"), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=240)
    sections = json.loads((tmp_path / "figures.json").read_text())["sections"]
    return done.returncode, done.stdout.splitlines(), {found["section"]: found for found in sections}


def test_a_bare_machine_is_enough(tmp_path):
    status, lines, found = run_script(
        tmp_path,
        *("--only", "agree,tests,train tfmt,train marian"),
        modules={"sitecustomize.py": WITHOUT.format(missing=BARE)},
    )
    assert (status, len(lines)) == (0, 5), lines
    assert found["agree"]["errors"]["gradients fp32"] < 1e-3
    assert "skipped" in found["tests"]["text"]  # as all tests of GPUs are here; they can be read, at least
    assert found["train tfmt"]["tokens_per_s"] > 0
    assert found["train marian"]["text"] == "not run: transformers is not installed"


def test_a_section_that_fails_hides_no_other(tmp_path):
    status, lines, found = run_script(
        tmp_path,
        *("--only", "matrix,train marian,profile tfmt"),
        modules={"transformers.py": "raise RuntimeError('broken on purpose')"},
    )
    assert status == 1
    assert found["train marian"]["error"] == "RuntimeError: broken on purpose"
    assert found["matrix"]["rates"]
    assert found["profile tfmt"]["kernels"]
    assert lines[2].split(maxsplit=2)[2] == "RuntimeError: broken on purpose"
