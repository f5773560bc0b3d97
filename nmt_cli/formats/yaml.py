"""YAML of applications: texts are translated; keys, order, comments and layout stay byte for byte.

The library ``PyYAML`` finds the scalars. A translation is written in the style of its source,
unless it would read as something else there; then it is quoted.
"""

import math
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import yaml

from nmt_cli.errors import InputError
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.values import Value, translate_values

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STRING = "tag:yaml.org,2002:str"
_PROPERTIES = re.compile(r"\A(?:[&!]\S*+\s++)*+")


def translate_yaml(text: str, name: str, translate: Translate) -> str:
    """Translate the scalars of a YAML stream that are text and not keys."""
    try:
        values = list(_values(text))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{name}, line {mark.line + 1}" if mark else name
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"{where}: not the syntax of YAML ({problem})", "fix the line") from None
    return translate_values(text, values, translate)


def _values(text: str) -> Iterator[Value]:
    resolve = yaml.resolver.Resolver().resolve
    # Of the open collections: whether they are mappings, in flow style, and before a key.
    levels, is_key = [(False, False)], [False]
    for event in yaml.parse(text, Loader=_Loader):
        is_mapping, in_flow = levels[-1]
        if isinstance(event, yaml.CollectionStartEvent):
            is_mapping = isinstance(event, yaml.MappingStartEvent)
            levels.append((is_mapping, bool(event.flow_style) or in_flow))
            is_key.append(is_mapping or is_key[-1])
        elif isinstance(event, yaml.ScalarEvent | yaml.AliasEvent | yaml.CollectionEndEvent):
            if isinstance(event, yaml.CollectionEndEvent):
                del levels[-1], is_key[-1]
            elif isinstance(event, yaml.ScalarEvent) and not is_key[-1]:
                tag = event.tag or resolve(yaml.ScalarNode, event.value, event.implicit)
                if tag == _STRING:
                    end = event.end_mark.index
                    raw = _PROPERTIES.sub("", text[event.start_mark.index : end], count=1)
                    write = partial(_written, raw, event.value, in_flow)
                    yield Value(end - len(raw), end, event.value, write)
            if levels[-1][0]:
                is_key[-1] = not is_key[-1]


def _written(raw: str, source: str, in_flow: bool, new: str) -> str:
    """Return a scalar in the style of its source, or quoted if that would read as another."""
    style = raw[0] if raw[0] in "'\"|>" else None
    header, _, body = raw.partition("\n")
    indentation = _indentation(body) - _indentation(source)
    dumped = yaml.safe_dump(
        [new] if in_flow else {"k": new},
        default_style=style,
        default_flow_style=in_flow,
        width=max(map(len, raw.splitlines())) - indentation if style == ">" else math.inf,
        allow_unicode=not re.search(r"\\[xuU]", raw),
    )
    dumped = dumped.removesuffix("\n...\n")  # the end of a document, after a scalar that is open
    scalar = dumped[1:-2] if in_flow else dumped.partition(": ")[2].rstrip("\n")
    if scalar[0] in "|>":
        # The header of the source may have an indentation, which counts from the parent's.
        body = re.sub("\n  ", "\n" + " " * indentation, scalar[scalar.index("\n") :])
        scalar = header.rstrip() + body
    after = raw[len(raw.rstrip()) :]
    return re.sub("\r?\n", "\r\n" if "\r" in raw else "\n", scalar + after)


def _indentation(text: str) -> int:
    """Count the spaces before the first line that is not empty."""
    line = text.lstrip("\r\n")
    return len(line) - len(line.lstrip(" "))
