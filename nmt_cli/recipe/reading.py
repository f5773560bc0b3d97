"""Read recipes from TOML: known keys, types, ranges, and keys that contradict each other."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from nmt_cli.errors import InputError, OptionError, RecipeError
from nmt_cli.files import read_limited
from nmt_cli.options import settings_from
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.model import ARCHITECTURES, Problem, model_config

_TABLES: dict[str, Any] = {
    item.name: item.type for item in fields(Recipe) if is_dataclass(item.type)
}


def load_recipe(path: Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe file and apply ``KEY=VALUE`` overrides such as ``model.heads=4``.

    Raises:
        InputError: the file, or one that it extends, is missing or is not TOML.
        RecipeError: a key is unknown, a value has the wrong type or is out of range, or keys
            contradict each other.
    """
    tree = _read(path)
    for override in overrides:
        _override(tree, override)
    with_overrides = "".join(f" `set={override}`" for override in overrides)
    return recipe_from(tree, f"{path} with{with_overrides}" if overrides else str(path))


def _read(path: Path, extended_by: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return the tree of a recipe file, with the keys of the recipe that it extends."""
    try:
        tree = tomllib.loads(read_limited(path).decode("utf-8"))
    except FileNotFoundError:
        extending = f"{extended_by[-1]}: extends " if extended_by else ""
        raise InputError(f"{extending}{path}: no such recipe", "see the recipes/ folder") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError(f"{path}: not valid TOML in UTF-8: {error}") from None
    if "extends" not in tree:
        return tree
    base, chain = tree.pop("extends"), (*extended_by, path)
    if not isinstance(base, str) or (path.parent / base).resolve() in map(Path.resolve, chain):
        raise RecipeError(
            f"{path}: extends must be the path of another recipe, not {base!r}",
            "paths start at the folder of the recipe, e.g. extends = 'base.toml'",
        )
    return _merged(_read(path.parent / base, chain), tree)


def _merged(base: dict[str, Any], tree: dict[str, Any]) -> dict[str, Any]:
    """Merge a recipe's keys into those of the recipe that it extends, table by table.

    Licences (data.sources) add up: the text of a second stage has two origins. Weights do not.
    """
    merged = base | tree
    for key in base.keys() & tree.keys() - {"weights"}:
        if isinstance(base[key], dict) and isinstance(tree[key], dict):
            merged[key] = _merged(base[key], tree[key])
    return merged


def _override(tree: dict[str, Any], override: str) -> None:
    """Put one ``table.key=value`` into a parsed TOML tree; the value is TOML or a bare word."""
    key, separator, text = override.partition("=")
    if not separator or not key.strip():
        raise RecipeError(f"`set={override}`: not of the form KEY=VALUE", "e.g. model.heads=4")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *tables, last = key.strip().split(".")
    for table in tables:
        tree = tree.setdefault(table, {})
        if not isinstance(tree, dict):
            raise RecipeError(f"`set={override}`: '{table}' is not a table")
    tree[last] = value


def recipe_from(tree: Mapping[str, Any], where: str) -> Recipe:
    """Check a parsed TOML tree and return its recipe; ``where`` names the file in errors."""
    values: dict[str, Any] = {}
    hints = _hints()
    try:
        for name in _TABLES.keys() & tree.keys():
            if not isinstance(tree[name], Mapping):
                raise OptionError(f"{where}: '{name}' must be a table", f"write [{name}]")
            read = model_config if name == "model" else partial(settings_from, _TABLES[name])
            values[name] = read(tree[name], where, f"{name}.", hints)
        rest = {key: value for key, value in tree.items() if key not in _TABLES}
        recipe = replace(settings_from(Recipe, rest, where, "", hints), **values)
    except OptionError as error:
        raise RecipeError(error.message, error.hint) from None
    for problem, hint in _conflicts(recipe):
        raise RecipeError(f"{where}: {problem}", hint)
    return recipe


def _hints() -> dict[str, str]:
    """Return a hint for each key, for when it is in another table."""
    kinds = [*_TABLES.items(), *(("model", kind) for kind in ARCHITECTURES.values())]
    keys = [(name, item.name) for name, kind in kinds for item in fields(kind)]
    hints = {key: f"did you mean '{name}.{key}'?" for name, key in reversed(keys)}
    outside = [item.name for item in fields(Recipe)]
    return hints | {key: f"did you mean '{key}' outside of any table?" for key in outside}


def _conflicts(recipe: Recipe) -> Iterator[Problem]:
    """Find keys that contradict each other."""
    model = recipe.model
    if problem := model.problem() or model.conflict(recipe):
        yield f"model.{problem[0]}", problem[1]
    if model.embeddings in ("all", "source-target") and not recipe.tokenizer.joint:
        yield (
            f"model.embeddings = '{model.embeddings}' needs one joint vocabulary",
            "set tokenizer.joint=true or model.embeddings=target-softmax",
        )
    if Path(recipe.label).name != recipe.label:
        yield "name, data.source and data.target must be usable as the name of a folder", ""
    data, training = recipe.data, recipe.training
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
    for key, value, others in (
        ("data.synthetic_tag", data.synthetic_tag, ["wordpiece"]),
        ("training.sample_subwords", training.sample_subwords, ["wordpiece", "character"]),
    ):
        if value and recipe.tokenizer.kind in others:
            yield (
                f"{key} needs tokenizer.kind = 'sentencepiece', not '{recipe.tokenizer.kind}'",
                f"change tokenizer.kind, or leave {key} out",
            )
    if 0 < training.batch_tokens < training.copies * data.max_tokens:
        copies = "two copies (training.r_drop) of " if training.r_drop else ""
        yield (
            f"training.batch_tokens = {training.batch_tokens} is smaller than {copies}"
            f"one sentence of data.max_tokens = {data.max_tokens}",
            "raise the first or lower the second",
        )
    if training.schedule_ends and training.warmup_steps >= training.max_steps:
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
