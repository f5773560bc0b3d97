"""Lines in and lines out: plain text, text with constraints, tables and JSON.

A form parts each line in what is translated and what is passed through untouched, and puts the
translation in its place.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from nmt_cli.errors import NmtError
from nmt_cli.search.translator import Line
from nmt_cli.text.lines import REPLACE, STRICT


@dataclass(frozen=True)
class Record:
    """A line of input.

    Attributes:
        line: what is translated of it.
        put: makes a line of output: of a text in place of the one translated, and of further
            fields by name.
        tell: makes a JSON object of fields by name, together with what it was read from.
    """

    line: Line
    put: Callable[[str, dict[str, Any]], str]
    tell: Callable[[dict[str, Any]], str]


class Form(Protocol):
    """How lines are read; ``where`` names a line in errors.

    Lines come without LF; records keep the CR of a CRLF.
    """

    def begin(self, first: str, where: str) -> None:
        """Take notice of the first line, where reading begins behind it."""

    def read(self, raw: str, where: str) -> Record | None:
        """The record of a line; None: it is passed through as it stands."""


def _columns(text: str, further: dict[str, Any]) -> str:
    """A line of text, and what else was asked for in columns behind it."""
    if not further:
        return text
    return "\t".join([text.replace("\t", " "), *map(in_column, further.values())])


def _told(source: str) -> Callable[[dict[str, Any]], str]:
    """What makes an object of a text and what was found for it."""
    return lambda found: json.dumps({"source": source, **found}, ensure_ascii=False)


def in_column(value: Any) -> str:
    """A value as a column of text."""
    if isinstance(value, float):
        return f"{value:.6f}"
    if isinstance(value, list):
        return " ".join(map(in_column, value))
    return str(value)


@dataclass(frozen=True)
class Plain:
    """A sentence a line; with constraints, phrases behind it, each after a tab."""

    constraints: bool = False

    def begin(self, first: str, where: str) -> None:
        """See :class:`Form`; there is nothing in it."""

    def read(self, raw: str, where: str) -> Record:
        """See :class:`Form`."""
        if not self.constraints:
            return Record(Line(raw), _columns, _told(raw))
        text, *phrases = raw.split("\t")
        wanted = tuple(each for each in phrases if each.strip())
        return Record(Line(text, wanted), _columns, _told(text))


class Table:
    """Columns parted by tabs, one of which is translated.

    Args:
        field: its number, from 1; or its name, which then stands in the first line, and that
            line is passed through.
    """

    def __init__(self, field: str) -> None:
        self._field = field
        self._place = int(field) - 1 if field.isdecimal() else None

    def begin(self, first: str, where: str) -> None:
        """See :class:`Form`."""
        if self._place is None:
            self.read(first, where)

    def read(self, raw: str, where: str) -> Record | None:
        """See :class:`Form`.

        Raises:
            NmtError: the line has no such column.
        """
        fields = raw.removesuffix("\r").split("\t")
        if self._place is None:
            if self._field not in fields:
                raise NmtError(
                    f"{where}: no column is named {self._field!r}",
                    f"the first line names {', '.join(fields)}",
                )
            self._place = fields.index(self._field)
            return None
        if not raw.strip():
            return None
        place, end = self._place, "\r" * raw.endswith("\r")
        if place >= len(fields):
            raise NmtError(
                f"{where}: has {len(fields)} columns, and column {self._field} is to be translated",
                "mend the line, or choose another --field",
            )

        def put(text: str, further: dict[str, Any]) -> str:
            columns = [*fields[:place], text.replace("\t", " "), *fields[place + 1 :]]
            return "\t".join([*columns, *map(in_column, further.values())]) + end

        return Record(Line(fields[place]), put, _told(fields[place]))


@dataclass(frozen=True)
class JsonLines:
    """A JSON object a line, one of whose fields is translated; the others stay as they stand.

    Attributes:
        field: its name.
        on_error: what to do about half characters, which JSON can spell (see text.lines).
    """

    field: str
    on_error: str = STRICT

    def begin(self, first: str, where: str) -> None:
        """See :class:`Form`; there is nothing in it."""

    def read(self, raw: str, where: str) -> Record | None:
        """See :class:`Form`.

        Raises:
            NmtError: the line is no object, or has no such field, or it is no text.
        """
        if not raw.strip():
            return None
        spans = _spans(raw, where)
        if self.field not in spans:
            raise NmtError(
                f"{where}: has no field {self.field!r}",
                f"it has {', '.join(spans) or 'none'}; choose one with --field",
            )
        start, end, value = spans[self.field]
        if not isinstance(value, str):
            raise NmtError(f"{where}: the field {self.field!r} is no text", "choose another")
        if any("\ud800" <= each <= "\udfff" for each in value):
            if self.on_error == STRICT:
                raise NmtError(
                    f"{where}: the field {self.field!r} has half a surrogate pair",
                    "mend it, or go on with --errors replace",
                )
            replaced = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            value = replaced if self.on_error == REPLACE else ""

        def tell(found: dict[str, Any], line: str = raw) -> str:
            taken = sorted(found.keys() & spans.keys())
            if taken:
                raise NmtError(
                    f"{where}: has a field {taken[0]!r} already, and it would be added",
                    "rename it first",
                )
            added = json.dumps(found, ensure_ascii=False)[1:-1]
            close = line.rindex("}")
            return f"{line[:close]}, {added}{line[close:]}" if found else line

        def put(text: str, further: dict[str, Any]) -> str:
            return tell(further, raw[:start] + json.dumps(text, ensure_ascii=False) + raw[end:])

        return Record(Line(value.replace("\n", " ").replace("\r", " ")), put, tell)


def _spans(raw: str, where: str) -> dict[str, tuple[int, int, Any]]:
    """Where the value of each field of an object stands, and what it is.

    Raises:
        NmtError: it is no object.
    """
    try:
        if not isinstance(json.loads(raw), dict):
            raise NmtError(f"{where}: is no JSON object", "give one object a line")
    except (ValueError, RecursionError) as error:
        raise NmtError(f"{where}: is not JSON ({error})", "give one object a line") from None
    # The whole is valid, so that what stands between the fields need not be looked at.
    decoder, spans = json.JSONDecoder(), {}
    at = raw.index("{") + 1
    while (start := raw.find('"', at)) >= 0:
        name, at = decoder.raw_decode(raw, start)
        start = raw.index(":", at) + 1
        while raw[start] in " \t\r\n":
            start += 1
        value, at = decoder.raw_decode(raw, start)
        spans[name] = (start, at, value)
    return spans
