"""Every setting of a recipe, with its default.

A recipe is a TOML file whose tables are the dataclasses below; [model] is in nmt_cli.recipe.model.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from msgspec import Meta

from nmt_cli.options import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Share,
    option,
)
from nmt_cli.recipe.model import DecodingConfig, ModelConfig, TransformerConfig

Decay = Annotated[float, Meta(ge=0, le=0.999999)]


@dataclass(frozen=True)
class DataConfig:
    """The [data] table: where the text comes from and which pairs are kept.

    A corpus is written as ``tfds:NAME:SPLIT`` (TensorFlow Datasets), ``phrasebook:SPLIT``
    (shipped with nmt), ``FILE.tsv``, or ``PREFIX`` for the two files ``PREFIX.pt`` and
    ``PREFIX.en`` (the suffixes are the two languages).
    """

    source: str = option("pt", "Source language, as in file names and data sets.")
    target: str = option("en", "Target language.")
    root: str = option("", "Folder of the corpora; empty: the current folder.")
    train: tuple[str, ...] = option((), "Corpora to train on.")
    weights: dict[str, PositiveFloat] = option({}, "How often an epoch draws a pair, by corpus.")
    sources: dict[str, str] = option({}, "Licence and origin, by corpus; for model cards.")
    synthetic: tuple[str, ...] = option((), "Corpora from nmt backtranslate or nmt distill.")
    # Tagged back-translation, Caswell et al. 2019, https://arxiv.org/abs/1906.06442. The tag is
    # one vocabulary entry, which translations never contain.
    synthetic_tag: str = option("", "Precedes synthetic sources, e.g. <BT>; empty: no tag.")
    synthetic_ratio: NonNegativeFloat = option(0.0, "Synthetic pairs per real pair; 0: all.")
    dev: tuple[str, ...] = option((), "Corpora for validations; empty: held-out training pairs.")
    test: tuple[str, ...] = option((), "Corpora for nmt evaluate.")
    tsv_columns: tuple[str, ...] = option((), "Languages of TSV columns; empty: source, target.")
    tfds_dir: str = option("", "Folder of TensorFlow Datasets; empty: its default.")
    language_check: bool = option(True, "Warn if a side is plainly in another language.")
    max_characters: PositiveInt = option(1000, "Drop pairs with a longer side.")
    max_ratio: Annotated[float, Meta(ge=1)] = option(
        4.0, "Drop pairs with a larger ratio of the sides' character counts."
    )
    max_tokens: Annotated[int, Meta(ge=2)] = option(128, "Maximum tokens of a side, with its end.")
    over_max_tokens: Literal["drop", "trim"] = option(
        "drop", "Drop pairs with more tokens on a side, or trim their sides to max_tokens."
    )
    # Shares of the training pairs, for sources that are not written like the training text.
    lowercase: Share = option(0.0, "Share of pairs whose source is lowercased.")
    uppercase: Share = option(0.0, "Share of pairs whose sides are uppercased.")
    unpunctuated: Share = option(0.0, "Share of pairs without final punctuation.")
    symbols: Share = option(0.0, "Share of pairs with added emoji, symbols or foreign words.")


@dataclass(frozen=True)
class TokenizerConfig:
    """The [tokenizer] table: how text becomes ids."""

    kind: Literal["sentencepiece", "wordpiece", "character"] = option(
        "sentencepiece", "Kind of tokenizer; character: one token per character."
    )
    model: Literal["unigram", "bpe"] = option("unigram", "SentencePiece: its algorithm.")
    vocab_size: Annotated[int, Meta(ge=8, le=1_000_000)] = option(
        8000, "Maximum number of vocabulary entries."
    )
    joint: bool = option(True, "One vocabulary for both languages.")
    byte_fallback: bool = option(True, "Not WordPiece: bytes for unknown characters.")
    character_coverage: Annotated[float, Meta(ge=0.5, le=1)] = option(
        0.9999, "Not WordPiece: share of characters in the text that have a piece."
    )
    lowercase: bool = option(False, "WordPiece: ignore case and accents.")


@dataclass(frozen=True)
class TrainingConfig:
    """The [training] table: how the model is trained."""

    batch_tokens: NonNegativeInt = option(4096, "Of the wider side, with padding; 0: what fits.")
    accumulate: PositiveInt = option(1, "Batches per optimizer step.")
    max_steps: PositiveInt = option(20_000, "Optimizer steps.")
    max_epochs: NonNegativeInt = option(0, "Passes over the training pairs; 0: no limit.")
    max_minutes: NonNegativeFloat = option(0.0, "Minutes of training, in all; 0: no limit.")
    optimizer: Literal["adam", "adamw", "nadam", "muon"] = option("adam", "Optimizer.")
    schedule: Literal["inverse-sqrt", "cosine", "linear", "constant"] = option(
        "inverse-sqrt", "Decay of the learning rate after the warm-up."
    )
    warmup_steps: PositiveInt = option(4000, "Steps until the learning rate is largest.")
    learning_rate: NonNegativeFloat = option(
        1.0, "Factor of d_model^-0.5 * warmup_steps^-0.5, the largest learning rate."
    )
    beta_1: Decay = option(0.9, "Decay of the gradients' mean.")
    beta_2: Decay = option(0.98, "Decay of the gradients' variance.")
    adam_epsilon: Annotated[float, Meta(ge=1e-16, le=1e-2)] = option(1e-9, "Epsilon of Adam.")
    weight_decay: Share = option(0.01, "Weight decay of adamw and muon.")
    clip_norm: NonNegativeFloat = option(0.0, "Maximum norm of the gradients; 0: none.")
    label_smoothing: Annotated[float, Meta(ge=0, le=0.9)] = option(
        0.1, "Probability mass spread over the vocabulary."
    )
    r_drop: NonNegativeFloat = option(0.0, "R-Drop: weight of the divergence; 0: one pass.")
    sample_subwords: Share = option(0.0, "unigram: alpha; bpe: share of skipped merges; 0: none.")
    curriculum: NonNegativeInt = option(0, "Epochs until all long sentences are included.")
    ema: Decay = option(0.0, "Decay of the weights' moving average; 0: none.")
    average: NonNegativeInt = option(0, "Last checkpoints to average at the end; 0: none.")
    precision: Literal["float32", "mixed_bfloat16", "mixed_float16"] = option(
        "float32", "Precision of products; weights stay float32."
    )
    checkpoint_every: NonNegativeInt = option(0, "Steps between checkpoints; 0: at validations.")
    keep: PositiveInt = option(3, "Newest checkpoints to keep.")
    validate_every: PositiveInt = option(1000, "Steps between validations.")
    validate_sentences: PositiveInt = option(500, "Sentences translated at each validation.")
    metric: Literal["bleu", "chrf", "loss"] = option("bleu", "Selects the best checkpoint.")
    patience: NonNegativeInt = option(0, "Validations without improvement; 0: no limit.")
    log_every: PositiveInt = option(50, "Steps between log entries.")

    @property
    def copies(self) -> int:
        """Rows of a batch per sentence pair."""
        return 2 if self.r_drop else 1

    @property
    def schedule_ends(self) -> bool:
        """Whether the learning rate falls to zero at the last step."""
        return self.schedule in ("cosine", "linear")


@dataclass(frozen=True)
class Recipe:
    """Everything needed to train and run one translation system."""

    name: str = option("model", "Name of the system; its folders are NAME-SOURCE-TARGET.")
    seed: NonNegativeInt = option(1, "Seed of all randomness.")
    data: DataConfig = field(default_factory=DataConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    model: ModelConfig = field(default_factory=TransformerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    @property
    def label(self) -> str:
        """The name of the system's folders, e.g. ``docs-pt-en``; ``pt-en`` without a name."""
        return "-".join(filter(None, (self.name, self.data.source, self.data.target)))

    def dump(self) -> str:
        """Return the recipe as TOML, with every value."""
        lines: list[str] = []
        for key, value in asdict(self).items():
            if isinstance(value, dict):
                lines += ["", f"[{key}]"]
                lines += [f"{name} = {_toml(setting)}" for name, setting in value.items()]
            else:
                lines.append(f"{key} = {_toml(value)}")
        return "\n".join(lines) + "\n"


def fingerprint(*parts: Any) -> str:
    """Return the SHA-256 (hex) of dataclasses and plain values, to name folders by content."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=asdict).encode()).hexdigest()


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        # A JSON string is a TOML basic string, except for DEL, which TOML also escapes.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)
