"""Records in files of text: how they are split, translated and written.

A form finds the text to translate in each record and puts the translation in its place; everything
else stays unchanged.
"""

import csv
import io
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from nmt_cli.errors import InputError, NmtError
from nmt_cli.jobs import shards
from nmt_cli.jobs.options import COLUMN, TranslateOptions
from nmt_cli.jobs.shards import Form, RowTranslator, Shard, error_line, extra_fields, extra_names
from nmt_cli.search.lines import Line, Translation
from nmt_cli.text.lines import BYTE_ORDER_MARK, REPLACE, STRICT, decode_lines, is_blank

if TYPE_CHECKING:
    from nmt_cli.jobs.folders import DataPath

csv.field_size_limit(1 << 30)
_SURROGATE = re.compile("[\ud800-\udfff]")  # not a pair, which would be one character


@dataclass(frozen=True)
class Record:
    """A record of input."""

    line: Line
    # Returns the record of output for a translation and additional fields by name.
    as_line: Callable[[str, dict[str, Any]], str]
    # Returns a JSON object with the source and fields by name; not for tables.
    as_json: Callable[[dict[str, Any]], str] = str


# A record as its form reads it: None if it passes unchanged.
_Read = Record | NmtError | None


class Lines:
    """One sentence per line, with constraints if requested; the base of other forms of text.

    An instance reads one file.

    Attributes:
        keeps_cr: whether records include the CR of CRLF.
        column: the index of the translated field; None until the header is read.
        outputs_each: lines of output for each record.
    """

    keeps_cr = False
    column: int | None = 0

    def __init__(self, options: TranslateOptions) -> None:
        self.options = options
        self.policy = STRICT if options.errors == COLUMN else options.errors
        self.outputs_each = 1 if options.json else options.decoding.n_best

    def split(self, stream: Iterable[bytes]) -> Iterator[bytes]:
        """Split a file into records, which include their ends."""
        return iter(stream)  # a generator would close the file when it ends

    def is_complete(self, raw: bytes) -> bool:
        """Return whether a record has its end."""
        return raw.endswith(b"\n")

    def completed(self, output: Iterable[bytes]) -> tuple[int, int]:
        """Return how many records an interrupted output completes, and their size in bytes."""
        outputs = size = position = 0
        for raw in self.split(output):
            if not self.is_complete(raw):
                break
            outputs, position = outputs + 1, position + len(raw)
            if outputs % self.outputs_each == 0:
                size = position
        return outputs // self.outputs_each, size

    def read(self, text: str, where: str) -> Record | None:
        """Read a record without its end; None if it passes unchanged. Errors name ``where``."""
        source, *phrases = text.split("\t") if self.options.constraints else [text]
        constraints = tuple(phrase for phrase in phrases if not is_blank(phrase))

        def as_json(extra: dict[str, Any]) -> str:
            return json.dumps({"source": source, **extra}, ensure_ascii=False)

        return Record(Line(source, constraints), _as_columns, as_json)

    def failed(self, text: str, extra: dict[str, str]) -> str:
        """Return the output for a record that fails: the record, and additional fields."""
        if self.options.json:
            return json.dumps({"source": text, "error": extra["error"]}, ensure_ascii=False)
        return "\t".join([text, *extra.values()])

    def written(self, record: Record, translation: Translation) -> list[str]:
        """Return the lines of output for a record."""
        options, n_best = self.options, translation.n_best
        if not options.json:
            return [record.as_line(best.text, extra_fields(best, options)) for best in n_best]
        objects = [{"translation": best.text, **extra_fields(best, options)} for best in n_best]
        others = {"n_best": objects} if translation.others else {}
        return [record.as_json({**objects[0], **others, "seconds": round(translation.seconds, 6)})]

    def read_header(self, raw: bytes, name: str) -> None:
        """Read the header of a file that is read from a later record on."""
        text = raw.decode("utf-8", "replace").removeprefix(BYTE_ORDER_MARK)
        self.read(text.rstrip("\n"), f"{name}, line 1")

    def stream(self, raws: Iterable[bytes], first: int, rows: RowTranslator) -> Iterator[list[str]]:
        """Translate records, in order; yields the lines of output of each.

        ``first`` is the number of the first record, from 1. If a record cannot be read, the
        records before it are translated first.
        """
        waiting: deque[tuple[str, _Read]] = deque()
        failures: list[NmtError] = []

        def lines() -> Iterator[Line]:
            try:
                for text, record in self._records(raws, first, rows.name):
                    waiting.append((text, record))
                    # A record that passes unchanged is translated as a blank line.
                    yield record.line if isinstance(record, Record) else Line("")
            except NmtError as error:  # translate the records before it first
                failures.append(error)

        for translation in rows.translate(lines(), first):
            yield self._output(*waiting.popleft(), translation)
        if failures:
            raise failures[0]

    def _records(self, raws: Iterable[bytes], first: int, name: str) -> Iterator[tuple[str, _Read]]:
        if self.options.errors != COLUMN:
            texts = decode_lines(raws, name, self.policy, keep_cr=self.keeps_cr, first_number=first)
            for number, text in enumerate(texts, first):
                yield text, self.read(text, f"{name}, line {number}")
            return
        for number, raw in enumerate(raws, first):
            try:
                [text] = decode_lines([raw], name, keep_cr=self.keeps_cr, first_number=number)
                yield text, self.read(text, f"{name}, line {number}")
            except NmtError as error:
                if self.column is None:  # concerns every row
                    raise
                yield raw.decode("utf-8", "replace").removesuffix("\n"), error

    def _output(self, text: str, record: _Read, result: Translation | Exception) -> list[str]:
        error = record if isinstance(record, NmtError) else result
        if isinstance(error, Exception):
            extra = dict.fromkeys(extra_names(self.options), "") | {"error": error_line(error)}
            end = "\r" * (self.keeps_cr and text.endswith("\r"))
            return [self.failed(text.removesuffix("\r"), extra) + end] * self.outputs_each
        if isinstance(record, Record) and isinstance(result, Translation):
            return self.written(record, result)
        return [text] * self.outputs_each

    def shards(self, source: "DataPath", rows: int) -> Iterator[Shard]:
        """Cut a file into shards; see :class:`nmt_cli.jobs.shards.Form`."""
        start, size, header = 0, 0, b""
        content: list[bytes] = []
        with source.opened() as stream:
            for raw in self.split(stream):
                if self.column is None:
                    header = raw.removeprefix(BYTE_ORDER_MARK.encode())
                    self.read_header(header, source.name)
                content.append(raw)
                size += len(raw)
                if len(content) == rows or size >= shards.MAX_BYTES:
                    yield Shard(start, start + len(content), header, b"".join(content))
                    start, size, content = start + len(content), 0, []
        if content:
            yield Shard(start, start + len(content), header, b"".join(content))

    def translate(self, shard: Shard, rows: RowTranslator, with_header: bool) -> bytes:
        """Translate a shard; see :class:`nmt_cli.jobs.shards.Form`."""
        raws, first = self.split(io.BytesIO(shard.content)), shard.start + 1
        if shard.start and shard.header and with_header:
            raws, first = chain([shard.header], raws), shard.start
            rows.counts.lines -= 1
        elif shard.start and shard.header:
            self.read_header(shard.header, rows.name)
        outputs = chain.from_iterable(self.stream(raws, first, rows))
        return "".join(f"{line}\n" for line in outputs).encode()


