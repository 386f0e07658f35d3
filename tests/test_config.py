import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tfmt.config import MAY_CHANGE, ModelConfig, RunConfig, TrainConfig
from tfmt.config_file import describe, differences, load_config, save_config
from tfmt.errors import ConfigError

DOCUMENT = Path(__file__).parents[1] / "docs" / "configuration.md"


def load(folder: Path, text: str, *overrides: str) -> RunConfig:
    path = folder / "run.toml"
    path.write_bytes(text.encode())
    return load_config(path, overrides)


def error_of(folder: Path, text: str, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load(folder, text, *overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(f"{folder}/", "")


def test_an_empty_file_is_the_papers_base(tmp_path: Path) -> None:
    config = load(tmp_path, "")
    assert config == RunConfig()
    model = config.model
    assert (model.encoder_layers, model.decoder_layers, model.d_model, model.num_heads) == (6, 6, 512, 8)
    assert (model.d_k, model.d_v, model.d_ff, model.dropout, model.norm) == (64, 64, 2048, 0.1, "post")
    assert (config.train.adam_betas, config.train.adam_eps, config.train.warmup_steps) == (
        (0.9, 0.98),
        1e-9,
        4000,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[train]\n# a note\nwarmup_step = 3",
            "run.toml:3: train.warmup_step: unknown key; did you mean train.warmup_steps?",
        ),
        ("[trian]\nmax_steps = 3", "run.toml:1: trian: unknown key; did you mean train?"),
        ("max_steps = 3", "run.toml:1: max_steps: unknown key; did you mean train.max_steps?"),
        (
            "seed = 2\r\n[decode]\r\nd_model = 3\r\n",
            "run.toml:3: decode.d_model: unknown key; did you mean model.d_model?",
        ),
        ("[zzzz]\nq = 1", "run.toml:1: zzzz: unknown key; see docs/configuration.md"),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_the_nearest_known(tmp_path: Path, text: str, expected: str) -> None:
    assert error_of(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[decode]\nbeam = 0", "run.toml:2: decode.beam = 0: input should be greater than or equal to 1"),
        ("[model]\ndropout = 1.0", "run.toml:2: model.dropout = 1.0: input should be less than 1"),
        (
            "[model]\nd_model = 5\nd_k = 1\nd_v = 1",
            "run.toml:2: model.d_model = 5: input should be a multiple of 2",
        ),
        ("[model]\nnorm = 'pree'", "run.toml:2: model.norm = 'pree': input should be 'post' or 'pre'"),
        ("[train]\nadam_eps = nan", "run.toml:2: train.adam_eps = nan: input should be a finite number"),
        (
            "[train]\nadam_betas = [0.9, 1.0]",
            "run.toml:2: train.adam_betas = 1.0: input should be less than 1",
        ),
        (
            "[train]\nlearning_rate = 'papr'",
            "run.toml:2: train.learning_rate = 'papr': input should be a valid number or input should be 'paper'",
        ),
        ("seed = 1.5", "run.toml:1: seed = 1.5: input should be a valid integer"),
        ("train = 5", "run.toml:1: train = 5: input should be a valid dictionary"),
        ("[data]\ntrain = 3", "run.toml:2: data.train = 3: input should be a valid tuple"),
        (
            "[train]\nmax_steps = '30e'",
            'run.toml:2: train.max_steps: "30e" counts epochs, this key updates; limits are max_steps, max_epochs',
        ),
        ("[train]\nmax_tokens = '2Gb'", 'run.toml:2: train.max_tokens: "2Gb" is no amount of training; write "500u"'),
        ("[train]\nsave_every = '0e'", "run.toml:2: train.save_every: must be more than 0"),
        (
            "[train]\nsave_every = -5",
            "run.toml:2: train.save_every: -5 is no interval; write a whole number of updates",
        ),
        ("[train]\nvalidate_every = 2.5", "run.toml:2: train.validate_every: 2.5 is no interval; write a whole number"),
    ],
)
def test_a_bad_value_is_shown_with_its_line_and_bound(tmp_path: Path, text: str, expected: str) -> None:
    assert error_of(tmp_path, text).startswith(expected)


@pytest.mark.parametrize("value", ['"512"', "512.0", "true"])
def test_a_value_of_another_kind_is_refused_not_guessed(tmp_path: Path, value: str) -> None:
    message = error_of(tmp_path, f"[model]\nd_model = {value}")
    assert message.startswith("run.toml:2: model.d_model = ")
    assert message.endswith("input should be a valid integer")


def test_a_whole_number_serves_as_a_float(tmp_path: Path) -> None:
    assert load(tmp_path, "[train]\nclip_norm = 2\nlearning_rate = 1").train.clip_norm == 2.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[model]\nnum_heads = 7", "d_model 512 is not a multiple of num_heads 7"),
        ("[train]\nmax_steps = 0", "max_steps, max_epochs, max_tokens and max_minutes are all 0"),
        ("[train]\nschedule = 'linear'\nmax_steps = 0\nmax_epochs = 1", "set max_steps above 0"),
        ("[train]\nschedule = 'cosine'\nmax_steps = 0\nmax_epochs = 1", 'schedule "cosine" falls until max_steps'),
        (
            "[train]\nlearning_rate = 1e-3\nmin_learning_rate = 0.01",
            "min_learning_rate 0.01 is above learning_rate 0.001",
        ),
        ("[train]\nweight_decay = 0.01", 'optimizer "adam" has no weight_decay (0.01); choose "adamw"'),
        ("[train]\noptimizer = 'sgd'", 'for "sgd" set a number, such as 0.1'),
        ("[train]\noptimizer = 'adafactor'", 'for "adafactor" set a number, such as 0.01'),
        (
            "[train]\nshard = true\noptimizer = 'muon'",
            'optimizer "muon" needs whole matrices, of which a process has a share with shard; choose "adamw"',
        ),
        ("[train]\nshard = true\ncompile = true", "shard and compile do not go together; set one of them false"),
        (
            "[train]\nr_drop = 5\n[model]\ndropout = 0",
            "run.toml: train.r_drop 5 compares passes that differ by dropout",
        ),
        ("[train]\naverage = 9", "average 9 is more than keep 5; raise keep to 9"),
        ("[train]\naverage_of = 'best'", "average 5 is more than keep_best 1; raise keep_best to 5"),
        (
            "[train]\naverage_of = 'best'\nkeep_best = 5",
            "run.toml: train.average_of needs validations; set data.valid_",
        ),
        ("[train]\npatience = 3", "run.toml: train.patience needs validations; set data.valid_source and data.valid_"),
    ],
)
def test_values_that_contradict_one_another_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    assert reason in error_of(tmp_path, text)


