"""Read recipes from TOML: known keys, types, ranges, and keys that contradict each other."""

import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from nmt_cli.errors import NmtError
from nmt_cli.files import read_limited
from nmt_cli.recipe.architecture import ARCHITECTURES, DEFAULT, Fault, ModelConfig, architecture

# Reading a bundle's manifest needs neither recipes, nor TOML, nor suggestions for wrong keys: they
# are imported where they are used.
if TYPE_CHECKING:
    from nmt_cli.recipe.config import Recipe

Section = TypeVar("Section")

_NOUNS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}
_PLURALS = {int: "whole numbers", str: "strings"}


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> "Recipe":
    """Read a recipe file and apply ``KEY=VALUE`` overrides such as ``model.heads=4``.

    Raises:
        NmtError: the file, or one that it extends, is missing or is not TOML; a key is unknown, a
            value has the wrong type or is out of range, or keys contradict each other.
    """
    tree = _read(path)
    for override in overrides:
        _apply(tree, override)
    given = "".join(f" --set {each}" for each in overrides)
    return recipe_from(tree, where=f"{path} with{given}" if given else str(path))


def _read(path: Path, extended_by: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The tree of a recipe file, with the keys of the recipe that it extends."""
    import tomllib

    try:
        tree = tomllib.loads(read_limited(path).decode("utf-8"))
    except FileNotFoundError:
        by = f"{extended_by[-1]}: extends " if extended_by else ""
        raise NmtError(f"{by}{path}: no such recipe", "see the recipes/ folder") from None
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise NmtError(f"{path}: not valid TOML in UTF-8: {error}") from None
    if "extends" not in tree:
        return tree
    base, chain = tree.pop("extends"), (*extended_by, path)
    if not isinstance(base, str) or (path.parent / base).resolve() in map(Path.resolve, chain):
        raise NmtError(
            f"{path}: extends must be the path of another recipe, not {base!r}",
            "paths start at the folder of the recipe, e.g. extends = 'base.toml'",
        )
    return _merged(_read(path.parent / base, chain), tree)


def _merged(base: dict[str, Any], tree: dict[str, Any]) -> dict[str, Any]:
    """A recipe's keys over those of the one that it extends."""
    merged = dict(base)
    for key, value in tree.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merged[key] | value if both else value
    # Licences add up: the text of a second stage has two origins.
    known, new = (each.get("data", {}) for each in (base, tree))
    both = isinstance(known, dict) and isinstance(new, dict)
    if both and isinstance(known.get("sources"), dict) and isinstance(new.get("sources"), dict):
        merged["data"]["sources"] = known["sources"] | new["sources"]
    return merged


def recipe_from(tree: Mapping[str, Any], where: str) -> "Recipe":
    """Check a parsed TOML tree and return its recipe; ``where`` names the file in errors.

    Raises:
        NmtError: as :func:`load_recipe`.
    """
    from nmt_cli.recipe.config import Recipe

    recipe = section_from(Recipe, tree, where)
    for problem, hint in _conflicts(recipe):
        raise NmtError(f"{where}: {problem}", hint)
    return recipe


def section_from(
    kind: type[Section], tree: Mapping[str, Any], where: str, prefix: str = ""
) -> Section:
    """Build one dataclass from its table, e.g. a bundle's copy of [decoding].

    Raises:
        NmtError: a key is unknown, or its value has the wrong type or is out of range.
    """
    table = kind
    if kind is ModelConfig:
        name = tree.get("architecture", DEFAULT)
        _check_option(name, ARCHITECTURES.keys(), f"{where}: {prefix}architecture")
        kind = architecture(name).config
    known = _keys(kind)
    if not tree.keys() <= known.keys():
        known = _keys(table) | known
    values: dict[str, Any] = {}
    for key, value in tree.items():
        if key not in known:
            raise NmtError(f"{where}: unknown key '{prefix}{key}'", _suggestion(key, prefix, known))
        wanted: Any = known[key].type
        if not dataclasses.is_dataclass(wanted):
            values[key] = _checked(known[key], value, f"{where}: {prefix}{key}")
        elif isinstance(value, Mapping):
            values[key] = section_from(wanted, value, where, f"{key}.")  # type: ignore[arg-type]
        else:
            raise NmtError(f"{where}: '{key}' must be a table", f"write [{key}]")
    # A recipe may carry the keys of other architectures, which do not apply.
    own = {item.name for item in dataclasses.fields(kind) if item.init}  # type: ignore[arg-type]
    return kind(**{key: value for key, value in values.items() if key in own})


def _keys(kind: Any) -> "dict[str, dataclasses.Field[Any]]":
    """The keys of a table by name; of [model], those of every architecture."""
    kinds = [kind]
    if kind is ModelConfig:
        kinds = [architecture(name).config for name in ARCHITECTURES]
    return {item.name: item for each in kinds for item in dataclasses.fields(each)}


def _checked(item: "dataclasses.Field[Any]", value: Any, where: str) -> Any:
    """A value from TOML or JSON as its field stores it."""
    wanted: Any = item.type
    if get_origin(wanted) is tuple:
        element = get_args(wanted)[0]
        items = [value] if isinstance(value, element) else value
        if not isinstance(items, list | tuple) or not all(type(each) is element for each in items):
            raise NmtError(f"{where} must be a list of {_PLURALS[element]}, not {value!r}")
        return tuple(items)
    if get_origin(wanted) is dict:
        return _checked_table(get_args(wanted)[1], value, where)
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted:
        raise NmtError(f"{where} must be {_NOUNS[wanted]}, not {value!r}")
    if "options" in item.metadata:
        _check_option(value, item.metadata["options"], where)
    low, high = item.metadata.get("minimum"), item.metadata.get("maximum")
    if low is not None and not (low <= value <= high and math.isfinite(value)):
        bounds = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise NmtError(f"{where} must be {bounds}, not {value!r}")
    return value


def _checked_table(kind: type[str] | type[float], value: Any, where: str) -> dict[str, Any]:
    values: Iterable[Any] = value.values() if isinstance(value, dict) else [None]
    if kind is str:
        if not all(type(each) is str for each in values):
            raise NmtError(f"{where} must be a table of strings, not {value!r}")
        return dict(value)
    if not all(type(each) in (int, float) and 0 < each < math.inf for each in values):
        raise NmtError(f"{where} must be a table of numbers above 0, not {value!r}")
    return {name: float(number) for name, number in value.items()}


def _check_option(value: Any, options: Collection[str], where: str) -> None:
    if value not in options:
        near = _nearest(value, options) if isinstance(value, str) else ""
        hint = f"did you mean '{near}'?" if near else ""
        raise NmtError(f"{where} must be one of {', '.join(options)}, not {value!r}", hint)


def _suggestion(key: str, prefix: str, known: Mapping[str, Any]) -> str:
    from nmt_cli.recipe.config import Recipe

    # The right key in the wrong table comes before a similar key in this one.
    for section in dataclasses.fields(Recipe):
        if key == section.name:
            return f"did you mean '{key}' outside of any table?"
        if dataclasses.is_dataclass(section.type) and key in _keys(section.type):
            return f"did you mean '{section.name}.{key}'?"
    if near := _nearest(key, known):
        return f"did you mean '{prefix}{near}'?"
    return "known keys: " + ", ".join(sorted(known))


def _nearest(word: str, words: Iterable[str]) -> str:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(words), 1)), "")


