"""Recipes: every setting of a model and its training, each default written once, here.

A recipe is a TOML file whose tables are the dataclasses below. Unknown keys are refused
with the nearest known one; values are checked when the recipe is made, so that nothing
later has to.
"""

import dataclasses
import difflib
import hashlib
import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from nmt_cli.errors import NmtError

Section = TypeVar("Section")


def bounded(default: Any, minimum: float, maximum: float = float("inf")) -> Any:
    """A dataclass field for a number in [minimum, maximum]."""
    return field(default=default, metadata={"minimum": minimum, "maximum": maximum})


def one_of(default: str, *others: str) -> Any:
    """A dataclass field for one of a few words."""
    return field(default=default, metadata={"options": (default, *others)})


@dataclass(frozen=True)
class DataConfig:
    """Where the text comes from and which pairs are kept.

    A corpus is written as ``tfds:NAME:SPLIT`` (TensorFlow Datasets), ``phrasebook:SPLIT``
    (the project's own grammar), ``FILE.tsv``, or ``PREFIX`` for the two files ``PREFIX.pt``
    and ``PREFIX.en`` (the suffixes are the two languages).

    Synthetic pairs (``nmt backtranslate``, ``nmt distill``) are cleaned like real ones, but are
    never held out. Their tag is one vocabulary entry that no translation shows (tagged
    back-translation, Caswell et al. 2019, https://arxiv.org/abs/1906.06442).
    """

    source: str = "pt"
    target: str = "en"
    root: str = ""  # relative paths below start here; empty: the current folder
    train: tuple[str, ...] = ()
    synthetic: tuple[str, ...] = ()  # of nmt backtranslate or distill, beside data.train
    synthetic_tag: str = ""  # put before each synthetic source line, e.g. <BT>; empty: none
    synthetic_ratio: float = bounded(0.0, 0.0)  # synthetic pairs for a real one; 0: all
    dev: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    tsv_columns: tuple[str, ...] = ()  # languages of a TSV's columns; empty: source, target
    tfds_dir: str = ""  # empty: TensorFlow Datasets' own default
    max_characters: int = bounded(1000, 1)  # of either side
    max_ratio: float = bounded(4.0, 1.0)  # of the two sides' character counts
    max_tokens: int = bounded(128, 2)  # of either side, START and END included


@dataclass(frozen=True)
class TokenizerConfig:
    """How text becomes ids."""

    kind: str = one_of("sentencepiece", "wordpiece")
    model: str = one_of("unigram", "bpe")  # SentencePiece alone
    vocab_size: int = bounded(8000, 8, 1_000_000)
    joint: bool = True  # one vocabulary for both languages
    byte_fallback: bool = True  # SentencePiece alone
    character_coverage: float = bounded(0.9999, 0.5, 1.0)  # SentencePiece alone
    lowercase: bool = False  # WordPiece alone


@dataclass(frozen=True)
class ModelConfig:
    """The shape of the Transformer (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762)."""

    d_model: int = bounded(256, 2)
    feed_forward: int = bounded(1024, 1)
    heads: int = bounded(8, 1)
    encoder_layers: int = bounded(4, 1)
    decoder_layers: int = bounded(4, 1)
    dropout: float = bounded(0.1, 0.0, 0.95)  # of sub-layers' outputs and of embeddings
    attention_dropout: float = bounded(0.0, 0.0, 0.95)  # of attention weights
    activation_dropout: float = bounded(0.0, 0.0, 0.95)  # behind the feed-forward's ReLU
    word_dropout: float = bounded(0.0, 0.0, 0.95)  # of whole tokens, both sides
    layer_drop: float = bounded(0.0, 0.0, 0.95)  # of whole layers
    norm: str = one_of("pre", "post")
    # Which matrices are one: source and target embeddings, target embedding and softmax.
    embeddings: str = one_of("all", "source-target", "target-softmax", "none")
    epsilon: float = bounded(1e-6, 1e-12, 1e-2)  # of the layer norms


