"""Shards of files: ranges of rows that one task reads, translates and writes."""

import csv
import io
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from nmt_cli.errors import NmtError, first_line
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.pairs import pairs_of
from nmt_cli.jobs.records import Record, as_csv
from nmt_cli.jobs.translate import Counts, details, form_of, written
from nmt_cli.ray.places import Place
from nmt_cli.search.rejoining import Translation
from nmt_cli.search.translator import Line, Translator
from nmt_cli.text.lines import COLUMN, decode_lines

logger = logging.getLogger(__name__)

# A shard ends after so many bytes, even if it has fewer rows than requested: this bounds memory.
MOST_BYTES = 16 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# A row as its form reads it; None if it passes unchanged.
Parsed = Record | Exception | None
_TYPES = {"score": pa.float64(), "error": pa.string()}  # other details are lists of text


@dataclass(frozen=True)
class Shard:
    """Rows of a file: lines with their ends, or the bytes of an Arrow stream.

    Attributes:
        start, end: the range of row numbers, from 0; the end is exclusive.
        header: the first row of the file if it names the columns.
    """

    start: int
    end: int
    header: bytes
    content: bytes


def read_shards(source: Place, options: TranslateOptions, rows: int) -> Iterator[Shard]:
    """Read a file in shards of so many rows, at most, which depend on the file only.

    Raises:
        NmtError: the file cannot be read, or has no such field.
    """
    if options.input_format == "parquet":
        yield from _parquet_shards(source, options.field or "", rows)
        return
    named = options.input_format in ("tsv", "csv") and not (options.field or "").isdecimal()
    start, size, header = 0, 0, b""
    part: list[bytes] = []
    with source.opened() as stream:
        for raw in _records(stream, options):
            if named and not header:
                header = raw.removeprefix(_BYTE_ORDER_MARK)
                form_of(options)(
                    header.decode("utf-8", "replace").rstrip("\n"), f"{source.name}, line 1"
                )
            part.append(raw)
            size += len(raw)
            if len(part) == rows or size >= MOST_BYTES:
                yield Shard(start, start + len(part), header, b"".join(part))
                start, size, part = start + len(part), 0, []
    if part:
        yield Shard(start, start + len(part), header, b"".join(part))


def _records(stream: BinaryIO, options: TranslateOptions) -> Iterator[bytes]:
    """Lines with their ends; CSV records, whose quoted fields may have several lines."""
    for raw in stream:
        while options.input_format == "csv" and raw.count(b'"') % 2 and len(raw) < MOST_BYTES:
            following = next(iter(stream), b"")
            if not following:
                break
            raw += following
        yield raw


