"""Validation against the commands that users have, and what a run's folder shows of it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from runs import config, events, run_training
from sacrebleu.metrics import BLEU

from tfmt.checkpoint import load_model
from tfmt.cli.main import run
from tfmt.corpus.batches import Corpus, Side
from tfmt.files import read_lines
from tfmt.special_ids import PAD
from tfmt.train.validate import Validator


@pytest.fixture(scope="module")
def trained(prepared, toy, tmp_path_factory) -> Path:
    """A run that has been validated twice, and has seven samples a time."""
    folder = tmp_path_factory.mktemp("validated") / "run"
    run_training(config(prepared, toy, max_steps=20, learning_rate=0.01, samples=7), folder)
    return folder


def test_the_logged_scores_are_those_of_translate_and_eval_on_that_checkpoint(trained, toy, tmp_path, capsys):
    hypotheses, source, reference = tmp_path / "hypotheses", str(toy.source), str(toy.target)
    for logged in events(trained, "validate"):
        model = str(trained / f"checkpoints/step-{logged['step']:08d}")
        words = ["translate", model, "--input", source, "--output", str(hypotheses), "--overwrite", "--device", "cpu"]
        assert run(words) == 0
        words = ["eval", "--hypotheses", str(hypotheses), "--reference", reference, "--output", str(tmp_path / "eval")]
        assert run([*words, "--overwrite"]) == 0
        report = json.loads((tmp_path / "eval/report.json").read_text())
        assert logged["bleu"] == report["bleu"]["score"]
        assert logged["chrf"] == report["chrf"]["score"]
        assert logged["signature"] == report["bleu"]["signature"]
        lines = list(read_lines(hypotheses))
        assert [sample["translation"] for sample in logged["samples"]] == [
            lines[sample["line"] - 1] for sample in logged["samples"]
        ]
        sacrebleus = BLEU().corpus_score(lines, [list(read_lines(toy.target))])
        assert logged["bleu"] == sacrebleus.score


def test_the_loss_is_smoothed_and_the_perplexity_is_not(trained, prepared, toy):
    """Both equal torch's own cross-entropy over the reference's tokens."""
    logged = events(trained, "validate")[-1]
    loaded = load_model(trained / "last")
    lines = [loaded.tokenizer.encode(list(read_lines(path))) for path in (toy.source, toy.target)]
    corpus = Corpus(*map(Side.of, lines))
    sums, num_tokens = torch.zeros(2, dtype=torch.float64), 0
    for pair in range(len(corpus)):
        batch = corpus.batch(torch.tensor([pair]).numpy())
        with torch.no_grad():
            logits_TV = loaded.model.decode(batch.tgt_in_BT, loaded.model.encode(batch.src_BS))[0]
        for place, smoothing in enumerate((0.1, 0.0)):
            sums[place] += torch.nn.functional.cross_entropy(
                logits_TV, batch.tgt_out_BT[0], label_smoothing=smoothing, reduction="sum", ignore_index=PAD
            )
        num_tokens += batch.num_tokens
    smoothed, plain = (sums / num_tokens).tolist()
    assert logged["loss"] == pytest.approx(smoothed, abs=1e-5)
    assert logged["nll"] == pytest.approx(plain, abs=1e-5)
    assert logged["ppl"] == pytest.approx(math.exp(plain), rel=1e-5)
    assert logged["loss"] > logged["nll"]


def test_samples_are_spread_over_the_text_and_stand_in_the_sheet(trained, toy):
    logged = events(trained, "validate")
    sources, references = list(read_lines(toy.source)), list(read_lines(toy.target))
    assert [sample["line"] for sample in logged[0]["samples"]] == [1 + 200 * k // 7 for k in range(7)]
    text = (trained / "samples.md").read_text(encoding="utf-8")
    for sample in logged[0]["samples"]:
        assert (sample["source"], sample["reference"]) == (
            sources[sample["line"] - 1],
            references[sample["line"] - 1],
        )
        assert f"## Line {sample['line']}\n" in text
        assert f"| **reference** | {sample['reference']} |" in text
    assert text.count("| step 10 |") == text.count("| step 20 |") == 7


def test_no_samples_no_sheet(tmp_path, prepared, toy):
    run_training(config(prepared, toy, max_steps=2, samples=0), tmp_path / "run")
    assert events(tmp_path / "run", "validate")[-1]["samples"] == []
    assert not (tmp_path / "run/samples.md").exists()


def test_a_tokenised_reference_is_warned_of(tmp_path, prepared, toy, caplog, tokenizer):
    tokenised = tmp_path / "tokenised"
    tokenised.write_text("".join(f"{line} .\n" for line in read_lines(toy.target)))
    values = config(prepared, toy).model_dump()
    values["data"]["valid_target"] = str(tokenised)
    Validator(type(config(prepared)).model_validate(values), tokenizer)
    assert (
        f"data.valid_target: the lines of {tokenised} look tokenised (spaces before . and , in 200 of 200"
        in caplog.text
    )