@pytest.mark.parametrize("text", ["[model", "a = 1\na = 2", "name = zh", "x = \ty"])
def test_bad_toml_is_one_line_that_names_the_file(tmp_path: Path, text: str) -> None:
    assert error_of(tmp_path, text).startswith("run.toml: not TOML: ")


def test_bytes_that_are_not_utf8_are_bad_toml(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigError, match="not TOML"):
        load_config(tmp_path / "run.toml")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: no such configuration file"):
        load_config(tmp_path / "nowhere.toml")


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    assert load(tmp_path, "\ufeffseed = 7").seed == 7


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("train.max_steps=200", "max_steps", 200),
        ("train.learning_rate=1e-3", "learning_rate", 1e-3),
        ("train.learning_rate=paper", "learning_rate", "paper"),
        ("train.precision=bf16", "precision", "bf16"),
        ('train.precision="fp32"', "precision", "fp32"),
        ("train.adam_betas=[0.8, 0.9]", "adam_betas", (0.8, 0.9)),
        (" train.keep = 9 ", "keep", 9),
        ("train.max_steps=50ku", "max_steps", 50_000),
        ("train.max_steps=1_000", "max_steps", 1000),
        ("train.warmup_steps=4ku", "warmup_steps", 4000),
        ("train.max_epochs=30e", "max_epochs", 30.0),
        ("train.max_epochs=0.5", "max_epochs", 0.5),
        ("train.max_tokens=2Gt", "max_tokens", 2_000_000_000),
        ("train.max_minutes=1.5h", "max_minutes", 90.0),
        ("train.save_every=10m", "save_every", "10m"),
        ("train.validate_every=2ku", "validate_every", 2000),
        ("train.validate_every=0", "validate_every", 0),
        ("train.log_every=0.25e", "log_every", "0.25e"),
    ],
)
def test_set_takes_toml_values_and_bare_words(tmp_path: Path, override: str, key: str, value: Any) -> None:
    assert load(tmp_path, "", override).train.model_dump()[key] == value