class TsvTable(Lines):
    """Tab-separated columns.

    The field is a column's number, from 1, or its name in the header, which passes unchanged.

    Attributes:
        width: of CSV, the columns of the header or of the first row; 0 until it is read.
    """

    keeps_cr = True
    width = 0

    def __init__(self, options: TranslateOptions) -> None:
        super().__init__(options)
        self.field = options.field or ""
        self.column = int(self.field) - 1 if self.field.isdecimal() else None

    def read(self, text: str, where: str) -> Record | None:
        """Read a row; blank rows pass unchanged, as does the header of TSV."""
        values, end = self._values(text.removesuffix("\r"), where), "\r" * text.endswith("\r")
        if self.column is None:
            if self.field not in values:
                reason = f"{where}: no column is named {self.field!r}"
                raise InputError(reason, f"the first line names {', '.join(values)}")
            self.column = values.index(self.field)
            return self._header(values, end)
        if not values:
            return None
        if self.column >= len(values):
            reason = f"{where}: has {len(values)} columns; `field={self.field}` does not exist"
            raise InputError(reason, "fix the line, or choose another `field`")
        value = values[self.column]
        before, after = values[: self.column], values[self.column + 1 :]

        def as_line(translation: str, extra: dict[str, Any]) -> str:
            columns = [*before, translation, *after]
            if extra:
                columns = [*self._padded(columns), *map(column_text, extra.values())]
            return self._row(columns) + end

        return Record(Line(value), as_line)

    def _values(self, text: str, where: str) -> list[str]:
        return [] if is_blank(text) else text.split("\t")

    def _padded(self, values: list[str]) -> list[str]:
        """Return a row with as many columns as the header has, so that additional ones align."""
        return values + [""] * (self.width - len(values))

    def _header(self, names: list[str], end: str) -> Record | None:
        return None

    def _row(self, columns: Iterable[str]) -> str:
        return "\t".join(column.replace("\t", " ") for column in columns)


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

    def failed(self, text: str, extra: dict[str, str]) -> str:
        """Return the record that fails, as far as it can be read, and additional fields."""
        try:
            values = next(csv.reader([text]), [])
        except csv.Error:  # an end of a line outside of quotes
            values = [text]
        if 0 < self.width < len(values):  # the last column gets what is too much
            values[self.width - 1 :] = [",".join(values[self.width - 1 :])]
        return self._row([*self._padded(values), *extra.values()])

    def _values(self, text: str, where: str) -> list[str]:
        try:
            values = next(csv.reader([text], strict=True), [])
            self.width = self.width or len(values)
            return values
        except csv.Error as error:
            reason = str(error).partition(" - ")[0]  # without what to do in Python
            raise InputError(f"{where}: is not CSV ({reason})", "fix the record") from None

    def _header(self, names: list[str], end: str) -> Record | None:
        return Record(Line(""), lambda _, extra: self._row([*names, *extra]) + end)

    def _row(self, columns: Iterable[str]) -> str:
        record = io.StringIO()
        csv.writer(record).writerow(columns)  # quotes what is in its line ends: CR and LF
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
            unchanged = translation == value
            changed = spelled if unchanged else json.dumps(translation, ensure_ascii=False)
            return as_json(extra, text[:start] + changed + text[end:])

        return Record(Line(value), as_line, as_json)

    def _valid(self, value: Any, spelled: str, where: str) -> tuple[str, str]:
        """Return a field's text and its JSON, without unpaired surrogates."""
        if not isinstance(value, str):
            raise InputError(f"{where} is not text", "choose another `field`")
        if not _SURROGATE.search(value):
            return value, spelled
        if self.policy == STRICT:
            reason = f"{where} has half a surrogate pair"
            raise InputError(reason, "fix it, or use `errors=replace`")
        replaced = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        value = replaced if self.policy == REPLACE else ""
        return value, json.dumps(value, ensure_ascii=False)

    def failed(self, text: str, extra: dict[str, str]) -> str:
        """Return the object that fails, as it is, or one with the line, and the error."""
        error = json.dumps(extra["error"], ensure_ascii=False)
        try:
            spans = _spans(text, "")
        except NmtError:  # not an object
            return f'{{"line": {json.dumps(text, ensure_ascii=False)}, "error": {error}}}'
        if "error" in spans:
            start, end, _ = spans["error"]
            return text[:start] + error + text[end:]
        close = text.rindex("}")
        return f'{text[:close]}{", " * bool(spans)}"error": {error}{text[close:]}'


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


def form_of(options: TranslateOptions) -> Form:
    """Create the form of an input's records."""
    if options.input_format == "parquet":
        from nmt_cli.jobs.parquet import ParquetTable  # needs pyarrow

        return ParquetTable(options)
    forms = {"tsv": TsvTable, "csv": CsvTable, "jsonl": JsonLines}
    return forms.get(options.input_format or "", Lines)(options)


def column_text(value: Any) -> str:
    """Format a value as the text of a column."""
    if isinstance(value, float):
        return f"{value:.6f}"
    if isinstance(value, list):
        return " ".join(map(column_text, value))
    return str(value)


def _as_columns(text: str, extra: dict[str, Any]) -> str:
    if not extra:
        return text
    return "\t".join([text.replace("\t", " "), *map(column_text, extra.values())])
