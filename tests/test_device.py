import pytest
import torch

from tfmt.device import keep_freed_memory, pick_device, pick_precision, set_threads
from tfmt.errors import ConfigError


def test_names_of_devices():
    assert pick_device("cpu") == torch.device("cpu")
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    for name in ("tpu", "meta", "cuda:99", "cpu:x"):
        with pytest.raises(ConfigError, match="--device"):
            pick_device(name)


def test_threads_are_set_when_asked_for():
    before = torch.get_num_threads()
    try:
        set_threads(2)
        assert torch.get_num_threads() == 2
        set_threads(0)
        assert torch.get_num_threads() == 2
        for threads in (-1, 1_000_000):
            with pytest.raises(ConfigError, match=r"--threads .*: must be from 0"):
                set_threads(threads)
    finally:
        torch.set_num_threads(before)


def test_a_precision_asked_for_is_taken():
    cpu = torch.device("cpu")
    assert pick_precision("fp32", cpu) == "fp32"
    assert pick_precision("bf16", cpu) == "bf16"
    assert pick_precision("auto", cpu) in ("fp32", "bf16")


def test_keeping_freed_memory_is_harmless_and_can_be_asked_for_twice():
    keep_freed_memory()
    keep_freed_memory()
    assert torch.ones(10_000_000).sum() == 10_000_000
