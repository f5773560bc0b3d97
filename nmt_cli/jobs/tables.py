"""Tables of tab-separated and comma-separated values, one column of which is translated.

The field is a column's number, from 1, or its name in the header, the first record of the file.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from nmt_cli.errors import InputError
from nmt_cli.jobs import shards
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.records import Lines, Record, column_text, json_with_source
from nmt_cli.search.translator import Line
from nmt_cli.text.lines import is_blank


class TsvTable(Lines):
    """Tab-separated columns; a header passes unchanged."""

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
            self.find_column(values, where)
            return None
        if is_blank(text):
            return None
        before, source, after = self.around(values, where)

        def as_line(translation: str, extra: dict[str, Any]) -> str:
            changed = translation.replace("\t", " ")
            columns = [*before, changed, *after, *map(column_text, extra.values())]
            return "\t".join(columns) + "\r" * text.endswith("\r")

        return Record(Line(source), as_line, json_with_source(source))

    def find_column(self, names: list[str], where: str) -> None:
        """Find the field in the header."""
        if self.field not in names:
            reason = f"{where}: no column is named {self.field!r}"
            raise InputError(reason, f"the first line names {', '.join(names)}")
        self.column = names.index(self.field)

    def around(self, values: list[str], where: str) -> tuple[list[str], str, list[str]]:
        """Return the values before the field, the field, and the values after it."""
        column = self.column or 0
        if column >= len(values):
            reason = f"{where}: has {len(values)} columns; `field={self.field}` does not exist"
            raise InputError(reason, "fix the line, or choose another `field`")
        return values[:column], values[column], values[column + 1 :]


class CsvTable(TsvTable):
    """Comma-separated values, whose quoted fields may have several lines.

    The header gets the names of additional fields.
    """

    def __init__(self, options: TranslateOptions) -> None:
        super().__init__(options)
        csv.field_size_limit(1 << 30)

    def split(self, stream: Iterable[bytes]) -> Iterator[bytes]:
        """Split a file where a line ends outside of quotes."""
        lines = iter(stream)
        for raw in lines:
            if raw.count(b'"') % 2:
                parts, size = [raw], len(raw)
                while size < shards.MAX_BYTES and (line := next(lines, b"")):
                    parts.append(line)
                    size += len(line)
                    if line.count(b'"') % 2:
                        break
                raw = b"".join(parts)
            yield raw

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
            self.find_column(values, where)
            return Record(Line(""), lambda _, extra: as_csv([*values, *extra]) + end, str)
        if not values:
            return None
        before, value, after = self.around(values, where)
        source = value.replace("\n", " ").replace("\r", " ")

        def as_line(translation: str, extra: dict[str, Any]) -> str:
            changed = value if translation == source else translation
            return as_csv([*before, changed, *after, *map(column_text, extra.values())]) + end

        return Record(Line(source), as_line, str)

    def failed(self, text: str, extra: dict[str, str]) -> str:
        """Return the record that fails, as far as it can be read, and additional fields."""
        return as_csv([*next(csv.reader([text]), []), *extra.values()])


def as_csv(values: list[str]) -> str:
    """Return a record of comma-separated values, without its end."""
    record = io.StringIO()
    csv.writer(record).writerow(values)  # quotes what is in its line ends: CR and LF
    return record.getvalue().removesuffix("\r\n")