def _apply(tree: dict[str, Any], override: str) -> None:
    """Put one ``table.key=value`` into a parsed TOML tree; the value is TOML or a bare word."""
    key, separator, text = override.partition("=")
    if not separator or not key.strip():
        raise NmtError(f"--set {override}: not of the form KEY=VALUE", "e.g. --set model.heads=4")
    import tomllib

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


def _conflicts(recipe: "Recipe") -> Iterator[Fault]:
    """What is wrong with keys that contradict each other, and how to fix it."""
    model, data, training = recipe.model, recipe.data, recipe.training
    kind = architecture(model.architecture)
    if fault := kind.fault(model) or kind.conflict(model, recipe):
        yield f"model.{fault[0]}", fault[1]
    if model.embeddings in ("all", "source-target") and not recipe.tokenizer.joint:
        yield (
            f"model.embeddings = '{model.embeddings}' needs one joint vocabulary",
            "set tokenizer.joint=true or model.embeddings=target-softmax",
        )
    shares = data.lowercase, data.uppercase, data.unpunctuated, data.symbols
    if sum(shares) > 1:
        yield (
            f"data.lowercase, uppercase, unpunctuated and symbols together exceed 1: {shares}",
            "lower one of them",
        )
    if data.source == data.target:
        yield f"data.source and data.target are both '{data.source}'", ""
    # No text and no normalization may produce a tag.
    if data.synthetic_tag and not re.fullmatch("<[!-~]+>", data.synthetic_tag):
        yield (
            "data.synthetic_tag must be ASCII between < and >, without white space, "
            f"not {data.synthetic_tag!r}",
            "e.g. data.synthetic_tag='<BT>'",
        )
    if recipe.tokenizer.kind != "sentencepiece":
        for key, value in (
            ("data.synthetic_tag", data.synthetic_tag),
            ("training.sample_subwords", training.sample_subwords),
        ):
            if value:
                yield (
                    f"{key} needs tokenizer.kind = 'sentencepiece', not '{recipe.tokenizer.kind}'",
                    f"change tokenizer.kind, or leave {key} out",
                )
    if Path(recipe.label).name != recipe.label:
        yield "name, data.source and data.target must be usable as the name of a folder", ""
    if 0 < training.batch_tokens < training.copies * data.max_tokens:
        copies = "two copies (training.r_drop) of " if training.r_drop else ""
        yield (
            f"training.batch_tokens = {training.batch_tokens} is smaller than {copies}"
            f"one sentence of data.max_tokens = {data.max_tokens}",
            "raise the first or lower the second",
        )
    if training.schedule != "inverse-sqrt" and training.warmup_steps >= training.max_steps:
        yield (
            f"training.warmup_steps = {training.warmup_steps} leaves none of training.max_steps = "
            f"{training.max_steps} for the {training.schedule} schedule",
            "lower the first or raise the second",
        )
    if training.average > training.keep:
        yield (
            f"training.average = {training.average} needs as many checkpoints, but training.keep = "
            f"{training.keep}",
            f"set training.keep={training.average}",
        )
