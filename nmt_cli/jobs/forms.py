"""Records with fields, one of which is translated: TSV, CSV and JSON lines."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from nmt_cli.errors import InputError
from nmt_cli.jobs import shards
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.records import Lines, Record, column_text
from nmt_cli.search.translator import Line
from nmt_cli.text.lines import REPLACE, STRICT, is_blank

csv.field_size_limit(1 << 30)


class TsvTable(Lines):
    """Tab-separated columns.

    The field is a column's number, from 1, or its name in the header, which passes unchanged.
    """

    keeps_cr = True

    def __init__(self, options: TranslateOptions) -> None:
        super().__init__(options)
        self.field = options.field or ""
        self.column = int(self.field) - 1 if self.field.isdecimal() else None

    @property
    def awaits_header(self) -> bool:  # type: ignore[override]
        """Whether the column of the field is not known yet."""
        return self.column is None

    def read(self, text: str, where: str) -> Record | None:
        """Read a row; the header and blank lines pass unchanged."""
        values = text.removesuffix("\r").split("\t")
        if self.column is None:
            self._find_column(values, where)
            return None
        if is_blank(text):
            return None
        before, source, after = self._around(values, where)

        def as_line(translation: str, extra: dict[str, Any]) -> str:
            changed = translation.replace("\t", " ")
            columns = [*before, changed, *after, *map(column_text, extra.values())]
            return "\t".join(columns) + "\r" * text.endswith("\r")

        return Record(Line(source), as_line)

    def _find_column(self, names: list[str], where: str) -> None:
        if self.field not in names:
            reason = f"{where}: no column is named {self.field!r}"
            raise InputError(reason, f"the first line names {', '.join(names)}")
        self.column = names.index(self.field)

    def _around(self, values: list[str], where: str) -> tuple[list[str], str, list[str]]:
        """Return the values before the field, the field, and the values after it."""
        column = self.column or 0
        if column >= len(values):
            reason = f"{where}: has {len(values)} columns; `field={self.field}` does not exist"
            raise InputError(reason, "fix the line, or choose another `field`")
        return values[:column], values[column], values[column + 1 :]


class CsvTable(TsvTable):
    """Comma-separated values; quoted ones may have several lines.

    The header gets the names of additional fields.
    """

    def split(self, stream: Iterable[bytes]) -> Iterator[bytes]:
        """Split a file where a line ends outside of quotes."""
        lines = iter(stream)
        for raw in lines:
            parts, size, quoted = [raw], len(raw), raw.count(b'"') % 2
            while quoted and size < shards.MAX_BYTES and (line := next(lines, b"")):
                parts.append(line)
                size += len(line)
                quoted = (quoted + line.count(b'"')) % 2
            yield b"".join(parts)

    def is_complete(self, raw: bytes) -> bool:
        """Return whether a record has its end, outside of quotes."""
        return raw.endswith(b"\n") and raw.count(b'"') % 2 == 0

    def read(self, text: str, where: str) -> Record | None:
        """Read a record; empty ones pass unchanged."""
        try:
            values = next(csv.reader([text], strict=True), [])
        except csv.Error as error:
            raise InputError(f"{where}: is not CSV ({error})", "fix the record") from None
        end = "\r" * text.endswith("\r")
        if self.column is None:
            self._find_column(values, where)
            return Record(Line(""), lambda _, extra: _as_csv([*values, *extra]) + end)
        if not values:
            return None
        before, value, after = self._around(values, where)
        source = value.replace("\n", " ").replace("\r", " ")

        def as_line(translation: str, extra: dict[str, Any]) -> str:
            changed = value if translation == source else translation
            return _as_csv([*before, changed, *after, *map(column_text, extra.values())]) + end

        return Record(Line(source), as_line)

    def failed(self, text: str, extra: dict[str, str]) -> str:
        """Return the record that fails, as far as it can be read, and additional fields."""
        return _as_csv([*next(csv.reader([text]), []), *extra.values()])


def _as_csv(values: list[str]) -> str:
    record = io.StringIO()
    csv.writer(record).writerow(values)  # quotes what is in its line ends: CR and LF
    return record.getvalue().removesuffix("\r\n")


class JsonLines(Lines):
    """One JSON object per line; the bytes of all other fields stay.

    Unpaired surrogates, which JSON can spell, are handled as invalid UTF-8 is.
    """

    keeps_cr = True

    def read(self, text: str, where: str) -> Record | None:
        """Read an object; blank lines pass unchanged."""
        if is_blank(text):
            return None
        field, spans = self.options.field or "", _spans(text, where)
        if field not in spans:
            hint = f"it has {', '.join(spans) or 'none'}; choose one with `field`"
            raise InputError(f"{where}: has no field {field!r}", hint)
        start, end, value = spans[field]
        value, spelled = self._valid(value, text[start:end], f"{where}: the field {field!r}")
        source = value.replace("\n", " ").replace("\r", " ")

        def as_json(extra: dict[str, Any], line: str = text) -> str:
            existing = sorted(extra.keys() & spans.keys())
            if existing:
                reason = f"{where}: already has a field {existing[0]!r}, which an option would add"
                raise InputError(reason, "rename it first")
            added = json.dumps(extra, ensure_ascii=False)[1:-1]
            close = line.rindex("}")
            return f"{line[:close]}, {added}{line[close:]}" if extra else line

        def as_line(translation: str, extra: dict[str, Any]) -> str:
            # What does not change, such as a blank field, stays as it is spelled.
            unchanged = translation == source
            changed = spelled if unchanged else json.dumps(translation, ensure_ascii=False)
            return as_json(extra, text[:start] + changed + text[end:])

        return Record(Line(source), as_line, as_json)

    def _valid(self, value: Any, spelled: str, where: str) -> tuple[str, str]:
        """Return a field's text and its JSON, without unpaired surrogates."""
        if not isinstance(value, str):
            raise InputError(f"{where} is not text", "choose another `field`")
        if not _has_surrogates(value):
            return value, spelled
        if self.policy == STRICT:
            reason = f"{where} has half a surrogate pair"
            raise InputError(reason, "fix it, or use `errors=replace`")
        replaced = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        value = replaced if self.policy == REPLACE else ""
        return value, json.dumps(value, ensure_ascii=False)

    def failed(self, text: str, extra: dict[str, str]) -> str:
        """Return the object that fails, or one with the line, and the error."""
        try:
            record = dict(json.loads(text))
        except (ValueError, TypeError, RecursionError):
            record = {"line": text}
        record["error"] = extra["error"]
        output = json.dumps(record, ensure_ascii=False)
        return json.dumps(record) if _has_surrogates(output) else output


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _spans(text: str, where: str) -> dict[str, tuple[int, int, Any]]:
    """Return start, end and value of each field of an object."""
    try:
        if not isinstance(json.loads(text), dict):
            raise InputError(f"{where}: is not a JSON object", "give one object per line")
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({error})", "give one object per line") from None
    # The whole line is valid JSON: what separates the fields needs no checks.
    decoder, spans = json.JSONDecoder(), {}
    index = text.index("{") + 1
    while (start := text.find('"', index)) >= 0:
        name, index = decoder.raw_decode(text, start)
        start = text.index(":", index) + 1
        while text[start] in " \t\r\n":
            start += 1
        value, index = decoder.raw_decode(text, start)
        spans[name] = (start, index, value)
    return spans
