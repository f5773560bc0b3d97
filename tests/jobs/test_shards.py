"""Shards of files: what they contain, and what is written for them, with any number of rows."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_cli.errors import InputError, NmtError
from nmt_cli.jobs import shards
from nmt_cli.jobs.folders import DataPath
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.records import Lines, form_of
from nmt_cli.jobs.shards import Counts, RowTranslator, Shard
from nmt_cli.search.translator import Translator
from tests.search.fakes import FakeStepModel, copying, fake_translator

COPIER = fake_translator(FakeStepModel(copying))
CSV = '\ufeffid,text\r\n1,"two\nlines, ""quoted"""\r\n2,\r\n3,"two, commas"\r\n4,"\n"\r\n'
FILES = {
    "plain": ("\ufeffone\n\ntwo\r\n\u2028three\nfour", {}),
    "tsv": ("a\ttext\n1\tone\n\n2\ttwo\r\n3\t\n", {"input_format": "tsv", "field": "text"}),
    "numbered tsv": ("1\tone\n2\ttwo\n", {"input_format": "tsv", "field": "2"}),
    "jsonl": (
        '{"text": "one", "n": 1}\n\n{"n": 2, "text": "a\\nb"}\n{"text": ""}\n',
        {"input_format": "jsonl", "field": "text"},
    ),
    "constraints": ("one\tone\ntwo\nthree\n", {"constraints": True}),
    "scores": ("one\ntwo\nthree\n", {"scores": True, "tokens": True}),
}


