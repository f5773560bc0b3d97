"""Read JSON that may be damaged or hostile."""

import json
import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from nmt_cli.errors import NmtError
from nmt_cli.files import read_limited

HINT = "export the bundle again, or copy it again"

_DEEPEST = 8
_LARGEST = 2**53  # beyond it, other readers of JSON no longer keep whole numbers exact
_LONGEST = 4096
# Breaks an error's single line, moves a terminal's cursor, or is not text at all.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

Value = TypeVar("Value")


def damaged(path: Path, problem: object) -> NmtError:
    """Return the error for a file that cannot be used."""
    return NmtError(f"{path}: damaged ({problem})", HINT)


def read_object(path: Path) -> dict[str, Any]:
    """Parse a file that holds one JSON object.

    Raises:
        OSError: the file cannot be read.
        ValueError, RecursionError: the file is not one JSON object, or contains what no manifest
            does: huge numbers, control characters, deep nesting.
    """
    if not path.is_file():  # opening a pipe would block
        raise ValueError("not a file")
    tree = json.loads(read_limited(path).decode("utf-8"))
    if not isinstance(tree, dict):
        raise ValueError("not a JSON object")
    _check_plain(tree, _DEEPEST)
    return tree


def converted(tree: Any, kind: type[Value], path: Path, key: str = "") -> Value:
    """Convert plain values to a dataclass or another type, checking types and bounds.

    Raises:
        NmtError: a value is missing, of another type or out of bounds; names ``path`` and ``key``.
    """
    try:
        return msgspec.convert(tree, kind)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).replace("`", "").partition(" - at $")
        where = f"{key}{place}".removeprefix(".")
        raise damaged(path, f"{where}: {problem}" if where else problem) from None


def short(value: Any) -> str:
    """Quote a value in an error, on one line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _check_plain(value: Any, depth: int) -> None:
    if isinstance(value, (dict, list)):
        if not depth:
            raise ValueError("nested too deeply")
        inner = [*value, *value.values()] if isinstance(value, dict) else value
        for each in inner:
            _check_plain(each, depth - 1)
    elif isinstance(value, str):
        if len(value) > _LONGEST or _UNPRINTABLE.search(value):
            raise ValueError(f"{short(value)} is too long or contains control characters")
    elif isinstance(value, (int, float)) and not abs(value) <= _LARGEST:
        raise ValueError(f"{short(value)} is too large or not a number")