@dataclass(frozen=True)
class TrainingConfig:
    """How the weights are found."""

    batch_tokens: int = bounded(4096, 0)  # of the wider side, padding included; 0: what fits
    accumulate: int = bounded(1, 1)  # batches whose gradients make one step
    max_steps: int = bounded(20_000, 1)
    max_minutes: float = bounded(0.0, 0.0)  # 0: no limit; resumed time counts
    optimizer: str = one_of("adam", "adamw", "nadam")
    schedule: str = one_of("inverse-sqrt", "cosine", "linear")
    warmup_steps: int = bounded(4000, 1)
    learning_rate: float = bounded(1.0, 0.0)  # factor on the paper's schedule
    beta_1: float = bounded(0.9, 0.0, 0.999999)
    beta_2: float = bounded(0.98, 0.0, 0.999999)
    adam_epsilon: float = bounded(1e-9, 1e-16, 1e-2)
    weight_decay: float = bounded(0.01, 0.0, 1.0)  # AdamW alone
    clip_norm: float = bounded(0.0, 0.0)  # of all gradients together; 0: no clipping
    label_smoothing: float = bounded(0.1, 0.0, 0.9)
    r_drop: float = bounded(0.0, 0.0)  # weight of the divergence of two passes; 0: one pass
    sample_subwords: float = bounded(0.0, 0.0, 1.0)  # unigram: alpha; BPE: share of merges left out
    curriculum: int = bounded(0, 0)  # epochs until long sentences are all in
    ema: float = bounded(0.0, 0.0, 0.999999)  # momentum of the weights' moving average; 0: none
    average: int = bounded(0, 0)  # newest checkpoints averaged at the end; 0: none
    precision: str = one_of("float32", "mixed_bfloat16", "mixed_float16")
    checkpoint_every: int = bounded(0, 0)  # steps; 0: at validations alone
    keep: int = bounded(3, 1)  # newest checkpoints kept
    validate_every: int = bounded(1000, 1)  # steps
    validate_sentences: int = bounded(500, 1)  # translated at each validation
    metric: str = one_of("bleu", "chrf", "loss")  # by which the best checkpoint is chosen
    patience: int = bounded(0, 0)  # validations without a better score before the end; 0: any
    log_every: int = bounded(50, 1)  # steps

    @property
    def copies(self) -> int:
        """Rows that each pair takes in a batch."""
        return 2 if self.r_drop else 1


@dataclass(frozen=True)
class DecodingConfig:
    """How translations are searched for."""

    beam_size: int = bounded(4, 1, 256)
    length_penalty: float = bounded(0.6, 0.0, 10.0)  # alpha of Wu et al. 2016, equation 14
    max_length: int = bounded(256, 1)  # tokens of a translation, END included
    length_ratio: float = bounded(1.5, 0.1)  # translation: at most ratio * source + extra
    length_extra: int = bounded(10, 1)
    max_source: int = bounded(128, 2)  # longer sources are split at sentence ends


