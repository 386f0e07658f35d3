"""Event files against TensorBoard's own reader."""

import pytest
from fakes import TRAIN, VALIDATION

from tfmt.runlog.tensorboard import TensorBoardView, _checksum


def charts(folder) -> dict[str, list[tuple[int, float]]]:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="needs tensorboard")
    accumulator = reader.EventAccumulator(str(folder))
    accumulator.Reload()
    tags = accumulator.Tags()["scalars"]
    return {tag: [(point.step, pytest.approx(point.value)) for point in accumulator.Scalars(tag)] for tag in tags}


def write(folder, *events: dict) -> None:
    view = TensorBoardView(folder)
    for event in events:
        view.show(event)
    view.close()


def test_the_checksum_is_crc_32c_masked():
    # RFC 3720, B.4: CRC-32C of 32 zero bytes is 0x8a9136aa; and of the ascending bytes 0x46dd794e
    for content, crc in ((bytes(32), 0x8A9136AA), (bytes(range(32)), 0x46DD794E)):
        masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
        assert _checksum(content) == masked.to_bytes(4, "little")


def test_training_and_validation_are_charts(tmp_path):
    steps = [1, 2, 200, 100_000]
    write(
        tmp_path / "run",
        {"event": "start", "step": 0},
        *(TRAIN | {"step": step, "loss": step / 3} for step in steps),
        VALIDATION | {"step": 200},
        VALIDATION | {"step": 100_000, "averaged": 5},
        {"event": "end", "step": 100_000},
    )
    found = charts(tmp_path / "run")
    assert found["training/smoothed loss"] == [(step, step / 3) for step in steps]
    assert found["training/perplexity"][0] == (1, TRAIN["ppl"])
    assert found["training/share of matrix rate"][0] == (1, TRAIN["matrix_share"])
    assert found["validation/BLEU"] == [(200, VALIDATION["bleu"])]
    assert found["validation/perplexity"] == [(200, VALIDATION["ppl"])]


def test_a_run_that_goes_on_takes_over_from_where_it_does(tmp_path):
    write(tmp_path, {"event": "start", "step": 0}, *(TRAIN | {"step": step, "loss": 1.0} for step in range(1, 11)))
    write(tmp_path, {"event": "resume", "step": 5}, *(TRAIN | {"step": step, "loss": 2.0} for step in (6, 7)))
    assert charts(tmp_path)["training/smoothed loss"] == [(s, 1.0) for s in range(1, 6)] + [(6, 2.0), (7, 2.0)]


def test_a_finished_run_that_says_so_leaves_no_file(tmp_path):
    write(tmp_path / "run", {"event": "end", "step": 3})
    assert not (tmp_path / "run").exists()
