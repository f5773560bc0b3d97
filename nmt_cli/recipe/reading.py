"""Read recipes from TOML.

Unknown keys are refused, naming the nearest known one. Types and ranges are checked here, keys
that contradict each other in nmt_cli.recipe.rules.
"""

import dataclasses
import difflib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from nmt_cli.errors import NmtError
from nmt_cli.recipe.architecture import ARCHITECTURES, DEFAULT, ModelConfig, architecture
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.fields import check_option, checked
from nmt_cli.recipe.rules import check_together

Section = TypeVar("Section")


def load_recipe(path: Path, overrides: Iterable[str] = ()) -> Recipe:
    """Read a recipe file and apply ``KEY=VALUE`` overrides such as ``model.heads=4``.

    Raises:
        NmtError: the file is missing or is not TOML, a key is unknown, a value has the wrong type
            or is out of range, or keys contradict each other.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NmtError(f"{path}: no such recipe", "see the recipes/ folder") from None
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise NmtError(f"{path}: not valid UTF-8", "save the recipe as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise NmtError(f"{path}: not valid TOML: {error}") from None
    for override in overrides:
        _apply(tree, override)
    return recipe_from(tree, where=str(path))


def recipe_from(tree: Mapping[str, Any], where: str) -> Recipe:
    """Check a parsed TOML tree and return its recipe; ``where`` names the file in errors."""
    recipe = section_from(Recipe, tree, where)
    check_together(recipe, where)
    return recipe


def section_from(
    kind: type[Section], tree: Mapping[str, Any], where: str, prefix: str = ""
) -> Section:
    """Build one dataclass from its table, e.g. a bundle's copy of [decoding].

    Raises:
        NmtError: a key is unknown, or its value has the wrong type or is out of range.
    """
    known = _keys(kind)
    if kind is ModelConfig:
        name = tree.get("architecture", DEFAULT)
        check_option(name, ARCHITECTURES.keys(), f"{where}: {prefix}architecture")
        kind = architecture(name).config
        known |= _keys(kind)
    values: dict[str, Any] = {}
    for key, value in tree.items():
        if key not in known:
            raise NmtError(f"{where}: unknown key '{prefix}{key}'", _suggestion(key, prefix, known))
        wanted: Any = known[key].type
        if not dataclasses.is_dataclass(wanted):
            values[key] = checked(known[key], value, f"{where}: {prefix}{key}")
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


def _suggestion(key: str, prefix: str, known: Mapping[str, Any]) -> str:
    # The right key in the wrong table comes before a similar key in this one.
    for section in dataclasses.fields(Recipe):
        if key == section.name:
            return f"did you mean '{key}' outside of any table?"
        if dataclasses.is_dataclass(section.type) and key in _keys(section.type):
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
