"""Forms of lines: plain text, text with constraints, tables and JSON objects.

A form finds the text to translate in each line and puts the translation in its place; everything
else passes unchanged.
"""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.search.translator import Line
from nmt_cli.text.lines import REPLACE, STRICT, is_blank


@dataclass(frozen=True)
class Record:
    """A line of input.

    Attributes:
        line: the text to translate.
        as_line: gives the line of output for a translation and additional fields by name.
        as_json: gives a JSON object with the source and fields by name.
    """

    line: Line
    as_line: Callable[[str, dict[str, Any]], str]
    as_json: Callable[[dict[str, Any]], str]


# Reads a line without LF (with the CR of CRLF, except for plain text); the second argument names
# it in errors. Returns None for a line that passes unchanged. Tables need to read their header.
Form = Callable[[str, str], Record | None]


def in_column(value: Any) -> str:
    """A value as the text of a column."""
    if isinstance(value, float):
        return f"{value:.6f}"
    if isinstance(value, list):
        return " ".join(map(in_column, value))
    return str(value)


def _columns(text: str, further: dict[str, Any]) -> str:
    """A line of text, followed by additional columns."""
    if not further:
        return text
    return "\t".join([text.replace("\t", " "), *map(in_column, further.values())])


def _with_source(source: str) -> Callable[[dict[str, Any]], str]:
    """Give a JSON object of the source text and fields by name."""
    return lambda found: json.dumps({"source": source, **found}, ensure_ascii=False)


def plain(raw: str, where: str) -> Record:
    """Read one sentence per line."""
    return Record(Line(raw), _columns, _with_source(raw))


def constrained(raw: str, where: str) -> Record:
    """Read a sentence, followed by tab-separated phrases."""
    text, *phrases = raw.split("\t")
    wanted = tuple(each for each in phrases if not is_blank(each))
    return Record(Line(text, wanted), _columns, _with_source(text))


def table(field: str) -> Form:
    """Tab-separated columns, one of which is translated.

    The field is its number, from 1, or its name in the header, the first line read, which then
    passes unchanged.
    """
    place = int(field) - 1 if field.isdecimal() else None

    def read(raw: str, where: str) -> Record | None:
        nonlocal place
        fields = raw.removesuffix("\r").split("\t")
        if place is None:
            place = _named(field, fields, where)
            return None
        if is_blank(raw):
            return None
        _check_width(fields, place, field, where)
        before, source, after = fields[:place], fields[place], fields[place + 1 :]

        def as_line(text: str, further: dict[str, Any]) -> str:
            columns = [*before, text.replace("\t", " "), *after, *map(in_column, further.values())]
            return "\t".join(columns) + "\r" * raw.endswith("\r")

        return Record(Line(source), as_line, _with_source(source))

    return read


def _named(field: str, names: list[str], where: str) -> int:
    if field not in names:
        reason = f"{where}: no column is named {field!r}"
        raise NmtError(reason, f"the first line names {', '.join(names)}")
    return names.index(field)


def _check_width(values: list[str], place: int, field: str, where: str) -> None:
    if place >= len(values):
        reason = f"{where}: has {len(values)} columns; --field {field} does not exist"
        raise NmtError(reason, "fix the line, or choose another --field")


def csv_table(field: str) -> Form:
    """Records of comma-separated values, one of which is translated, as in :func:`table`.

    The header gets the names of additional fields.
    """
    place = int(field) - 1 if field.isdecimal() else None
    csv.field_size_limit(1 << 30)

    def read(raw: str, where: str) -> Record | None:
        nonlocal place
        try:
            values = next(csv.reader([raw], strict=True), [])
        except csv.Error as error:
            raise NmtError(f"{where}: is not CSV ({error})", "fix the record") from None
        end = "\r" * raw.endswith("\r")
        if place is None:
            place = _named(field, values, where)
            return Record(Line(""), lambda _, further: as_csv([*values, *further]) + end, str)
        if not values:
            return None
        _check_width(values, place, field, where)
        before, given, after = values[:place], values[place], values[place + 1 :]

        def as_line(text: str, further: dict[str, Any]) -> str:
            new = given if text == source else text
            return as_csv([*before, new, *after, *map(in_column, further.values())]) + end

        source = given.replace("\n", " ").replace("\r", " ")
        return Record(Line(source), as_line, str)

    return read


def as_csv(values: list[str]) -> str:
    """A record of comma-separated values, without its end."""
    written = io.StringIO()
    csv.writer(written).writerow(values)  # quotes what is in its line ends: CR and LF
    return written.getvalue().removesuffix("\r\n")


def json_lines(field: str, on_error: str = STRICT) -> Form:
    """One JSON object per line, one of whose fields is translated; the others stay unchanged.

    Unpaired surrogates, which JSON can spell, are handled as invalid UTF-8 is (see text.lines).
    """

    def read(raw: str, where: str) -> Record | None:
        if is_blank(raw):
            return None
        spans = _spans(raw, where)
        if field not in spans:
            raise NmtError(
                f"{where}: has no field {field!r}",
                f"it has {', '.join(spans) or 'none'}; choose one with --field",
            )
        start, end, value = spans[field]
        spelled = raw[start:end]
        if not isinstance(value, str):
            raise NmtError(f"{where}: the field {field!r} is not text", "choose another --field")
        if any("\ud800" <= each <= "\udfff" for each in value):
            if on_error == STRICT:
                raise NmtError(
                    f"{where}: the field {field!r} has half a surrogate pair",
                    "fix it, or use --errors replace",
                )
            replaced = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            value = replaced if on_error == REPLACE else ""
            spelled = json.dumps(value, ensure_ascii=False)

        def as_json(found: dict[str, Any], line: str = raw) -> str:
            taken = sorted(found.keys() & spans.keys())
            if taken:
                raise NmtError(
                    f"{where}: already has a field {taken[0]!r}, which --json would add",
                    "rename it first",
                )
            added = json.dumps(found, ensure_ascii=False)[1:-1]
            close = line.rindex("}")
            return f"{line[:close]}, {added}{line[close:]}" if found else line

        def as_line(text: str, further: dict[str, Any]) -> str:
            # What does not change, such as a blank field, stays as it is spelled.
            new = spelled if text == source else json.dumps(text, ensure_ascii=False)
            return as_json(further, raw[:start] + new + raw[end:])

        source = value.replace("\n", " ").replace("\r", " ")
        return Record(Line(source), as_line, as_json)

    return read


def _spans(raw: str, where: str) -> dict[str, tuple[int, int, Any]]:
    """Start, end and value of each field of an object."""
    try:
        if not isinstance(json.loads(raw), dict):
            raise NmtError(f"{where}: is not a JSON object", "give one object per line")
    except (ValueError, RecursionError) as error:
        raise NmtError(f"{where}: is not JSON ({error})", "give one object per line") from None
    # The whole line is valid JSON: what separates the fields needs no checks.
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
