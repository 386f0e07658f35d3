import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tfmt.cli.main import run
from tfmt.evaluate.scores import score

HYPOTHESES = ["the cat sat on the mat", "a\u2028b\x85c", "", "good night"]
REFERENCES = ["the cat sat on a mat", "a\u2028b\x85c d", "is empty", "good night"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write("hyp.txt", HYPOTHESES)
    write("ref.txt", REFERENCES)
    write("src.txt", ["s1", "s2", "s3", "s4"])
    return tmp_path


def write(name: str, lines: Sequence[str], end: str = "\n") -> None:
    Path(name).write_bytes("".join(line + end for line in lines).encode())


def refused(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of an error, after checking that nothing was printed or left behind."""
    before = sorted(Path().rglob("*"))
    assert run(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before
    return captured.err


FILES = "eval --hypotheses hyp.txt --reference ref.txt"


@pytest.mark.usefixtures("folder")
def test_prints_three_scores_each_with_its_signature(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FILES.split()) == 0
    expected = score(HYPOTHESES, [REFERENCES])
    assert capsys.readouterr().out.splitlines() == [
        f"BLEU {expected.bleu.score:.2f}  {expected.bleu.signature}",
        f"chrF {expected.chrf.score:.2f}  {expected.chrf.signature}",
        f"TER  {expected.ter.score:.2f}  {expected.ter.signature}",
    ]


@pytest.mark.usefixtures("folder")
def test_output_equals_sacrebleus_command_on_the_same_files() -> None:
    assert run(f"{FILES} --output report".split()) == 0
    words = [
        "sacrebleu",
        "ref.txt",
        "-i",
        "hyp.txt",
        "-m",
        "bleu",
        "chrf",
        "ter",
        "--format",
        "json",
        "-w",
        "10",
    ]
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, check=True)
    report = json.loads(Path("report/report.json").read_bytes())
    for theirs, name in zip(json.loads(done.stdout), ("bleu", "chrf", "ter"), strict=True):
        assert round(report[name]["score"], 10) == theirs["score"]
        assert report[name]["signature"] == theirs["signature"]


@pytest.mark.usefixtures("folder")
def test_json_prints_the_document_that_output_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{FILES} --source src.txt --json --output report".split()) == 0
    captured = capsys.readouterr()
    assert captured.out.encode() == Path("report/report.json").read_bytes()
    document = json.loads(captured.out)
    assert document["bleu"]["signature"].startswith("nrefs:1|")
    assert document["worst"][0] == {
        "source": "s3",
        "hypothesis": "",
        "reference": "is empty",
        "chrf": 0.0,
        "line": 3,
    }
    assert "report/report.md" in captured.err


@pytest.mark.usefixtures("folder")
def test_carriage_returns_and_a_byte_order_mark_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    write("crlf.txt", ["\ufeff" + HYPOTHESES[0], *HYPOTHESES[1:]], end="\r\n")
    assert run(FILES.split()) == 0
    plain = capsys.readouterr().out
    assert run([*FILES.replace("hyp.txt", "crlf.txt").split(), "--output", "report"]) == 0
    assert capsys.readouterr().out == plain
    assert Path("report/hypotheses.txt").read_bytes() == Path("hyp.txt").read_bytes()


@pytest.mark.usefixtures("folder")
def test_several_references_and_a_chosen_word_split(capsys: pytest.CaptureFixture[str]) -> None:
    write("ref2.txt", ["x"] * 4)
    assert run(f"{FILES} --reference ref2.txt --tokenize char".split()) == 0
    assert "nrefs:2|case:mixed|eff:no|tok:char" in capsys.readouterr().out
    assert run(f"{FILES} --target-language zh-Hans".split()) == 0
    assert "tok:zh" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_the_papers_bleu_stands_beside_the_other_under_a_name_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*FILES.split(), "--compound-split", "--output", "report"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["BLEU", "chrF", "TER", "BLEU,"]
    assert lines[3].startswith("BLEU, Moses words, compounds split ")
    assert "tok:13a" in lines[0]
    assert "tok:moses-compounds-split|smooth:none" in lines[3]
    report = json.loads(Path("report/report.json").read_text())
    assert report["compound_split_bleu"]["signature"].endswith(lines[3].split()[-1])
    assert "| **BLEU, Moses words, compounds split** |" in Path("report/report.md").read_text()


@pytest.mark.usefixtures("folder")
def test_unequal_line_counts_name_both_files_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    write("short.txt", REFERENCES[:3])
    error = refused("eval --hypotheses hyp.txt --reference short.txt --output report", capsys)
    assert "hyp.txt has 4 lines but short.txt has 3" in error
    error = refused(f"{FILES} --source short.txt", capsys)
    assert "hyp.txt has 4 lines but short.txt has 3" in error


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("eval", "found neither"),
        ("eval --reference ref.txt", "found neither"),
        ("eval model --hypotheses hyp.txt --reference ref.txt", "not both"),
        ("eval --hypotheses hyp.txt", "--reference"),
        ("eval model --reference ref.txt", "--source"),
        ("eval --hypotheses no.txt --reference ref.txt", "no.txt: no such file"),
        ("eval --hypotheses . --reference ref.txt", "is a folder"),
        ("eval --hypotheses empty.txt --reference empty.txt", "empty.txt: empty"),
        ("eval --hypotheses latin.txt --reference ref.txt", "latin.txt:1: byte 3 (0xe9) is not UTF-8"),
        (f"{FILES} --tokenize 14a", "14a"),
        (f"{FILES} --output ref.txt", "already exists"),
        (f"{FILES} --output ref.txt --overwrite", "is a file"),
        (f"{FILES} --output ref.txt/report", "ref.txt is a file"),
        (f"{FILES} --output full --overwrite", "keep.txt"),
        (f"{FILES} --beam 0", "--beam"),
        (f"{FILES} --precision int3", "bf16"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], words: str, expected: str
) -> None:
    write("empty.txt", [])
    Path("latin.txt").write_bytes(b"caf\xe9\n".replace(b"caf", b"ca"))
    Path("full").mkdir()
    write("full/keep.txt", ["mine"])
    assert expected in refused(words, capsys)


@pytest.mark.usefixtures("folder")
def test_an_existing_report_stays_without_overwrite(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{FILES} --output report".split()) == 0
    first = Path("report/report.json").read_bytes()
    capsys.readouterr()
    write("hyp.txt", ["other"] * 4)
    assert "already exists" in refused(f"{FILES} --output report", capsys)
    assert Path("report/report.json").read_bytes() == first
    assert run(f"{FILES} --output report --overwrite".split()) == 0
    assert Path("report/report.json").read_bytes() != first


@pytest.mark.usefixtures("folder")
def test_model_options_without_a_model_are_said_to_have_no_effect(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{FILES} --beam 3".split()) == 0
    assert "no effect" in capsys.readouterr().err


@dataclass(frozen=True)
class FakeTranslation:
    text: str


class FakeTranslator:
    """Turns `s3` into the third hypothesis; remembers what it was loaded with."""

    target_language = "zh-Hans"
    loaded: tuple[Path, dict[str, Any]] | None = None

    @classmethod
    def load(cls, path: Path, **options: Any) -> "FakeTranslator":
        cls.loaded = (path, options)
        return cls()

    def translate(self, lines: Sequence[str]) -> list[FakeTranslation]:
        return [FakeTranslation(HYPOTHESES[int(line[1]) - 1]) for line in lines]


@pytest.fixture
def fake_translator(monkeypatch: pytest.MonkeyPatch) -> type[FakeTranslator]:
    module = ModuleType("tfmt.decode.translator")
    monkeypatch.setattr(module, "Translator", FakeTranslator, raising=False)
    monkeypatch.setitem(sys.modules, "tfmt.decode.translator", module)
    monkeypatch.setattr(FakeTranslator, "loaded", None)
    return FakeTranslator


@pytest.mark.usefixtures("folder")
def test_a_model_translates_the_source_in_its_own_language(fake_translator: type[FakeTranslator]) -> None:
    words = "eval runs/a --source src.txt --reference ref.txt --output report"
    assert run([*words.split(), "--beam", "2", "--device", "cpu", "--threads", "1", "--precision", "fp32"]) == 0
    assert fake_translator.loaded == (
        Path("runs/a"),
        {"device": "cpu", "precision": "fp32", "threads": 1, "beam": 2},
    )
    report = json.loads(Path("report/report.json").read_bytes())
    expected = score(HYPOTHESES, [REFERENCES], target_language="zh").as_dict()
    assert {name: report[name] for name in ("bleu", "chrf", "ter")} == expected
    assert report["scored"] == {"hypotheses": "runs/a", "references": ["ref.txt"], "source": "src.txt"}
    assert Path("report/hypotheses.txt").read_bytes() == Path("hyp.txt").read_bytes()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("mistake", ["--output src.txt", "--tokenize 14a", "--reference short.txt"])
def test_a_mistake_is_told_before_the_model_is_loaded(
    fake_translator: type[FakeTranslator], capsys: pytest.CaptureFixture[str], mistake: str
) -> None:
    write("short.txt", ["one"])
    refused(f"eval runs/a --source src.txt --reference ref.txt {mistake}", capsys)
    assert fake_translator.loaded is None


@pytest.mark.usefixtures("folder")
def test_output_is_utf8_whatever_the_locale() -> None:
    write("zh.txt", ["你好"])
    write("other.txt", ["再见"])
    words = ["tfmt", "eval", "--hypotheses", "zh.txt", "--reference", "other.txt", "--json"]
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONIOENCODING": "latin-1",
    }
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, check=True, env=environment)
    assert json.loads(done.stdout.decode("utf-8"))["worst"][0]["hypothesis"] == "你好"
