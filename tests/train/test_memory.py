"""Micro-batches of the size that memory holds: what is found, that it leaves no trace, and that a run keeps to it."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from fakes import small_config
from ranks import train_on
from runs import config, equal, events, losses, run_training, state, weights
from torch import nn

from tfmt.config import RunConfig
from tfmt.config_file import load_config, save_config
from tfmt.corpus.batches import MIN_WIDTH, Corpus, Side, largest_update, open_prepared, plan_epoch
from tfmt.errors import ConfigError, TrainingError
from tfmt.model.transformer import Transformer
from tfmt.train import learner as learner_module
from tfmt.train import memory, workers
from tfmt.train.data import first_batch
from tfmt.train.distributed import World
from tfmt.train.learner import Learner
from tfmt.train.loss import batch_loss_sums

OPTIMIZERS = ["adam", "adamw", "radam", "nadam", "adafactor", "sgd", "muon"]


@dataclasses.dataclass(frozen=True)
class gpu_memory:  # noqa: N801
    """Stands for GPUs: sizes are tried out, and memory runs out above so many target tokens (one number a rank)."""

    num_tokens: tuple[int, ...]

    def __call__(self, rank: int = 0, words: object = ()) -> None:
        def loss_sums(model, batch, *options):
            if torch.is_grad_enabled() and batch.num_tokens > self.num_tokens[rank]:
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
            return batch_loss_sums(model, batch, *options)

        learner_module.batch_loss_sums = loss_sums
        memory.by_estimate = memory.by_trial


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(learner_module, "batch_loss_sums", batch_loss_sums)  # put back at the end
    monkeypatch.setattr(memory, "by_estimate", memory.by_estimate)
    return lambda num_tokens: gpu_memory((num_tokens,))()


def make_corpus(num_pairs: int = 400, *, shortest: int = 2, longest: int = 20) -> Corpus:
    lengths = np.random.default_rng(1).integers(shortest - 1, longest, size=num_pairs)
    return Corpus(Side.of([[5] * n for n in lengths]), Side.of([[6] * n for n in lengths]))


def make_learner(cfg: RunConfig, **sizes) -> Learner:
    torch.manual_seed(1)
    return Learner(Transformer(small_config(**sizes), 90).train(), cfg.train, "fp32", World(torch.device("cpu")))


def auto(**changes) -> RunConfig:
    return RunConfig.model_validate({"train": {"micro_batch_tokens": "auto", "batch_tokens": 2000} | changes})


@pytest.mark.parametrize("held", [100, 230, 700, 1500])
def test_what_is_found_on_a_gpu_goes_through_with_a_margin(gpu, held):
    corpus, cfg = make_corpus(), auto()
    learner = make_learner(cfg)
    gpu(held)
    found = memory.fitting_micro_batch(learner, corpus, cfg)
    assert 0.7 * held < found <= 0.9 * (held + 20)  # whole sentences of up to 20 tokens are tried


def test_sizes_are_tried_on_the_longest_pairs_and_on_the_shortest_which_stand_in_much_padding():
    corpus = make_corpus(longest=70)
    longer = np.sort(np.maximum(corpus.source.lengths, corpus.target.lengths))
    longest, shortest = memory.worst_batches(corpus, 500)
    assert longest.src_BS.shape == longest.tgt_in_BT.shape == (len(longest.src_BS), 70)
    assert longest.num_tokens == longer[-len(longest.src_BS) :].sum() - 1
    assert shortest.src_BS.shape == shortest.tgt_in_BT.shape == (len(shortest.src_BS), MIN_WIDTH)
    assert shortest.num_tokens == longer[: len(shortest.src_BS)].sum() - 1
    for batch in (longest, shortest):
        assert 500 - 70 <= batch.num_tokens <= 500
    assert [len(batch.src_BS) for batch in memory.worst_batches(corpus, 1)] == [1, 1]


@pytest.mark.parametrize("num_threads", [1, 2])
def test_more_than_an_update_needs_is_not_asked_for(monkeypatch, gpu, num_threads):
    monkeypatch.setattr(workers, "num_workers", lambda device: num_threads)
    corpus, cfg = make_corpus(), auto()
    gpu(10**9)
    most = largest_update(corpus, 2000, seed=1)
    assert 2000 <= most < 2500
    assert memory.fitting_micro_batch(make_learner(cfg), corpus, cfg) == -(-most // num_threads)


def test_both_passes_of_r_drop_are_held(gpu):
    corpus, cfg = make_corpus(), auto(r_drop=1.0)
    one_pass = memory.fitting_micro_batch(make_learner(auto()), corpus, auto())
    assert memory.fitting_micro_batch(make_learner(cfg), corpus, cfg) == 2 * one_pass
    gpu(500)  # the fake counts a batch before it is doubled
    found = memory.fitting_micro_batch(make_learner(cfg), corpus, cfg)
    assert 375 < cfg.train.tokens_at_once(found) <= 470


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_trials_leave_no_trace(gpu, optimizer):
    cfg = auto(optimizer=optimizer, learning_rate=0.01, weight_decay=0.0 if optimizer == "adam" else 0.1)
    corpus, tried, other = make_corpus(), make_learner(cfg), make_learner(cfg)
    gpu(700)
    memory.fitting_micro_batch(tried, corpus, cfg)
    gpu(10**9)
    for learner in (tried, other):
        assert not learner.left_out
        assert not any(optimizer.state for optimizer in learner.optimizers)
        batch = corpus.batch(np.arange(20))
        learner.learn([[batch]], batch.num_tokens, lr=0.01, seed=(1,))
    for mine, others in zip(tried.model.parameters(), other.model.parameters(), strict=True):
        assert mine.equal(others)


def test_a_longest_pair_that_does_not_fit_is_named_and_what_to_do(gpu):
    corpus, cfg = make_corpus(), auto()
    longest = int(corpus.target.lengths.argmax())
    gpu(int(corpus.target.lengths.max()) - 1)
    with pytest.raises(TrainingError, match=rf"pair {longest:,} \(20 \+ 20 tokens\): lower --max-tokens .* a number"):
        memory.fitting_micro_batch(make_learner(cfg), corpus, cfg)


@pytest.mark.parametrize("low", [1, 7, 100])
def test_the_largest_is_found_within_a_twentieth(low):
    for largest in (low, low + 1, 3 * low, 5000, 99_999, 100_000):
        asked = []

        def judge(tokens, largest=largest, asked=asked):
            asked.append(tokens)
            return tokens <= largest

        found = memory._largest(judge, low, 100_000)
        assert found <= largest
        assert largest - found <= max(1, largest // 20)
        assert len(asked) <= 18


def test_bytes_that_live_are_counted_once():
    before = torch.ones(100)
    with memory.LiveBytes() as live:
        one = before * 2  # 400 bytes
        assert live.now == 400
        view = one.view(10, 10)[:5]
        before.add_(1)
        before.view(10, 10).T.flatten()
        assert live.now == 400
        del one
        assert live.now == 400
        two = torch.cat((view.flatten(), view.flatten(), before))  # 800 bytes
        assert live.now == live.most == 1200
        del view
        assert live.now == 800
        del two
        assert live.now == 0
    assert live.most == 1200


def test_what_a_backward_pass_needs_is_counted():
    """Against torch's own hooks for what is kept from the forward pass."""
    model, x = nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 30)), torch.randn(70, 50)
    kept: dict[int, int] = {}

    def note(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    own = {tensor.untyped_storage().data_ptr() for tensor in (x, *model.parameters())}
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor), memory.LiveBytes() as live:
        loss = model(x).square().sum()
        at_loss = live.now
        loss.backward()
    num_kept = sum(size for storage, size in kept.items() if storage not in own)
    assert num_kept == 4 * 70 * (200 + 30)  # what ReLU gives, and what is squared
    assert at_loss == num_kept + 4
    gradients = sum(4 * parameter.numel() for parameter in model.parameters())
    assert live.now == gradients + 4
    assert num_kept < live.most < num_kept + gradients + 4 * 70 * (200 + 30 + 30) + 100


