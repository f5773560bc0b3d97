"""Every setting of a recipe, with its default.

A recipe is a TOML file whose tables are the dataclasses below. Those of [model] belong to the
architectures (nmt_cli.recipe.architecture).
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

from nmt_cli.recipe.architecture import DEFAULT, ModelConfig, architecture, bounded, one_of
from nmt_cli.recipe.decoding import DecodingConfig


@dataclass(frozen=True)
class DataConfig:
    """The [data] table: where the text comes from and which pairs are kept.

    A corpus is written as ``tfds:NAME:SPLIT`` (TensorFlow Datasets), ``phrasebook:SPLIT``
    (shipped with nmt), ``FILE.tsv``, or ``PREFIX`` for the two files ``PREFIX.pt`` and
    ``PREFIX.en`` (the suffixes are the two languages).

    Synthetic pairs are never held out. Their tag is one vocabulary entry, which translations never
    contain (tagged back-translation, Caswell et al. 2019, https://arxiv.org/abs/1906.06442).
    """

    source: str = "pt"
    target: str = "en"
    root: str = ""  # relative paths below start here; empty: the current folder
    train: tuple[str, ...] = ()
    # How often an epoch draws each pair of a corpus, by its name; others once.
    weights: dict[str, float] = field(default_factory=dict)
    # Licence and origin of a corpus, by its name, for the cards of exported models.
    sources: dict[str, str] = field(default_factory=dict)
    synthetic: tuple[str, ...] = ()  # corpora from nmt backtranslate or nmt distill
    synthetic_tag: str = ""  # prepended to synthetic source lines, e.g. <BT>; empty: none
    synthetic_ratio: float = bounded(0.0, 0.0)  # synthetic pairs per real pair; 0: all
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    tsv_columns: tuple[str, ...] = ()  # languages of a TSV's columns; empty: source, target
    tfds_dir: str = ""  # empty: the default of TensorFlow Datasets
    max_characters: int = bounded(1000, 1)  # of either side
    max_ratio: float = bounded(4.0, 1.0)  # of the two sides' character counts
    max_tokens: int = bounded(128, 2)  # of either side, START and END included
    # Shares of the training pairs, for sources that are not written like the training text.
    lowercase: float = bounded(0.0, 0.0, 1.0)  # the source
    uppercase: float = bounded(0.0, 0.0, 1.0)  # both sides
    unpunctuated: float = bounded(0.0, 0.0, 1.0)  # both sides, without the mark that ends them
    symbols: float = bounded(0.0, 0.0, 1.0)  # both sides, with emoji, symbols or foreign words


@dataclass(frozen=True)
class TokenizerConfig:
    """The [tokenizer] table: how text becomes ids."""

    kind: str = one_of("sentencepiece", "wordpiece")
    model: str = one_of("unigram", "bpe")  # SentencePiece only
    vocab_size: int = bounded(8000, 8, 1_000_000)
    joint: bool = True  # one vocabulary for both languages
    byte_fallback: bool = True  # SentencePiece only
    character_coverage: float = bounded(0.9999, 0.5, 1.0)  # SentencePiece only
    lowercase: bool = False  # WordPiece only


@dataclass(frozen=True)
class TrainingConfig:
    """The [training] table: how the model is trained."""

    batch_tokens: int = bounded(4096, 0)  # of the longer side, padding included; 0: what fits
    accumulate: int = bounded(1, 1)  # batches per optimizer step
    max_steps: int = bounded(20_000, 1)
    max_epochs: int = bounded(0, 0)  # passes over the training pairs; 0: no limit
    max_minutes: float = bounded(0.0, 0.0)  # 0: no limit; resumed time counts
    optimizer: str = one_of("adam", "adamw", "nadam", "muon")
    schedule: str = one_of("inverse-sqrt", "cosine", "linear")
    warmup_steps: int = bounded(4000, 1)
    learning_rate: float = bounded(1.0, 0.0)  # factor on the paper's schedule
    beta_1: float = bounded(0.9, 0.0, 0.999999)
    beta_2: float = bounded(0.98, 0.0, 0.999999)
    adam_epsilon: float = bounded(1e-9, 1e-16, 1e-2)
    weight_decay: float = bounded(0.01, 0.0, 1.0)  # AdamW and Muon only
    clip_norm: float = bounded(0.0, 0.0)  # global norm of the gradients; 0: no clipping
    label_smoothing: float = bounded(0.1, 0.0, 0.9)
    r_drop: float = bounded(0.0, 0.0)  # weight of the KL divergence of two passes; 0: one pass
    sample_subwords: float = bounded(0.0, 0.0, 1.0)  # unigram: alpha; BPE: share of skipped merges
    curriculum: int = bounded(0, 0)  # epochs until all long sentences are included
    ema: float = bounded(0.0, 0.0, 0.999999)  # decay of the weights' moving average; 0: none
    average: int = bounded(0, 0)  # last checkpoints averaged at the end; 0: none
    precision: str = one_of("float32", "mixed_bfloat16", "mixed_float16")
    checkpoint_every: int = bounded(0, 0)  # steps; 0: only at validations
    keep: int = bounded(3, 1)  # newest checkpoints kept
    validate_every: int = bounded(1000, 1)  # steps
    validate_sentences: int = bounded(500, 1)  # translated at each validation
    metric: str = one_of("bleu", "chrf", "loss")  # that selects the best checkpoint
    patience: int = bounded(0, 0)  # validations without improvement before it stops; 0: no limit
    log_every: int = bounded(50, 1)  # steps

    @property
    def copies(self) -> int:
        """Rows of a batch per sentence pair."""
        return 2 if self.r_drop else 1


@dataclass(frozen=True)
class Recipe:
    """Everything needed to train and run one translation system."""

    name: str = "model"
    seed: int = bounded(1, 0)
    data: DataConfig = field(default_factory=DataConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    model: ModelConfig = field(default_factory=lambda: architecture(DEFAULT).config())
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    @property
    def label(self) -> str:
        """The name of the system's folders, e.g. ``docs-pt-en``; ``pt-en`` without a name."""
        parts = self.name, self.data.source, self.data.target
        return "-".join(each for each in parts if each)

    def dump(self) -> str:
        """Return the recipe as TOML, with every value."""
        lines: list[str] = []
        for key, value in asdict(self).items():
            if isinstance(value, dict):
                lines += ["", f"[{key}]"]
                lines += [f"{name} = {_toml(each)}" for name, each in value.items()]
            else:
                lines.append(f"{key} = {_toml(value)}")
        return "\n".join(lines) + "\n"


def fingerprint(*parts: Any) -> str:
    """Return the SHA-256 (hex) of dataclasses and plain values, to name folders by content."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=asdict).encode()).hexdigest()


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, str):
        # A JSON string is a TOML basic string, except for DEL, which TOML also escapes.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)