def _parquet_shards(source: Place, field: str, rows: int) -> Iterator[Shard]:
    try:
        with source.system.open_input_file(source.path) as stream:
            file = pq.ParquetFile(stream)
            check_column(file.schema_arrow, field, source.name)
            start = 0
            for batch in file.iter_batches(rows):
                most = max(1, batch.num_rows * MOST_BYTES // max(batch.nbytes, MOST_BYTES))
                for at in range(0, batch.num_rows, most):
                    piece = batch.slice(at, most)
                    yield Shard(start, start + piece.num_rows, b"", _arrow_bytes(piece))
                    start += piece.num_rows
            if not start:  # a file without rows has columns
                yield Shard(0, 0, b"", _arrow_bytes(file.schema_arrow.empty_table()))
    except (pa.ArrowException, OSError) as error:
        reason = f"{source.name}: not a Parquet file that can be read ({first_line(error)})"
        raise NmtError(reason, "check the file and --input-format") from None


def check_column(schema: pa.Schema, field: str, name: str) -> None:
    """Check that a table has a column of text; ``name`` is the table's in messages.

    Raises:
        NmtError: it does not.
    """
    types = {each.name: each.type for each in schema}
    if field not in types:
        reason = f"{name}: no column is named {field!r}"
        raise NmtError(reason, f"it has {', '.join(types)}; choose one with --field")
    if not (pa.types.is_string(types[field]) or pa.types.is_large_string(types[field])):
        reason = f"{name}: the column {field!r} is {types[field]}, not text"
        raise NmtError(reason, "choose another --field")


def _arrow_bytes(rows: pa.RecordBatch | pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    return sink.getvalue().to_pybytes()


@dataclass
class ShardTranslator:
    """Translates shards of one file.

    Attributes:
        translator: how to translate; its messages name the file.
        options: how rows are read and written.
        name: of the file, for errors.
        pairs: write each line, its translation and what becomes of them (see ``Pair``).
        each_header: begin each shard with the header, not only the first.
        begin_row: called with the number of each row, which is then translated by itself.
    """

    translator: Translator
    options: TranslateOptions
    name: str
    pairs: bool = False
    each_header: bool = False
    begin_row: Callable[[int], None] | None = None

    def translate(self, shard: Shard, counts: Counts) -> bytes:
        """Translate a shard, which is counted; returns the content of its file.

        Raises:
            NmtError: a row cannot be read or translated, unless errors go to a column.
        """
        if self.options.input_format == "parquet":
            return self._table(shard, counts)
        raws = list(_records(io.BytesIO(shard.content), self.options))
        repeated = [shard.header] if shard.start and shard.header else []
        first = shard.start + 1 - len(repeated)
        rows = list(self._parsed(chain(repeated, raws), first))
        lines = [row.line if isinstance(row, Record) else Line("") for _, row in rows]
        found = self._found(lines, first, counts)
        counts.lines -= len(repeated)
        if self.pairs:
            pairs = pairs_of([line.text for line in lines], found)
            chosen = (each if each[0] == "written" else each[:1] for each in pairs)
            return "".join(f"{word}\n" for each in chosen for word in each).encode()
        output = [self._written(*row, each) for row, each in zip(rows, found, strict=True)]
        kept = output if self.each_header else output[len(repeated) :]
        return "".join(f"{line}\n" for lines in kept for line in lines).encode()

    def _parsed(self, raws: Iterable[bytes], first: int) -> Iterator[tuple[str, Parsed]]:
        options = self.options
        keeping = options.errors == COLUMN
        policy = replace(options, errors="strict") if keeping else options
        form, warn = form_of(policy), logger.warning
        for number, raw in enumerate(raws, start=first):
            with_cr = options.input_format is not None
            try:
                [line] = decode_lines([raw], self.name, policy.errors, warn, with_cr, number)
                yield line, form(line, f"{self.name}, line {number}")
            except NmtError as error:
                if not keeping:
                    raise
                yield raw.decode("utf-8", "replace").rstrip("\r\n"), error

    def _found(self, lines: list[Line], first: int, counts: Counts) -> list[Any]:
        """The translation of each line, or the error that prevents it."""
        if len(lines) <= 1 or not self.begin_row:
            try:
                if self.begin_row:
                    self.begin_row(first)
                found: list[Any] = list(self.translator.translate(lines, first))
                counts.lines += len(found)
                counts.sentences += sum(bool(each.tokens) for each in found)
                counts.tokens += sum(len(each.tokens) for each in found)
                return found
            except Exception as error:
                if self.options.errors != COLUMN:
                    raise
                if len(lines) == 1:
                    counts.lines += 1
                    return [error]
        half = len(lines) // 2
        rest = self._found(lines[half:], first + half, counts)
        return [*self._found(lines[:half], first, counts), *rest]

    def _written(self, raw: str, row: Parsed, found: Any) -> list[str]:
        """The lines of output for a row."""
        problem = next((each for each in (row, found) if isinstance(each, Exception)), None)
        if problem is None and isinstance(row, Record):
            return written(row, found, self.options)
        count = self.options.decoding.n_best
        return [self._failed(raw, _message(problem)) if problem else raw] * count

    def _failed(self, raw: str, message: str) -> str:
        """A row as it is, with an error."""
        if self.options.input_format == "jsonl":
            try:
                record = dict(json.loads(raw))
            except (ValueError, TypeError, RecursionError):
                record = {"line": raw}
            return json.dumps({**record, "error": message}, ensure_ascii=False)
        added = [*[""] * (len(self._names()) - 1), message]
        if self.options.input_format == "csv":
            return as_csv([*next(csv.reader([raw]), []), *added])
        return "\t".join([raw, *added])

    def _names(self) -> list[str]:
        return list(details(Translation("", 0.0, []), self.options))

    def _table(self, shard: Shard, counts: Counts) -> bytes:
        table = pa.ipc.open_stream(shard.content).read_all()
        sink = pa.BufferOutputStream()
        pq.write_table(self.table(table, shard.start + 1, counts), sink)
        return sink.getvalue().to_pybytes()

    def table(self, table: pa.Table, first: int, counts: Counts) -> pa.Table:
        """Translate a column of a table whose first row has this number; the rows are counted.

        Raises:
            NmtError: there is no such column of text, or a row cannot be translated, unless errors
                go to a column.
        """
        field = self.options.field or ""
        check_column(table.schema, field, self.name)
        given = table[field].to_pylist()
        lines = [Line((text or "").replace("\n", " ").replace("\r", " ")) for text in given]
        found = self._found(lines, first, counts)
        texts = [
            text if isinstance(each, Exception) or each.text == line.text else each.text
            for text, line, each in zip(given, lines, found, strict=True)
        ]
        place = table.schema.get_field_index(field)
        column = pa.array(texts, table.schema.field(place).type)
        table = table.set_column(place, table.schema.field(place), column)
        for name in self._names():
            if name in table.column_names:
                reason = f"{self.name}: already has a column {name!r}, which an option would add"
                raise NmtError(reason, "rename it first")
            if name == "error":
                values = [_message(each) if isinstance(each, Exception) else None for each in found]
            else:
                values = [
                    None if isinstance(each, Exception) else details(each, self.options)[name]
                    for each in found
                ]
            column = pa.array(values, _TYPES.get(name, pa.list_(pa.string())))
            table = table.append_column(name, column)
        return table


def _message(error: Exception) -> str:
    """An error as a line without tabs."""
    return " ".join(str(error).split()) or type(error).__name__
