"""The fields of a recipe's tables: their bounds, and checking values against them."""

import dataclasses
import difflib
import math
from collections.abc import Collection
from typing import Any, get_args, get_origin

from nmt_cli.errors import NmtError

_NOUNS = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}
_PLURALS = {int: "whole numbers", str: "strings"}


def bounded(default: Any, minimum: float, maximum: float = float("inf")) -> Any:
    """A dataclass field for a number in [minimum, maximum]."""
    metadata = {"minimum": minimum, "maximum": maximum}
    return dataclasses.field(default=default, metadata=metadata)


def one_of(default: str, *others: str) -> Any:
    """A dataclass field for one of a few words."""
    return dataclasses.field(default=default, metadata={"options": (default, *others)})


def checked(item: "dataclasses.Field[Any]", value: Any, where: str) -> Any:
    """Return a value as its field stores it.

    Args:
        item: the field.
        value: from TOML or JSON.
        where: names file and key in errors.

    Raises:
        NmtError: the value has the wrong type, is out of range or is not one of the options.
    """
    wanted: Any = item.type
    if get_origin(wanted) is tuple:
        element = get_args(wanted)[0]
        items = [value] if isinstance(value, element) else value
        if not isinstance(items, list | tuple) or not all(type(each) is element for each in items):
            raise NmtError(f"{where} must be a list of {_PLURALS[element]}, not {value!r}")
        return tuple(items)
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted:
        raise NmtError(f"{where} must be {_NOUNS[wanted]}, not {value!r}")
    if "options" in item.metadata:
        check_option(value, item.metadata["options"], where)
    low, high = item.metadata.get("minimum"), item.metadata.get("maximum")
    if low is not None and not (low <= value <= high and math.isfinite(value)):
        bounds = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise NmtError(f"{where} must be {bounds}, not {value!r}")
    return value


def check_option(value: Any, options: Collection[str], where: str) -> None:
    """Refuse what is not one of a few words.

    Raises:
        NmtError: the value is none of the options.
    """
    if value in options:
        return
    near = difflib.get_close_matches(value, options, 1) if isinstance(value, str) else []
    hint = f"did you mean '{near[0]}'?" if near else ""
    raise NmtError(f"{where} must be one of {', '.join(options)}, not {value!r}", hint)
