import math

from tfmt.config import TrainConfig
from tfmt.train.optim import lr_at


def test_paper_schedule_is_equation_3():
    cfg = TrainConfig(warmup_steps=4000)
    for step in (1, 10, 3999, 4000, 4001, 100_000):
        assert math.isclose(lr_at(step, cfg, 512), 512**-0.5 * min(step**-0.5, step * 4000**-1.5))
    assert math.isclose(lr_at(4000, cfg, 512), 6.988e-4, rel_tol=1e-4)
    assert math.isclose(lr_at(4000, cfg, 1024), 4.941e-4, rel_tol=1e-4)


def test_linear_rises_to_its_peak_and_falls_to_zero():
    cfg = TrainConfig(schedule="linear", learning_rate=1e-3, warmup_steps=100, max_steps=1100)
    assert math.isclose(lr_at(50, cfg, 8), 5e-4)
    assert math.isclose(lr_at(100, cfg, 8), 1e-3)
    assert math.isclose(lr_at(600, cfg, 8), 5e-4)
    assert lr_at(1100, cfg, 8) == 0.0