@dataclass(frozen=True)
class Recipe:
    """One system: its data, its model, its training, its search."""

    name: str = "model"
    seed: int = bounded(1, 0)
    data: DataConfig = field(default_factory=DataConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    decoding: DecodingConfig = field(default_factory=DecodingConfig)

    @property
    def label(self) -> str:
        """The name of this system's folders, e.g. ``docs-pt-en``."""
        return f"{self.name}-{self.data.source}-{self.data.target}"

    def dump(self) -> str:
        """The whole recipe as TOML, every value written out."""
        lines = [f"{key} = {_toml(value)}" for key, value in _scalars(self)]
        for section in dataclasses.fields(self):
            value = getattr(self, section.name)
            if dataclasses.is_dataclass(value):
                lines += ["", f"[{section.name}]"]
                lines += [f"{key} = {_toml(item)}" for key, item in _scalars(value)]
        return "\n".join(lines) + "\n"


def load_recipe(path: Path, overrides: Iterable[str] = ()) -> Recipe:
    """Read a recipe file and apply ``KEY=VALUE`` overrides such as ``model.heads=4``.

    Raises:
        NmtError: no such file, not TOML, an unknown key, a value of the wrong type or
            out of range, or keys that contradict each other.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NmtError(f"{path}: no such recipe", "see the recipes/ folder") from None
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise NmtError(f"{path}: not UTF-8 text", "save the recipe as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise NmtError(f"{path}: not valid TOML: {error}") from None
    for override in overrides:
        _apply(tree, override)
    return recipe_from(tree, where=str(path))


def recipe_from(tree: Mapping[str, Any], where: str) -> Recipe:
    """Make a checked recipe of a parsed TOML tree; ``where`` names its origin in errors."""
    recipe = _section(Recipe, tree, where, prefix="")
    _check_together(recipe, where)
    return recipe


def section_from(kind: type[Section], tree: Mapping[str, Any], where: str) -> Section:
    """Make one checked table of a recipe, e.g. a bundle's copy of [decoding]."""
    return _section(kind, tree, where, prefix="")


def fingerprint(*parts: Any) -> str:
    """A SHA-256 (hex) of dataclasses and plain values, for content-addressed folders."""
    plain = [dataclasses.asdict(part) if dataclasses.is_dataclass(part) else part for part in parts]  # type: ignore[arg-type]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _section(kind: type[Section], tree: Mapping[str, Any], where: str, prefix: str) -> Section:
    """Build one dataclass from its table, checking keys, types and ranges."""
    known = {item.name: item for item in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in tree.items():
        if key not in known:
            raise NmtError(f"{where}: unknown key '{prefix}{key}'", _suggestion(key, prefix, known))
        wanted: Any = known[key].type
        if dataclasses.is_dataclass(wanted):
            if not isinstance(value, Mapping):
                raise NmtError(f"{where}: '{key}' must be a table", f"write [{key}]")
            values[key] = _section(wanted, value, where, f"{key}.")  # type: ignore[arg-type]
        else:
            values[key] = _value(known[key], value, f"{where}: {prefix}{key}")
    return kind(**values)


def _value(item: "dataclasses.Field[Any]", value: Any, where: str) -> Any:
    wanted: Any = item.type
    if get_origin(wanted) is tuple:
        element = get_args(wanted)[0]
        items = [value] if isinstance(value, element) else value
        if not isinstance(items, list) or not all(isinstance(each, element) for each in items):
            raise NmtError(f"{where} must be a list of strings, not {value!r}")
        return tuple(items)
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted:
        raise NmtError(f"{where} must be {_NOUNS[wanted]}, not {value!r}")
    options = item.metadata.get("options")
    if options and value not in options:
        near = difflib.get_close_matches(value, options, 1)
        hint = f"did you mean '{near[0]}'?" if near else "choose one of " + ", ".join(options)
        raise NmtError(f"{where} must be one of {', '.join(options)}, not '{value}'", hint)
    low, high = item.metadata.get("minimum"), item.metadata.get("maximum")
    if low is not None and not (low <= value <= high and math.isfinite(value)):
        bounds = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise NmtError(f"{where} must be {bounds}, not {value!r}")
    return value


_NOUNS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def _check_together(recipe: Recipe, where: str) -> None:
    model, data = recipe.model, recipe.data
    if model.d_model % model.heads:
        raise NmtError(
            f"{where}: model.d_model = {model.d_model} is not divisible by "
            f"model.heads = {model.heads}",
            f"try model.heads={_divisor_near(model.d_model, model.heads)}",
        )
    if model.d_model % 2:
        raise NmtError(f"{where}: model.d_model = {model.d_model} must be even")
    if model.embeddings in ("all", "source-target") and not recipe.tokenizer.joint:
        raise NmtError(
            f"{where}: model.embeddings = '{model.embeddings}' needs one joint vocabulary",
            "set tokenizer.joint=true or model.embeddings=target-softmax",
        )
    if data.source == data.target:
        raise NmtError(f"{where}: data.source and data.target are both '{data.source}'")
    _check_tag(recipe, where)
    if not recipe.name or Path(recipe.label).name != recipe.label:
        raise NmtError(f"{where}: name, data.source and data.target must make a folder name")
    _check_training(recipe, where)


def _check_training(recipe: Recipe, where: str) -> None:
    training, longest = recipe.training, recipe.data.max_tokens
    if 0 < training.batch_tokens < training.copies * longest:
        raise NmtError(
            f"{where}: training.batch_tokens = {training.batch_tokens} is smaller than "
            f"{'two copies (training.r_drop) of ' if training.r_drop else ''}"
            f"one sentence of data.max_tokens = {longest}",
            "raise the first or lower the second",
        )
    if training.schedule != "inverse-sqrt" and training.warmup_steps >= training.max_steps:
        raise NmtError(
            f"{where}: training.warmup_steps = {training.warmup_steps} leaves nothing of "
            f"training.max_steps = {training.max_steps} for the {training.schedule} schedule",
            "lower the first or raise the second",
        )
    if training.average > training.keep:
        raise NmtError(
            f"{where}: training.average = {training.average} needs as many checkpoints, and "
            f"training.keep = {training.keep}",
            f"set training.keep={training.average}",
        )
    if training.sample_subwords and recipe.tokenizer.kind != "sentencepiece":
        raise NmtError(
            f"{where}: training.sample_subwords needs tokenizer.kind = 'sentencepiece', not "
            f"'{recipe.tokenizer.kind}'",
            "set training.sample_subwords=0 or change the tokenizer",
        )


def _check_tag(recipe: Recipe, where: str) -> None:
    """A tag is one vocabulary entry that neither normalization nor ordinary text ever makes."""
    tag, kind = recipe.data.synthetic_tag, recipe.tokenizer.kind
    if tag and not re.fullmatch("<[!-~]+>", tag):
        raise NmtError(
            f"{where}: data.synthetic_tag must be ASCII between < and >, without white space, "
            f"not {tag!r}",
            "e.g. data.synthetic_tag='<BT>'",
        )
    if tag and kind != "sentencepiece":
        raise NmtError(
            f"{where}: data.synthetic_tag needs tokenizer.kind = 'sentencepiece', not '{kind}'",
            "change tokenizer.kind, or leave data.synthetic_tag empty",
        )


def _divisor_near(number: int, wanted: int) -> int:
    divisors = [each for each in range(1, number + 1) if number % each == 0]
    return min(divisors, key=lambda each: abs(each - wanted))


def _suggestion(key: str, prefix: str, known: Mapping[str, Any]) -> str:
    # The right key in the wrong table comes before a similar key in this one.
    for section in dataclasses.fields(Recipe):
        if key == section.name:
            return f"did you mean '{key}' outside of any table?"
        if key in getattr(section.type, "__dataclass_fields__", {}):
            return f"did you mean '{section.name}.{key}'?"
    near = difflib.get_close_matches(key, known, 1)
    if near:
        return f"did you mean '{prefix}{near[0]}'?"
    return "known keys: " + ", ".join(sorted(known))


def _apply(tree: dict[str, Any], override: str) -> None:
    """Put one ``table.key=value`` into a parsed TOML tree; the value is TOML or a bare word."""
    key, separator, text = override.partition("=")
    if not separator or not key.strip():
        raise NmtError(f"--set {override}: not of the form KEY=VALUE", "e.g. --set model.heads=4")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *tables, last = key.strip().split(".")
    for table in tables:
        tree = tree.setdefault(table, {})
        if not isinstance(tree, dict):
            raise NmtError(f"--set {override}: '{table}' is not a table")
    tree[last] = value


def _scalars(section: Any) -> list[tuple[str, Any]]:
    pairs = [(each.name, getattr(section, each.name)) for each in dataclasses.fields(section)]
    return [(key, value) for key, value in pairs if not dataclasses.is_dataclass(value)]


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    if isinstance(value, str):
        # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped too.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)