def test_set_wins_over_the_file_and_the_last_one_over_earlier(tmp_path: Path) -> None:
    config = load(tmp_path, "[decode]\nbeam = 2\n", "decode.beam=3", "decode.beam=4", "data.source_language=no")
    assert config.decode.beam == 4
    assert config.data.source_language == "no"  # Norwegian, not false


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("decode.beam=0", "--set decode.beam = 0: input should be greater"),
        ("decode.beem=2", "--set decode.beem: unknown key; did you mean decode.beam?"),
        ("decoed.beam=2", "--set decoed: unknown key; did you mean decode?"),
        ("model.num_heads=7", "--set model: d_model 512 is not a multiple"),
        ("seed", "--set seed: expected KEY=VALUE"),
        ("=3", "--set =3: expected KEY=VALUE"),
    ],
)
def test_a_mistake_in_set_is_blamed_on_set(tmp_path: Path, override: str, expected: str) -> None:
    assert error_of(tmp_path, "", override).startswith(expected)


def test_set_into_a_value_that_is_no_section(tmp_path: Path) -> None:
    assert "seed is a value, not a section" in error_of(tmp_path, "seed = 1", "seed.x=3")


def test_saving_and_loading_is_identity(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        'seed = 5\n[data]\ntrain = ["a \\"b\\"", "数据"]\n[model]\nd_model = 64\nnum_heads = 4\nd_v = 8\n'
        '[train]\nlearning_rate = 3e-4\nmax_minutes = 1.5\nvalidate_every = "20s"\nsave_every = "0.1e"\n'
        "log_every = 30\nadam_betas = [0.9, 0.999]\n[decode]\nbeam = 1\n",
    )
    save_config(config, tmp_path / "saved.toml")
    assert load_config(tmp_path / "saved.toml") == config
    save_config(load_config(tmp_path / "saved.toml"), tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_bytes() == (tmp_path / "saved.toml").read_bytes()


def test_head_widths_are_derived_unless_set() -> None:
    assert (ModelConfig(d_model=96, num_heads=4).d_k, ModelConfig(d_model=96, num_heads=4).d_v) == (24, 24)
    widths = ModelConfig(d_model=10, num_heads=4, d_k=3, d_v=5)  # no division needed, none asked for
    assert (widths.d_k, widths.d_v) == (3, 5)


def test_differences_are_dotted_keys_with_both_values(tmp_path: Path) -> None:
    old = RunConfig()
    new = load(tmp_path, "seed = 2\n[model]\nd_model = 64\n")
    assert differences(old, old) == {}
    assert differences(old, new) == {
        "seed": (1, 2),
        "model.d_model": (512, 64),
        "model.d_k": (64, 8),
        "model.d_v": (64, 8),
    }


def test_a_configuration_is_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        RunConfig().train.keep = 3


def test_every_key_is_described() -> None:
    for row in describe().splitlines()[2:]:
        key, default, _, _, meaning = (cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1])
        assert key.startswith("`"), row
        assert default.startswith("`"), row
        assert meaning not in ("", "None"), row


def test_each_key_that_may_change_is_a_key() -> None:
    assert set(differences(RunConfig(), RunConfig(seed=2))) == {"seed"}
    rows = [row.split(" | ") for row in describe().splitlines()[2:]]
    assert {row[0].strip("| `") for row in rows if row[3] == "yes"} == MAY_CHANGE


def test_the_documentation_holds_the_table_of_every_key() -> None:
    """When this fails: put the output of `python -c "from tfmt.config_file import *; print(describe())"` there."""
    _, _, rest = DOCUMENT.read_text(encoding="utf-8").partition("<!-- table -->\n")
    table, _, _ = rest.partition("<!-- end of table -->")
    assert table == describe()


def test_every_section_of_the_defaults_is_checked_like_a_users(tmp_path: Path) -> None:
    assert TrainConfig() == load(tmp_path, "").train


@pytest.mark.parametrize("text", ["model = 3\n", 'model = "x"\n', "train = [1]\n"])
def test_a_value_where_a_section_belongs_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=text.split()[0]):
        load(tmp_path, text)
