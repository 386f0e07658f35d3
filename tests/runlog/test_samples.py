"""The sheet of samples: what it shows, and what it no longer shows."""

from fakes import VALIDATION

from tfmt.errors import DiskFull
from tfmt.runlog.log import RunLog, read_events
from tfmt.runlog.samples import SampleSheet, sheet


def validation(step: int, *translations: str, averaged: int = 0) -> dict:
    samples = [
        {"line": 10 * k + 1, "source": f"Satz {k}", "reference": f"sentence {k}", "translation": text}
        for k, text in enumerate(translations)
    ]
    return VALIDATION | {"step": step, "samples": samples, "averaged": averaged}


def log_all(folder, *events: dict) -> str:
    with RunLog(folder / "log.jsonl", [SampleSheet(folder / "samples.md")]) as log:
        for event in events:
            log.event(**{"name" if key == "event" else key: value for key, value in event.items()})
    return (folder / "samples.md").read_text(encoding="utf-8")


def test_each_sentence_has_its_translations_newest_first(tmp_path):
    text = log_all(tmp_path, validation(100, "a a", "b"), validation(1200, "sentence 0", "c | *d*"))
    assert (
        text
        == """# Samples of the validation text

step 1,200: BLEU 35.12, chrF 60.00, perplexity 3

## Line 1

| | |
|---|---|
| **source** | Satz 0 |
| **reference** | sentence 0 |
| step 1,200 | sentence 0 |
| step 100 | a a |

## Line 11

| | |
|---|---|
| **source** | Satz 1 |
| **reference** | sentence 1 |
| step 1,200 | c \\| \\*d\\* |
| step 100 | b |
"""
    )


def test_a_run_that_goes_on_has_its_earlier_translations_but_for_those_it_went_back_from(tmp_path):
    log_all(tmp_path, {"event": "start", "step": 0}, validation(100, "old"), validation(200, "lost"))
    text = log_all(tmp_path, {"event": "resume", "step": 150}, validation(200, "new"))
    assert [line for line in text.split("\n") if line.startswith("| step")] == [
        "| step 200 | new |",
        "| step 100 | old |",
    ]
    assert len(read_events(tmp_path / "log.jsonl")) == 5


def test_other_sentences_begin_anew_and_line_ends_do_no_harm():
    other = validation(300, "x\ny\u2028z")
    other["samples"][0]["source"] = "another"
    text = sheet([validation(100, "old"), other])
    assert "old" not in text
    assert "| step 300 | x y z |" in text


def test_a_sheet_that_cannot_be_written_does_not_stop_the_run(tmp_path, monkeypatch):
    def full(path, overwrite):
        raise DiskFull(path)

    monkeypatch.setattr("tfmt.runlog.samples.whole_file", full)
    with RunLog(tmp_path / "log.jsonl", [SampleSheet(tmp_path / "samples.md")]) as log:
        log.event("start", step=0)
        log.event(**{"name" if key == "event" else key: value for key, value in validation(3, "a").items()})
        log.event("end", step=3)
    assert [event["event"] for event in read_events(tmp_path / "log.jsonl")] == ["start", "validate", "end"]
