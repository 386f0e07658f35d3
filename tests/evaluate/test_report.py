import json
from pathlib import Path

import pytest

from tfmt.errors import DataError, DiskFull, OutputExists
from tfmt.evaluate.report import FILES, EvalReport, Scored, make_report, to_markdown, write_report

SCORED = Scored(hypotheses="out.txt", references=("ref.txt",), source="src.txt")


def a_report(hypotheses: list[str], references: list[str], sources: list[str] | None = None) -> EvalReport:
    return make_report(hypotheses, [references], sources=sources, scored=SCORED, target_language="en")


def test_json_holds_scores_signatures_counts_and_names() -> None:
    document = a_report(["a good day", ""], ["a good day", "and night"]).as_dict()
    assert json.loads(json.dumps(document)) == json.loads(json.dumps(document, allow_nan=False))
    for name in ("bleu", "chrf", "ter"):
        assert set(document[name]) >= {"score", "signature"}  # type: ignore[call-overload]
    assert document["num_segments"] == 2
    assert document["num_empty"] == 1
    assert document["length_ratio"] == pytest.approx(3 / 5)
    assert document["scored"] == {"hypotheses": "out.txt", "references": ("ref.txt",), "source": "src.txt"}
    assert document["target_language"] == "en"


def test_the_worst_segments_are_the_ten_of_lowest_chrf_in_order() -> None:
    references = [f"sentence number {number} of this test" for number in range(20)]
    hypotheses = [line[: 5 + number] for number, line in enumerate(references)]
    worst = a_report(hypotheses, references, sources=[f"s{n}" for n in range(20)]).worst
    assert len(worst) == 10
    assert [segment.chrf for segment in worst] == sorted(segment.chrf for segment in worst)
    assert {segment.line for segment in worst} == set(range(1, 11))
    assert (worst[0].source, worst[0].hypothesis, worst[0].reference) == ("s0", hypotheses[0], references[0])


def test_a_hypothesis_that_is_a_reference_is_never_among_the_worst() -> None:
    report = make_report(["b", "wrong"], [["a", "x"], ["b", "y"]], scored=SCORED)
    assert [segment.hypothesis for segment in report.worst] == ["wrong"]
    assert "None: every hypothesis" in to_markdown(a_report(["same"], ["same"]))


def test_a_worst_segment_shows_the_reference_it_is_closest_to() -> None:
    report = make_report(["a small dog"], [["one little hound"], ["a small dogs"]], scored=SCORED)
    assert report.worst[0].reference == "a small dogs"


def test_markdown_shows_text_as_it_is() -> None:
    page = to_markdown(a_report(["<b>*bold*</b> | _x_ & [a](b)\u2028`c` $1$ ~~d~~"], ["\u2029 "]))
    assert r"&lt;b>\*bold\*&lt;/b> \| \_x\_ &amp; \[a\](b) \`c\` \$1\$ \~\~d\~\~" in page
    assert "*(empty)*" in page
    assert all(ord(character) != 0x2028 for character in page)


def test_markdown_holds_each_score_with_its_direction_and_signature() -> None:
    report = a_report(["a good day"], ["a good night"])
    page = to_markdown(report)
    for name, score, better in (
        ("BLEU", report.scores.bleu, "higher"),
        ("chrF", report.scores.chrf, "higher"),
        ("TER", report.scores.ter, "lower"),
    ):
        assert f"| **{name}** | **{score.score:.2f}** | {better} |" in page
        assert f"- {name}: `{score.signature}`" in page


def test_a_name_with_backticks_is_still_code() -> None:
    report = make_report(["a"], [["b"]], scored=Scored(hypotheses="a`b.txt", references=("r",)))
    assert "- hypotheses: `` a`b.txt ``" in to_markdown(report)


def test_a_report_without_any_word_has_no_ratio() -> None:
    report = a_report([""], [""])
    assert report.length_ratio is None
    assert report.as_dict()["length_ratio"] is None
    assert "ratio" not in to_markdown(report)


def test_write_makes_three_files_and_hypotheses_keep_their_lines(tmp_path: Path) -> None:
    lines = ["eins\u2028zwei", "", "三"]
    write_report(a_report(lines, ["a", "b", "c"]), tmp_path / "deep" / "report")
    assert sorted(path.name for path in (tmp_path / "deep" / "report").iterdir()) == sorted(FILES)
    assert (tmp_path / "deep/report/hypotheses.txt").read_bytes() == "eins\u2028zwei\n\n三\n".encode()
    assert json.loads((tmp_path / "deep/report/report.json").read_bytes())["num_segments"] == 3
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["report"]


def test_a_report_that_stands_is_replaced_only_on_demand(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    write_report(a_report(["a"], ["b"]), folder)
    with pytest.raises(OutputExists):
        write_report(a_report(["c"], ["d"]), folder)
    assert (folder / "hypotheses.txt").read_text() == "a\n"
    write_report(a_report(["c"], ["d"]), folder, overwrite=True)
    assert (folder / "hypotheses.txt").read_text() == "c\n"
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_overwrite_never_replaces_a_folder_of_other_things(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match=r"thesis\.tex"):
        write_report(a_report(["a"], ["b"]), tmp_path, overwrite=True)
    with pytest.raises(DataError, match="is a file"):
        write_report(a_report(["a"], ["b"]), tmp_path / "thesis.tex", overwrite=True)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DiskFull, match="no space left"):
        write_report(a_report(["a"], ["b"]), tmp_path / "report")
    assert not list(tmp_path.iterdir())
