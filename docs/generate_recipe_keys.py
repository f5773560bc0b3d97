"""Write the tables of docs/reference/recipe-keys.md; with --check, fail if they are out of date.

The tables are between the comments ``<!-- keys ... -->`` and ``<!-- end -->`` of the page. They
come from the declarations of the settings in nmt_cli/recipe/. Edit the other text in the page.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from msgspec import Meta

from nmt_cli.options import plain_type
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.model import ARCHITECTURES, DEFAULT_ARCHITECTURE, ModelConfig
from nmt_cli.training.run import SAFE_TO_CHANGE

PAGE = Path(__file__).parent / "reference" / "recipe-keys.md"
MARKER = re.compile(r"<!-- (keys.*?) -->\n.*?<!-- end -->", re.S)
TYPES = {str: "text", bool: "true or false", int: "integer", float: "number"}


def tables() -> dict[str, str]:
    """Return the table of each marker."""
    shared = {item.name for item in fields(ModelConfig)}
    result = {"keys": _table(item for item in fields(Recipe) if item.metadata)}
    for section in fields(Recipe):
        if section.name == "model":
            result["keys model"] = _table(fields(ModelConfig))
            for name, config in ARCHITECTURES.items():
                extra_fields = (item for item in fields(config) if item.name not in shared)
                result[f"keys model {name}"] = _table(extra_fields)
        elif is_dataclass(section.type):
            result[f"keys {section.name}"] = _table(fields(section.type))
    result["keys that may change"] = "\n".join(
        f"- `[{section}]`: {', '.join(f'`{key}`' for key in keys) if keys else 'all keys'}"
        for section, keys in SAFE_TO_CHANGE.items()
    )
    return result


def _table(keys: "Iterator[Field[Any]] | tuple[Field[Any], ...]") -> str:
    rows = ["| key | default | values | meaning |", "|---|---|---|---|"]
    for item in keys:
        default, values = _default(item), _values(item.type)
        if item.name == "architecture":
            default, values = DEFAULT_ARCHITECTURE, ", ".join(ARCHITECTURES)
        help_text = re.sub(r"<\w+>", r"`\g<0>`", item.metadata["help"])  # not HTML
        rows.append(f"| `{item.name}` | {default} | {values} | {help_text} |")
    return "\n".join(rows)


def _default(item: "Field[Any]") -> str:
    value = item.default_factory() if callable(item.default_factory) else item.default
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"`{list(value)}`" if value else "empty"
    if isinstance(value, int | float):
        return f"{value:.12g}"
    return value or "empty"


def _values(kind: Any) -> str:
    """Describe the values that a key takes, with their range."""
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    if get_origin(kind) is tuple:
        return "list of texts" if get_args(kind)[0] is str else "list of integers"
    if get_origin(kind) is dict:
        return f"table of {TYPES[plain_type(get_args(kind)[1])]}s"
    limits = next((part for part in get_args(kind) if isinstance(part, Meta)), Meta())
    words = {"from": limits.ge, "above": limits.gt, "to": limits.le}
    limits_text = [f"{word} {_number(end)}" for word, end in words.items() if end is not None]
    return " ".join([TYPES[plain_type(kind)], *limits_text])


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def page(text: str) -> str:
    """Return the page with its tables replaced.

    Raises:
        ValueError: the page has no place for a table, or a place without a table.
    """
    known = tables()
    if set(MARKER.findall(text)) != known.keys():
        raise ValueError(f"{PAGE}: needs the markers {sorted(known)}")
    return MARKER.sub(lambda match: f"<!-- {match[1]} -->\n{known[match[1]]}\n<!-- end -->", text)


def main() -> None:
    """Write or check the page."""
    text = PAGE.read_text(encoding="utf-8")
    result = page(text)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(result, encoding="utf-8")
    elif result != text:
        sys.exit(f"{PAGE}: out of date; run make docs")


if __name__ == "__main__":
    main()
