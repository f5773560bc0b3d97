"""Settings: how they are declared, and the one place that checks them.

A setting is a field of a dataclass. Its type is its range, its default its default value::

    heads: PositiveInt = option(8, "Attention heads.")
    beam_size: Annotated[int, Meta(ge=1, le=256)] | None = option(None, "Number of hypotheses.")
    unk: Literal["keep", "avoid", "copy"] = option("keep", "What to do with unknown words.")

Tables of recipes, options of the command line and tables of manifests are all such dataclasses.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from nmt_cli.errors import OptionError

PositiveInt = Annotated[int, Meta(ge=1)]
NonNegativeInt = Annotated[int, Meta(ge=0)]
PositiveFloat = Annotated[float, Meta(gt=0)]
NonNegativeFloat = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]

Settings = TypeVar("Settings")
NO_HINTS: Mapping[str, str] = {}

_NOUNS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def option(
    default: Any,
    help: str,
    *,
    metavar: str | None = None,
    flags: str = "",
    without_value: str | None = None,
    group: str | None = None,
) -> Any:
    """Declare a setting: a dataclass field with its description.

    Args:
        default: None leaves the choice to the model or the command; ... is required.
        help: one or two lines, for ``--help`` and the reference.
        metavar: what ``--help`` shows for the value.
        flags: a short flag, such as "-o", or all flags, if the name is not one of them.
        without_value: the value if the flag is given without one.
        group: heading of the option in ``--help``.
    """
    details = {"help": help, "metavar": metavar, "flags": flags, "group": group}
    details["without_value"] = without_value
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=details)
    return field(default=default, metadata=details)


def checked(value: Any, kind: Any, name: str) -> Any:
    """Return a value as a setting of this type stores it: 2 as 2.0, a list as a tuple.

    Args:
        kind: the type of the setting, such as ``PositiveInt | None`` or ``Literal["a", "b"]``.

    Raises:
        OptionError: the value has another type, is out of range or is not finite.
    """
    with suppress(msgspec.ValidationError):
        result = msgspec.convert(value, kind)
        numbers = result.values() if isinstance(result, dict) else [result]
        if all(math.isfinite(number) for number in numbers if isinstance(number, float)):
            return result
    kind = _without_none(kind)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    hint = did_you_mean(value, {choice: choice for choice in choices})
    raise OptionError(f"{name} must be {_expected(value, kind)}, not {value!r}".lstrip(), hint)


def check_settings(settings: Any) -> None:
    """Check the settings of a dataclass that was made in Python, such as decoding options."""
    for item in fields(settings):
        value = getattr(settings, item.name)
        # numpy's numbers count as Python's; paths are checked where they are opened.
        value = value.item() if hasattr(value, "item") else value
        if item.metadata and plain_type(item.type) is not Path:
            checked(value, item.type, f"`{item.name}`")


def settings_from(
    kind: type[Settings],
    table: Mapping[str, Any],
    where: str,
    prefix: str = "",
    hints: Mapping[str, str] = NO_HINTS,
) -> Settings:
    """Make a dataclass of settings from a table of TOML or JSON.

    Args:
        table: the values by name; others keep their defaults. A single value may replace a list.
        where: the file, for errors.
        prefix: precedes the names of settings in errors, as in "model.".
        hints: for unknown keys; by default, the nearest known key.
    """
    known: dict[str, Any] = {item.name: item.type for item in fields(kind) if item.init}  # type: ignore[arg-type]
    values = {}
    for key, value in table.items():
        if key not in known:
            names = f"known keys: {', '.join(sorted(known))}"
            hint = hints.get(key) or did_you_mean(key, {k: f"{prefix}{k}" for k in known}, names)
            raise OptionError(f"{where}: unknown key '{prefix}{key}'", hint)
        if get_origin(known[key]) is tuple and isinstance(value, get_args(known[key])[0]):
            values[key] = (value,)
        else:
            values[key] = checked(value, known[key], f"{where}: {prefix}{key}")
    return kind(**values)


def did_you_mean(word: object, known: Mapping[str, object], otherwise: str = "") -> str:
    """Return a hint with the value of the key that is most like a word, if one is like it."""
    from difflib import get_close_matches  # not at the start of every command

    matches = get_close_matches(word, known, 1) if isinstance(word, str) else []
    return f"did you mean '{known[matches[0]]}'?" if matches else otherwise


def plain_type(kind: Any) -> Any:
    """Return a setting's type without its range and without None, such as ``int``."""
    kind = _without_none(kind)
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    return kind


def _expected(value: Any, kind: Any) -> str:
    """Describe the values that a type allows, after "must be"; the range if the type is right."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if get_origin(kind) is tuple:
        return f"a list of {_elements(get_args(kind)[0])}"
    if get_origin(kind) is dict:
        return f"a table of {_elements(get_args(kind)[1])}"
    base = plain_type(kind)
    if isinstance(value, bool) or not isinstance(value, (int, float) if base is float else base):
        return _NOUNS[base]
    is_finite = isinstance(value, int) or math.isfinite(value)
    return (_range(kind) if is_finite else "") or "a finite number"


def _elements(kind: Any) -> str:
    return f"{_NOUNS[plain_type(kind)].removeprefix('a ')}s {_range(kind)}".rstrip()


def _range(kind: Any) -> str:
    """Describe the bounds of a number, as in "between 1 and 256"."""
    limits = next((part for part in get_args(kind) if isinstance(part, Meta)), Meta())
    if limits.ge is not None and limits.le is not None:
        return f"between {_number(limits.ge)} and {_number(limits.le)}"
    words = {"at least": limits.ge, "above": limits.gt, "at most": limits.le, "below": limits.lt}
    return " and ".join(f"{word} {_number(end)}" for word, end in words.items() if end is not None)


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"
