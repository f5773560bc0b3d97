"""Reading JSON that may be damaged or made to harm: every value is checked before its use."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmt_cli.errors import NmtError

HINT = "export the bundle again"

# A manifest of a hundred layers has some 200 KB.
_MOST_BYTES = 4 << 20
_DEEPEST = 8
_LARGEST = 2**53  # beyond it, whole numbers are no longer exact in other readers of JSON
_LONGEST = 4096
# What would break an error's one line, move a terminal's cursor, or is no text at all.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def read_object(path: Path) -> dict[str, Any]:
    """Parse a file that holds one JSON object.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such file, or holds values that no manifest has: numbers beyond
            measure, text with control characters, a key twice, nesting without end.
    """
    if not path.is_file():  # opening a pipe would wait for ever
        raise ValueError("not a file")
    with path.open("rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"larger than {_MOST_BYTES:,} bytes")
    try:
        tree = json.loads(
            content.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(tree, dict):
        raise ValueError("not a JSON object")
    _check_plain(tree, _DEEPEST)
    return tree


def short(value: Any) -> str:
    """A value as errors quote it, on one line and not too long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Table:
    """A JSON object of which values are asked by type.

    Attributes:
        values: the object, as :func:`read_object` gave it.
        path: of the file.
        prefix: where in the file it stands, e.g. ``decoder.``.
    """

    values: dict[str, Any]
    path: Path
    prefix: str = ""

    def refusal(self, key: str, wanted: str) -> NmtError:
        """The error that says what a key must be."""
        if key not in self.values:
            return NmtError(f"{self.path}: damaged ({self.prefix}{key} is missing)", HINT)
        found = short(self.values[key])
        return NmtError(
            f"{self.path}: damaged ({self.prefix}{key} must be {wanted}, not {found})", HINT
        )

    def text(self, key: str) -> str:
        """A string that is not empty."""
        value = self.values.get(key)
        if not isinstance(value, str) or not value:
            raise self.refusal(key, "text")
        return value

    def whole(self, key: str, least: int, most: int) -> int:
        """A whole number within bounds."""
        value = self.values.get(key)
        if type(value) is not int or not least <= value <= most:
            raise self.refusal(key, f"a whole number from {least:,} to {most:,}")
        return value

    def number(self, key: str) -> float:
        """A number."""
        value = self.values.get(key)
        if type(value) not in (int, float):
            raise self.refusal(key, "a number")
        return float(self.values[key])

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.refusal(key, "true or false")
        return value

    def choice(self, key: str, options: tuple[str, ...]) -> str:
        """One of a few words."""
        value = self.values.get(key)
        if value not in options:
            raise self.refusal(key, " or ".join(options))
        return str(value)

    def table(self, key: str) -> "Table":
        """An object within."""
        value = self.values.get(key)
        if not isinstance(value, dict):
            raise self.refusal(key, "an object")
        return Table(value, self.path, f"{self.prefix}{key}.")

    def rows(self, key: str) -> list["Table"]:
        """A list of objects."""
        value = self.values.get(key)
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self.refusal(key, "a list of objects")
        return [
            Table(each, self.path, f"{self.prefix}{key}[{number}].")
            for number, each in enumerate(value)
        ]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two readers may differ on which of two equal keys counts, so none may stand twice."""
    tree = dict(pairs)
    if len(tree) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {short(twice)} stands twice")
    return tree


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def _check_plain(value: Any, depth: int) -> None:
    if isinstance(value, (dict, list)):
        if not depth:
            raise ValueError("nested too deeply")
        inner = [*value, *value.values()] if isinstance(value, dict) else value
        for each in inner:
            _check_plain(each, depth - 1)
    elif isinstance(value, str):
        if len(value) > _LONGEST or _UNPRINTABLE.search(value):
            raise ValueError(f"{short(value)} is too long, or has control characters in it")
    elif isinstance(value, (int, float)) and not abs(value) <= _LARGEST:
        raise ValueError("a number beyond measure")
