"""Parquet files, one column of which is translated; each shard becomes a file of its own."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from nmt_cli.errors import InputError, NmtError, first_line
from nmt_cli.jobs import shards
from nmt_cli.jobs.folders import DataPath
from nmt_cli.jobs.options import COLUMN, TranslateOptions
from nmt_cli.jobs.shards import RowTranslator, Shard, error_line, extra_fields, extra_names
from nmt_cli.search.lines import Line, Translation
from nmt_cli.text.lines import REPLACE, STRICT

_TYPES = {"score": pa.float64(), "error": pa.string()}  # other additional fields are lists of text


class ParquetTable:
    """Tables with a column of text; all other columns, types and nulls stay."""

    def __init__(self, options: TranslateOptions) -> None:
        self.options = options
        self.field = options.field or ""

    def shards(self, source: DataPath, rows: int) -> Iterator[Shard]:
        """Cut a file into shards; see :class:`nmt_cli.jobs.shards.Form`."""
        start = 0
        try:
            with source.system.open_input_file(source.path) as stream:
                file = pq.ParquetFile(stream)
                self._check_column(file.schema_arrow, source.name)
                for batch in file.iter_batches(rows):
                    largest = max(batch.nbytes, shards.MAX_BYTES)
                    size = max(1, batch.num_rows * shards.MAX_BYTES // largest)
                    for offset in range(0, batch.num_rows, size):
                        part = batch.slice(offset, size)
                        yield Shard(start, start + part.num_rows, b"", _arrow_stream(part))
                        start += part.num_rows
                if not start:  # a file without rows has columns
                    yield Shard(0, 0, b"", _arrow_stream(file.schema_arrow.empty_table()))
        except (pa.ArrowException, OSError) as error:
            reason = f"{source.name}: not a Parquet file that can be read ({first_line(error)})"
            raise InputError(reason, "check the file and `input_format`") from None

    def translate(self, shard: Shard, rows: RowTranslator, with_header: bool) -> bytes:
        """Translate a shard; see :class:`nmt_cli.jobs.shards.Form`."""
        table = pa.ipc.open_stream(shard.content).read_all()
        sink = pa.BufferOutputStream()
        pq.write_table(self.translate_table(table, shard.start + 1, rows), sink)
        return sink.getvalue().to_pybytes()

    def translate_table(self, table: pa.Table, first: int, rows: RowTranslator) -> pa.Table:
        """Translate a table whose first row has this number."""
        self._check_column(table.schema, rows.name)
        # Text in files of other programs need not be valid UTF-8.
        values = table[self.field].cast(pa.large_binary()).to_pylist()
        texts = [
            self._text(value or b"", f"{rows.name}, row {number}")
            for number, value in enumerate(values, first)
        ]
        lines = [Line("" if isinstance(text, NmtError) else text) for text in texts]
        results = [
            text if isinstance(text, NmtError) else result
            for text, result in zip(texts, rows.translate(lines, first), strict=True)
        ]
        translated = [
            value
            if isinstance(result, Exception) or result.text.encode() == (value or b"")
            else result.text.encode()
            for value, result in zip(values, results, strict=True)
        ]
        index = table.schema.get_field_index(self.field)
        field = table.schema.field(index)
        column = pa.array(translated, pa.large_binary()).cast(field.type, safe=False)
        table = table.set_column(index, field, column)
        for name in extra_names(self.options):
            if name in table.column_names:
                reason = f"{rows.name}: already has a column {name!r}, which an option would add"
                raise InputError(reason, "rename it first")
            column = [self._value(name, result) for result in results]
            kind = _TYPES.get(name, pa.list_(pa.string()))
            table = table.append_column(name, pa.array(column, kind))
        return table

    def _text(self, value: bytes, where: str) -> str | NmtError:
        """Return a row's text; with ``errors=column``, the error of one that is not valid UTF-8."""
        errors = self.options.errors
        try:
            return value.decode()
        except UnicodeDecodeError:
            if errors not in (STRICT, COLUMN):
                return value.decode("utf-8", "replace") if errors == REPLACE else ""
            reason = f"{where}: the column {self.field!r} is not valid UTF-8"
            error = InputError(reason, "fix it, or use `errors=replace`")
        if errors == STRICT:
            raise error
        return error

    def _value(self, name: str, result: Translation | Exception) -> object:
        """Return an additional field of a row; None if the row has none."""
        if isinstance(result, Exception):
            return error_line(result) if name == "error" else None
        return None if name == "error" else extra_fields(result, self.options)[name]

    def _check_column(self, schema: pa.Schema, name: str) -> None:
        """Check that the table ``name`` has a column of text for the field."""
        types = {column.name: column.type for column in schema}
        if self.field not in types:
            reason = f"{name}: no column is named {self.field!r}"
            raise InputError(reason, f"it has {', '.join(types)}; choose one with `field`")
        kind = types[self.field]
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            reason = f"{name}: the column {self.field!r} is {kind}, not text"
            raise InputError(reason, "choose another `field`")


def _arrow_stream(rows: pa.RecordBatch | pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    return sink.getvalue().to_pybytes()