@pytest.fixture(params=[1, 2, 100])
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Rows of a shard."""
    monkeypatch.setattr(shards, "ROWS", request.param)
    return int(request.param)


def chosen(**given: Any) -> TranslateOptions:
    return TranslateOptions(**given)


def read(path: Path, given: TranslateOptions) -> list[Shard]:
    return list(form_of(given).shards(DataPath.of(path), shards.ROWS))


def content(shard: Shard, given: TranslateOptions, **more: Any) -> bytes:
    """What is written for a shard."""
    rows = RowTranslator(more.pop("translator", COPIER), given, more.pop("name", "in"), **more)
    return form_of(given).translate(shard, rows, with_header=False)


def translated(path: Path, given: TranslateOptions) -> bytes:
    """The shards of a file, translated and concatenated."""
    return b"".join(content(shard, given, name=str(path)) for shard in read(path, given))


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("name", FILES)
def test_shards_together_are_what_a_stream_is(tmp_path: Path, name: str) -> None:
    text, given = FILES[name]
    for suffix, content in (("", text.encode()), (".gz", gzip.compress(text.encode()))):
        path = tmp_path / f"text{suffix}"
        path.write_bytes(content)
        options = chosen(**given)
        form, rows = form_of(options), RowTranslator(COPIER, options, str(path))
        assert isinstance(form, Lines)
        with DataPath.of(path).opened() as stream:
            whole = list(form.stream(form.split(stream), 1, rows))
        expected = "".join(f"{line}\n" for lines in whole for line in lines).encode()
        assert translated(path, options) == expected


def test_csv(tmp_path: Path, rows: int) -> None:
    (tmp_path / "a.csv").write_text(CSV, encoding="utf-8", newline="")
    options = chosen(input_format="csv", field="text", scores=True)
    output = translated(tmp_path / "a.csv", options).decode()
    records = [tuple(row) for row in csv.reader(io.StringIO(output, newline=""))]
    assert [row[:2] for row in records] == [
        ("id", "text"),
        ("1", 'two\nlines, "quoted"'),  # like one that does not change
        ("2", ""),
        ("3", "two, commas"),
        ("4", "\n"),
    ]
    assert [len(row) for row in records] == [3] * 5
    assert records[0][2] == "score"
    # Where shards stay, each has the header.
    translator = RowTranslator(COPIER, options, "a.csv")
    parts = [
        form_of(options).translate(shard, translator, with_header=True)
        for shard in read(tmp_path / "a.csv", options)
    ]
    assert len(parts) == -(-5 // rows)
    assert all(part.startswith(b"id,text,score\r\n") for part in parts)
    assert translator.counts.lines == 5


def test_parquet_keeps_other_columns_types_and_nulls(tmp_path: Path, rows: int) -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2, 3, 4, 5], pa.int8()),
            "text": pa.array(["one", None, "", "a\nb", "five"], pa.large_string()),
            "list": [[1], [], None, [2, 3], [4]],
        }
    )
    path = tmp_path / "t.parquet"
    options = chosen(input_format="parquet", field="text", scores=True)
    pq.write_table(table, path, row_group_size=3)
    tables = []
    for shard in read(path, options):
        written = content(shard, options)
        assert written == content(shard, options)
        tables.append(pq.read_table(pa.BufferReader(written)))
        assert len(tables[-1]) == shard.end - shard.start <= rows
    whole = pa.concat_tables(tables)
    assert whole.schema.names == ["id", "text", "list", "score"]
    assert whole.drop_columns(["text", "score"]).equals(table.drop_columns(["text"]))
    assert whole["text"].to_pylist() == ["one", None, "", "a\nb", "five"]
    assert whole.schema.field("text").type == pa.large_string()


def test_files_without_rows(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert read(tmp_path / "empty", chosen()) == []
    options = chosen(input_format="parquet", field="text")
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "empty.parquet")
    [shard] = read(tmp_path / "empty.parquet", options)
    table = pq.read_table(pa.BufferReader(content(shard, options)))
    assert table.schema.names == ["text"]


def test_long_rows_make_smaller_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MAX_BYTES", 1000)
    (tmp_path / "a").write_text(f"{'x' * 400}\n" * 10)
    ranges = [(shard.start, shard.end) for shard in read(tmp_path / "a", chosen())]
    assert ranges == [(0, 3), (3, 6), (6, 9), (9, 10)]
    pq.write_table(pa.table({"text": ["x" * 400] * 10}), tmp_path / "a.parquet")
    parts = read(tmp_path / "a.parquet", chosen(input_format="parquet", field="text"))
    assert len(parts) == 5
    assert parts[-1].end == 10


class TestErrors:
    BAD: ClassVar = {
        "plain": ("one\n\xff\ntwo\n", {}, ["one\t", "�\tin, line 2: invalid UTF-8", "two\t"]),
        "tsv": (
            "1\tone\n2\n3\ttwo\n",
            {"input_format": "tsv", "field": "2"},
            ["1\tone\t", "2\tin, line 2: has 1 columns; `field=2` does not exist", "3\ttwo\t"],
        ),
        "csv": (
            "id,text\n1,one\n2\n3,two\n",
            {"input_format": "csv", "field": "text"},
            ["id,text,error", "1,one,", '2,,"in, line 3: has 1 columns', "3,two,"],
        ),
        "jsonl": (
            '{"text": "one"}\n[1]\n{"text": 3}\n{"text": "\\ud800"}\n',
            {"input_format": "jsonl", "field": "text"},
            [
                '{"text": "one", "error": ""}',
                '{"line": "[1]", "error": "in, line 2: is not a JSON object',
                '{"text": 3, "error": "in, line 3: the field \'text\' is not text',
                '{"text": "\\ud800", "error": "in, line 4: ',
            ],
        ),
        "json": (
            "one\n\xff\n",
            {"json": True},
            ['{"source": "one", "translation": "one"', '{"source": "�", "error": "in, line 2: '],
        ),
    }

    @pytest.mark.usefixtures("rows")
    @pytest.mark.parametrize("name", BAD)
    def test_rows_that_cannot_be_read(self, tmp_path: Path, name: str) -> None:
        text, given, expected = self.BAD[name]
        (tmp_path / "in").write_text(text, encoding="latin-1")
        options = chosen(errors="column", **given)
        found = read(tmp_path / "in", options)
        output = b"".join(content(shard, options) for shard in found).decode()
        lines = output.split("\n")[:-1]
        assert len(lines) == len(expected)
        assert all(map(str.startswith, lines, expected)), lines
        strict = chosen(**given)
        with pytest.raises(NmtError, match="in, line [23]: "):
            [content(shard, strict) for shard in found]

    @pytest.fixture
    def poisoned(self) -> Translator:
        class Poisoned(Translator):
            def translate(self, lines, first_number=1, seconds=0.0):  # type: ignore[no-untyped-def]
                lines = list(lines)
                if any("poison" in line.text for line in lines):
                    raise RuntimeError("no translation\nof this")
                return super().translate(lines, first_number)

        return Poisoned(**vars(COPIER))

    def test_rows_that_cannot_be_translated(self, poisoned: Translator) -> None:
        lines = [f"line {number}" for number in range(50)]
        lines[7] = lines[31] = "poison"
        shard = Shard(0, 50, b"", "".join(f"{line}\n" for line in lines).encode())
        counts, given = Counts(), chosen(errors="column")
        output = content(shard, given, translator=poisoned, counts=counts).decode()
        bad = "poison\tno translation of this"
        assert output.split("\n")[:-1] == [bad if x == "poison" else f"{x}\t" for x in lines]
        assert (counts.lines, counts.sentences) == (50, 48)
        with pytest.raises(RuntimeError):
            content(shard, chosen(), translator=poisoned)

    def test_rows_of_a_table(self, tmp_path: Path, poisoned: Translator) -> None:
        pq.write_table(pa.table({"text": ["one", "poison", "two"]}), tmp_path / "t")
        given = chosen(errors="column", input_format="parquet", field="text", scores=True)
        [shard] = read(tmp_path / "t", given)
        written = content(shard, given, translator=poisoned)
        found = pq.read_table(pa.BufferReader(written)).to_pydict()
        assert found["text"] == ["one", "poison", "two"]
        assert found["error"] == [None, "no translation of this", None]
        assert [score is None for score in found["score"]] == [False, True, False]

    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            ({"id": [1]}, "t: no column is named 'text'; it has id; choose one with `field`"),
            ({"text": [1]}, "t: the column 'text' is int64, not text; choose another `field`"),
            ({"text": ["a"], "score": [1]}, "t: already has a column 'score', which an option"),
        ],
    )
    def test_tables_without_such_a_column(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        schema: dict[str, list[object]],
        message: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        pq.write_table(pa.table(schema), "t")
        options = chosen(input_format="parquet", field="text", scores=True)
        with pytest.raises(InputError, match=message):
            translated(Path("t"), options)
        Path("t").write_text("text\n")
        with pytest.raises(InputError, match="t: not a Parquet file that can be read"):
            translated(Path("t"), options)

    @pytest.mark.parametrize("kind", ["tsv", "csv"])
    def test_a_header_without_the_field_is_an_error_of_the_file(
        self, tmp_path: Path, kind: str
    ) -> None:
        (tmp_path / "t").write_text("a\nb\n")
        options = chosen(input_format=kind, field="text", errors="column")
        with pytest.raises(InputError, match="t, line 1: no column is named 'text'"):
            translated(tmp_path / "t", options)


def test_translations_in_json_are_valid() -> None:
    shard = Shard(0, 1, b"", b'{"text": "a"}\n')
    options = chosen(input_format="jsonl", field="text", errors="column", scores=True)
    record = json.loads(content(shard, options))
    assert record.keys() == {"text", "score", "quality", "error"}
    assert record["quality"] in range(101)
