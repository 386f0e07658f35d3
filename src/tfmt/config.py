"""A run's whole configuration: frozen and checked. `config_file` reads and writes it.

Every key has a default that serves, a description with its unit, and bounds, of which docs/configuration.md is made.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from tfmt.units import Amount, Epochs, Interval, Minutes, PositiveInterval, Tokens, Updates

Fraction = Annotated[float, Field(ge=0, lt=1)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=True, allow_inf_nan=False)


class DataConfig(_Section):
    source_language: str = Field(default="", description="language translated from (BCP 47: en, de, zh-Hans)")
    target_language: str = Field(
        default="", description="language translated into; decides how scores split words (zh, ja, ko differ)"
    )
    train: tuple[str, ...] = Field(
        default=(), strict=False, description="folders that `tfmt prepare` made, all with one tokenizer"
    )
    valid_source: str = Field(default="", description="source text for validation, a sentence a line; empty: none")
    valid_target: str = Field(default="", description="its reference translation, line by line")

    @field_validator("train", mode="before")
    @classmethod
    def _one_folder_needs_no_list(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class ModelConfig(_Section):
    architecture: Literal["encoder_decoder"] = Field(default="encoder_decoder", description="how blocks are stacked")
    encoder_layers: int = Field(default=6, ge=1, description="blocks in the encoder")
    decoder_layers: int = Field(default=6, ge=1, description="blocks in the decoder")
    d_model: int = Field(default=512, ge=2, multiple_of=2, description="width of every token's vector")
    num_heads: int = Field(default=8, ge=1, description="attention heads a layer")
    d_k: int = Field(default=0, ge=0, description="width of a head's queries and keys; 0: d_model / num_heads")
    d_v: int = Field(default=0, ge=0, description="width of a head's values; 0: d_model / num_heads")
    d_ff: int = Field(default=2048, ge=1, description="inner width of the feed-forward layers")
    dropout: Fraction = Field(
        default=0.1, description="share of units dropped at each sub-layer's output and at the embeddings"
    )
    source_word_dropout: Fraction = Field(
        default=0.0, description="share of source tokens whose whole embedding is dropped in training"
    )
    target_word_dropout: Fraction = Field(
        default=0.0,
        description="share of target tokens whose whole embedding is dropped in training, where they are read",
    )
    norm: Literal["post", "pre"] = Field(
        default="post", description="layer norm after the residual sum, or before the sub-layer"
    )
    norm_eps: float = Field(default=1e-6, gt=0, description="added to the variance in a layer norm")
    positions: Literal["sinusoidal"] = Field(default="sinusoidal", description="how a token knows its place")
    activation: Literal["relu"] = Field(default="relu", description="non-linearity of the feed-forward layers")
    tie_embeddings: bool = Field(
        default=True, description="one matrix for source embedding, target embedding and output projection"
    )

    @model_validator(mode="before")
    @classmethod
    def _derive_head_widths(cls, values: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(values, dict):
            return values
        values = dict(values)
        d_model = values.get("d_model", cls.model_fields["d_model"].default)
        num_heads = values.get("num_heads", cls.model_fields["num_heads"].default)
        if not (type(d_model) is int and type(num_heads) is int and num_heads > 0):
            return values  # the fields' own bounds say what is wrong
        for key in ("d_k", "d_v"):
            if not values.get(key):
                if d_model % num_heads:
                    raise ValueError(
                        f"d_model {d_model} is not a multiple of num_heads {num_heads}; "
                        "change one of them, or set d_k and d_v"
                    )
                values[key] = d_model // num_heads
        return values


class TrainConfig(_Section):
    start_from: str = Field(
        default="", description="model or run whose weights training starts from (fine-tuning); empty: random ones"
    )
    batch_tokens: int = Field(
        default=4096,
        ge=1,
        description="target tokens an update (padding not counted), gathered from micro-batches",
    )
    micro_batch_tokens: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        default=8192,
        description="tokens that go through the model at once, of the larger side; less needs less memory; "
        '"auto": as many as memory holds, or an update needs, found when training starts',
    )
    max_steps: Updates = Field(default=100_000, ge=0, description="updates after which training ends; 0: no limit")
    max_epochs: Epochs = Field(
        default=0.0, ge=0, description="passes over the corpus after which training ends; 0: no limit"
    )
    max_tokens: Tokens = Field(default=0, ge=0, description="target tokens after which training ends; 0: no limit")
    max_minutes: Minutes = Field(default=0.0, ge=0, description="minutes of training after which it ends; 0: no limit")
    schedule: Literal["inverse_sqrt", "linear", "cosine", "constant"] = Field(
        default="inverse_sqrt",
        description="how the rate falls after warm-up: with 1/sqrt(step), as the paper's; in a line or half a cosine, "
        "to its end at max_steps; not at all",
    )
    learning_rate: Annotated[float, Field(gt=0)] | Literal["paper"] = Field(
        default="paper",
        description='highest rate, reached after warm-up; "paper": 1 / sqrt(d_model * warmup_steps)',
    )
    min_learning_rate: float = Field(
        default=0.0, ge=0, description="rate that no schedule falls below after warm-up; linear and cosine end at it"
    )
    warmup_steps: Updates = Field(default=4000, ge=1, description="updates over which the rate rises from 0")
    label_smoothing: Fraction = Field(
        default=0.1,
        description="share of probability spread evenly over the whole vocabulary in the training loss",
    )
    r_drop: float = Field(
        default=0.0,
        ge=0,
        description="R-Drop's alpha: weight of the divergence of two passes that differ by dropout; 0: one pass",
    )
    freeze: tuple[str, ...] = Field(
        default=(),
        strict=False,
        description="parts that stay as they are, with all in them: source_embedding, encoder, decoder.0, ...",
    )
    optimizer: Literal["adam", "adamw", "radam", "nadam", "adafactor", "sgd", "muon"] = Field(
        default="adam", description="how gradients become steps; docs/configuration.md says what each one reads"
    )
    adam_betas: tuple[Fraction, Fraction] = Field(
        default=(0.9, 0.98), strict=False, description="decay of Adam's two moving averages"
    )
    adam_eps: float = Field(default=1e-9, gt=0, description="added to Adam's denominator")
    momentum: Fraction = Field(default=0.9, description="decay of the moving sum of gradients in sgd and muon")
    weight_decay: float = Field(
        default=0.0,
        ge=0,
        description="each update takes this share times the learning rate off the matrices, but not off embeddings",
    )
    clip_norm: float = Field(default=1.0, ge=0, description="gradients are scaled down to this norm; 0: never")
    ema: Fraction = Field(
        default=0.0,
        description="decay an update of a moving average of the weights, such as 0.999, which is then what is "
        "validated and saved for use; 0: none",
    )
    precision: Literal["auto", "fp32", "bf16"] = Field(
        default="auto",
        description="number format of products; auto: bf16 where the device multiplies it natively",
    )
    shard: bool = Field(
        default=False,
        description="each of several processes holds a share of weights, gradients and optimizer state, for models "
        "that one device's memory does not hold",
    )
    compile: bool = Field(
        default=False,
        description="have torch.compile fuse what lies between a GPU's products; the first updates take minutes",
    )
    max_skipped: int = Field(
        default=5,
        ge=1,
        description="updates in a row skipped for a loss or gradient that is not finite, before training goes back",
    )
    max_rewinds: int = Field(
        default=3,
        ge=0,
        description="times training goes back to its last good checkpoint, at half the rate, before it gives up",
    )
    log_every: PositiveInterval = Field(default=Amount(50, "updates"), description="between two lines of the log")
    validate_every: Interval = Field(
        default=Amount(1000, "updates"), description="between two validations; 0: only at the end"
    )
    samples: int = Field(
        default=5, ge=0, le=100, description="sentences of the validation text whose translations samples.md shows"
    )
    report_to: tuple[Literal["wandb", "trackio"], ...] = Field(
        default=(), strict=False, description="experiment trackers that are told of the run, where they are installed"
    )
    best_by: Literal["bleu", "chrf", "ppl", "loss"] = Field(
        default="bleu",
        description="which figure of a validation decides what is best; loss is with label smoothing, ppl without",
    )
    patience: int = Field(
        default=0, ge=0, description="validations in a row without a new best after which training ends; 0: never"
    )
    save_every: PositiveInterval = Field(default=Amount(1000, "updates"), description="between two checkpoints")
    keep: int = Field(default=5, ge=1, description="newest checkpoints due by save_every that are kept")
    keep_best: int = Field(default=1, ge=1, description="best checkpoints by best_by that are kept besides")
    average: int = Field(default=5, ge=0, description="checkpoints averaged into one model at the end; 0 or 1: none")
    average_of: Literal["last", "best"] = Field(
        default="last", description="which checkpoints are averaged: the newest due by save_every, or the best"
    )

    @property
    def falls_to_an_end(self) -> bool:
        """Whether the learning rate comes to its end at max_steps, which is then no mere limit."""
        return self.schedule in ("linear", "cosine")

    def tokens_at_once(self, found: int = 0) -> int:
        """Of the larger side, in a micro-batch as planned: R-Drop sends each through the model twice.

        `found` is what memory holds, where micro_batch_tokens is "auto".
        """
        tokens = found if self.micro_batch_tokens == "auto" else self.micro_batch_tokens
        return max(1, tokens // 2) if self.r_drop else tokens

    @field_validator("report_to", mode="before")
    @classmethod
    def _one_tracker_needs_no_list(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fits_together(self) -> TrainConfig:
        if self.falls_to_an_end and not self.max_steps:
            raise ValueError(
                f'schedule "{self.schedule}" falls until max_steps; set max_steps above 0 '
                "(an epoch has about as many updates as its target tokens / batch_tokens)"
            )
        if not (self.max_steps or self.max_epochs or self.max_tokens or self.max_minutes):
            raise ValueError(
                "max_steps, max_epochs, max_tokens and max_minutes are all 0; set one, or training never ends"
            )
        if isinstance(self.learning_rate, float) and self.min_learning_rate > self.learning_rate:
            raise ValueError(
                f"min_learning_rate {self.min_learning_rate:g} is above learning_rate {self.learning_rate:g}; lower it"
            )
        if self.optimizer == "adam" and self.weight_decay:
            raise ValueError(
                f'optimizer "adam" has no weight_decay ({self.weight_decay:g}); choose "adamw", or set it 0'
            )
        if self.optimizer in ("sgd", "adafactor") and self.learning_rate == "paper":
            usual = {"sgd": "0.1", "adafactor": "0.01"}[self.optimizer]
            raise ValueError(
                f'learning_rate "paper" is for Adam and its like; for "{self.optimizer}" set a number, such as {usual}'
            )
        if self.shard and self.optimizer in ("adafactor", "muon"):
            raise ValueError(
                f'optimizer "{self.optimizer}" needs whole matrices, of which a process has a share with shard; '
                'choose "adamw", or set shard false'
            )
        if self.shard and self.compile:
            raise ValueError("shard and compile do not go together; set one of them false")
        key, kept = ("keep", self.keep) if self.average_of == "last" else ("keep_best", self.keep_best)
        if self.average > kept:
            raise ValueError(f"average {self.average} is more than {key} {kept}; raise {key} to {self.average}")
        return self


class DecodeConfig(_Section):
    beam: int = Field(default=5, ge=1, le=1000, description="hypotheses kept for each sentence; 1: greedy")
    length_penalty: Literal["gnmt", "none"] = Field(
        default="gnmt", description="divide log-probability by ((5 + length) / 6)^alpha, or by nothing"
    )
    length_penalty_alpha: float = Field(default=0.6, ge=0, le=10, description="higher favours longer translations")
    max_length_ratio: float = Field(
        default=2.0,
        ge=0,
        le=100,
        description="a translation has at most this times the source's tokens, plus max_length_offset",
    )
    max_length_offset: int = Field(
        default=50, ge=1, le=10_000, description="see max_length_ratio; the paper has ratio 1 and offset 50"
    )


class RunConfig(_Section):
    seed: int = Field(default=1, ge=0, lt=2**31, description="of initial weights, order of batches and dropout")
    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    decode: DecodeConfig = DecodeConfig()

    @model_validator(mode="after")
    def _passes_differ(self) -> RunConfig:
        model = self.model
        if self.train.r_drop and not (model.dropout or model.source_word_dropout or model.target_word_dropout):
            raise ValueError(
                f"train.r_drop {self.train.r_drop:g} compares passes that differ by dropout, but model.dropout is 0; "
                "raise that, or set r_drop to 0"
            )
        return self

    @model_validator(mode="after")
    def _can_tell_the_best(self) -> RunConfig:
        if not self.data.valid_source:
            for key, needs in {
                "patience": self.train.patience > 0,
                "average_of": self.train.average > 1 and self.train.average_of == "best",
            }.items():
                if needs:
                    raise ValueError(f"train.{key} needs validations; set data.valid_source and data.valid_target")
        return self


# what may differ when a stopped run goes on: it touches neither the updates already made nor the order of those to come
# (data.train is another name for the same pairs, or is refused for its fingerprint; see run_folder.py for max_steps)
MAY_CHANGE = {
    "data.train", "data.valid_source", "data.valid_target",
    "train.max_steps", "train.max_epochs", "train.max_tokens", "train.max_minutes", "train.patience", "train.best_by",
    "train.shard", "train.compile", "train.max_skipped", "train.max_rewinds", "train.samples", "train.report_to",
    "train.log_every", "train.validate_every", "train.save_every",
    "train.keep", "train.keep_best", "train.average", "train.average_of",
    "decode.beam", "decode.length_penalty", "decode.length_penalty_alpha",
    "decode.max_length_ratio", "decode.max_length_offset",
}  # fmt: skip