@pytest.mark.parametrize(("shortest", "longest"), [(2, 12), (2, 60), (40, 45), (200, 250)])
@pytest.mark.parametrize("r_drop", [0.0, 1.0])
def test_bytes_are_foreseen_from_two_small_batches(shortest, longest, r_drop):
    corpus = make_corpus(1200, shortest=shortest, longest=longest)
    learner = make_learner(auto(r_drop=r_drop))
    foresee = memory.foresight(learner, corpus)
    assert all(parameter.grad is None for parameter in learner.workers.copies[0].parameters())
    tokens = 4000
    (update, *_) = plan_epoch(corpus, batch_tokens=10**9, micro_batch_tokens=tokens, seed=1, epoch=0)
    worst = [memory.count_bytes(learner, batch) for batch in memory.worst_batches(corpus, tokens)]
    planned = [
        memory.count_bytes(learner, corpus.batch(pairs))
        for pairs in update.micro_batches[:: len(update.micro_batches) // 3]
    ]
    assert max(planned) <= 1.02 * max(worst)
    assert max(worst) <= 1.02 * foresee(tokens)
    assert foresee(tokens) <= 1.6 * max(worst)


def test_what_is_found_on_a_cpu_is_so_many_bytes(monkeypatch):
    corpus, cfg = make_corpus(2000), auto(batch_tokens=10_000)
    monkeypatch.setattr(workers, "num_workers", lambda device: 2)
    learner = make_learner(cfg)
    found = []
    for free in (100, 200, 10**6):
        monkeypatch.setattr(memory, "free_memory", lambda free=free: free * 10**6)
        found.append(memory.fitting_micro_batch(learner, corpus, cfg))
        monkeypatch.undo()
    assert found[0] == pytest.approx(found[1] / 2, rel=0.1)
    assert found[2] == -(-largest_update(corpus, 10_000, 1) // 2)


def test_a_cpu_without_memory_is_told_before_it_is_killed(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 10**5)
    with pytest.raises(TrainingError, match="out of memory for the longest pair"):
        memory.fitting_micro_batch(make_learner(auto()), make_corpus(), auto())


RESIDENT = """
import sys
import numpy as np
import torch
from tfmt.config import ModelConfig, RunConfig
from tfmt.corpus.batches import Corpus, Side
from tfmt.device import keep_freed_memory
from tfmt.model.transformer import Transformer
from tfmt.train import memory
from tfmt.train.distributed import World
from tfmt.train.learner import Learner

def most():
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM"))

keep_freed_memory()
torch.set_num_threads(1)
cfg = RunConfig()
model = Transformer(ModelConfig(encoder_layers=2, decoder_layers=2, d_model=128, num_heads=4, d_ff=256), 2000).train()
learner = Learner(model, cfg.train, sys.argv[1], World(torch.device("cpu")))
side = Side.of([[5] * 63] * 64)
corpus = Corpus(side, side)
memory._update_nothing(learner, corpus.batch(np.arange(1)))
before = most()
batch = corpus.batch(np.arange(64))
memory._update_nothing(learner, batch)
print(most() - before, memory.count_bytes(learner, batch), memory.foresight(learner, corpus)(64 * 64))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_what_a_process_takes_is_within_the_share_that_is_kept_free(precision):
    words = [sys.executable, "-c", RESIDENT, precision]
    taken, counted, foreseen = map(float, subprocess.run(words, capture_output=True, check=True).stdout.split())
    assert counted <= foreseen <= 1.4 * counted
    assert 0.9 * counted < taken < foreseen / memory.CPU_SHARE


def machine(root: Path, available: int, groups: str, **files: str) -> Path:
    """A made-up / with so many kilobytes available; files by their path in sys/fs/cgroup."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal:  999999 kB\nMemAvailable:  {available} kB\nHugePages_Free: 0\n")
    (root / "proc/self/cgroup").write_text(groups)
    for path, text in files.items():
        file = root / "sys/fs/cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


def test_without_groups_what_is_available_is_free(tmp_path):
    assert memory.free_memory(machine(tmp_path, 5000, "")) == 5000 * 1024


def test_a_group_above_this_process_may_have_less_left(tmp_path):
    files = {
        "memory.max": "max\n",
        "slice/memory.max": "3000000\n",
        "slice/memory.current": "1000000\n",
        "slice/memory.stat": "anon 5\ninactive_file 400000\n",  # given back when it is needed
        "slice/job/memory.max": "2900000\n",
        "slice/job/memory.current": "400000\n",
    }
    root = machine(tmp_path, 5000, "1:cpu:/other\n0::/slice/job\n", **files)
    assert memory.free_memory(root) == 3_000_000 - 1_000_000 + 400_000
    (root / "sys/fs/cgroup/slice/job/memory.max").write_text("max\n")
    (root / "sys/fs/cgroup/slice/memory.max").write_text("500000\n")
    assert memory.free_memory(root) == 0  # it uses more than it may


def test_in_a_container_the_group_is_where_the_files_are(tmp_path):
    files = {
        "memory/memory.limit_in_bytes": "2000000\n",
        "memory/memory.usage_in_bytes": "500000\n",
        "memory/memory.stat": "cache 7\ntotal_inactive_file 100000\n",
    }
    root = machine(tmp_path, 5000, "4:cpu,memory:/docker/0123\n0::/\n", **files)
    assert memory.free_memory(root) == 1_600_000


def test_where_nothing_is_told_half_of_the_machine_is_taken(tmp_path, monkeypatch):
    found = {"SC_PHYS_PAGES": 10_000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(memory.os, "sysconf", found.__getitem__)
    assert memory.free_memory(tmp_path) == 5000 * 4096

    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(memory.os, "sysconf", unknown)
    assert memory.free_memory(tmp_path) == 2 << 30


def test_this_machine_has_some_memory():
    assert 10**6 < memory.free_memory() < 10**15


def test_a_run_says_what_it_found_and_is_the_run_with_that_number(tmp_path, prepared, toy, gpu):
    gpu(150)
    cfg = config(prepared, toy, micro_batch_tokens="auto", max_steps=12)
    run_training(cfg, tmp_path / "auto")
    (start,) = events(tmp_path / "auto", "start")
    found = start["micro_batch_tokens"]
    assert 110 < found < 150
    assert f"micro-batches of up to {found} tokens, which memory holds" in start["message"]
    assert state(tmp_path / "auto")["micro_batch_tokens"] == found
    assert not events(tmp_path / "auto", "split")
    run_training(config(prepared, toy, micro_batch_tokens=found, max_steps=12), tmp_path / "set")
    assert events(tmp_path / "set", "start")[0]["micro_batch_tokens"] == found
    assert "which memory holds" not in events(tmp_path / "set", "start")[0]["message"]
    assert losses(tmp_path / "auto") == losses(tmp_path / "set")
    assert equal(weights(tmp_path / "auto"), weights(tmp_path / "set"))


def test_a_stopped_run_keeps_its_number_whatever_memory_there_is_now(tmp_path, prepared, gpu, monkeypatch):
    cfg = config(prepared, micro_batch_tokens="auto", max_steps=35)
    gpu(150)
    run_training(cfg, tmp_path / "straight")
    run_training(config(prepared, micro_batch_tokens="auto", max_steps=14), tmp_path / "pieces")
    gpu(10**6)
    monkeypatch.setattr("tfmt.train.trainer.fitting_micro_batch", lambda *_: pytest.fail("asked anew"))
    run_training(cfg, tmp_path / "pieces")
    (resume,) = events(tmp_path / "pieces", "resume")
    assert resume["micro_batch_tokens"] == events(tmp_path / "straight", "start")[0]["micro_batch_tokens"]
    assert losses(tmp_path / "pieces") == losses(tmp_path / "straight")
    assert equal(weights(tmp_path / "pieces"), weights(tmp_path / "straight"))


@pytest.mark.slow
def test_the_smaller_of_two_memories_decides(tmp_path, prepared):
    cfg = config(prepared, micro_batch_tokens="auto", max_steps=8, batch_tokens=600)
    save_config(cfg, tmp_path / "run.toml")
    words = [tmp_path / "run.toml", "--output", tmp_path / "two", "--device", "cpu"]
    for name, held in (("two", (250, 130)), ("other", (130, 250))):
        words[2] = tmp_path / name
        assert train_on(2, words, tmp_path / "out", fault=gpu_memory(held)).statuses == [0, 0]
        (start,) = events(tmp_path / name, "start")
        assert 100 < start["micro_batch_tokens"] <= 117
        assert not events(tmp_path / name, "split")
    assert equal(weights(tmp_path / "two"), weights(tmp_path / "other"))


def test_processes_that_share_a_model_are_given_a_number():
    cfg = auto(shard=True)
    learner = make_learner(cfg)
    learner.world = World(torch.device("cpu"), 0, 2)
    with pytest.raises(ConfigError, match=r'train\.micro_batch_tokens: "auto" .* set a number'):
        memory.fitting_micro_batch(learner, make_corpus(), cfg)


@pytest.mark.slow
def test_two_processes_on_one_cpu_share_what_is_free(tmp_path, prepared):
    cfg = config(prepared, micro_batch_tokens="auto", max_steps=8)
    save_config(cfg, tmp_path / "run.toml")
    words = [tmp_path / "run.toml", "--output", tmp_path / "two", "--device", "cpu"]
    assert train_on(2, words, tmp_path / "out").statuses == [0, 0]
    corpus = open_prepared([prepared], 320)
    found = events(tmp_path / "two", "start")[0]["micro_batch_tokens"]
    assert found == -(-largest_update(corpus, 250, 1) // 2)


def test_the_first_batch_is_shown_without_training(prepared):
    lines = list(first_batch(config(prepared, micro_batch_tokens="auto")))
    assert re.search(r"in micro-batches of \d+ pairs;", lines[0])
    assert "auto, training cuts these" in lines[1]


def test_no_other_word_is_a_number(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text('[train]\nmicro_batch_tokens = "most"\n')
    with pytest.raises(ConfigError, match=r"a\.toml:2: train\.micro_batch_tokens = 'most': .*auto"):
        load_config(file)
