"""Local jobs: CSV, Parquet and failing rows without Ray, whole, in parts and continued."""

import csv
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nmt_cli.errors import InputError, OutputError
from nmt_cli.jobs import shards
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.shards import Counts
from nmt_cli.jobs.translate import translate_files
from nmt_cli.search.translator import Translator
from tests.harness import nmt
from tests.search.fakes import FakeStepModel, copying, fake_translator

MODEL = Path(__file__).parents[2] / "exports" / "pt-en"
CSV = b'id,text\r\n1,"one\ntwo"\r\n2\r\n3,"three, ""four"""\r\n4,\xff\r\n5,five\r\n'
FAILING = [b'2,,"', b'4,\xef\xbf\xbd,"']


@dataclass
class Model:
    """A model that copies lines."""

    fails_at: str = ""
    has_attention = False

    def translator(self, *options: Any, **settings: Any) -> Translator:
        model = self

        class Failing(Translator):
            def translate(self, lines, first_number=1, seconds=0.0):  # type: ignore[no-untyped-def]
                for translation in super().translate(lines, first_number, 0):
                    if model.fails_at and model.fails_at in translation.text:
                        raise KeyboardInterrupt
                    yield translation

        return Failing(**vars(fake_translator(FakeStepModel(copying))))

    def fingerprint(self) -> list[str]:
        return ["model"]


def run(*files: Path, model: Model | None = None, **given: Any) -> Counts:
    field = "text" if "input_format" in given else None
    options = TranslateOptions(files=files, field=field, **given)
    return translate_files(options, model or Model())  # type: ignore[arg-type]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_bytes(CSV)
    return tmp_path / "a.csv"


@pytest.fixture
def parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shards, "ROWS", 2)
    pq.write_table(pa.table({"text": ["a", "b", None, "d", "e"]}), tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


class TestCsv:
    def whole(self, table: Path) -> bytes:
        output = table.with_name("whole")
        counts = run(table, input_format="csv", errors="column", output=output)
        assert counts.lines == 6
        return output.read_bytes()

    def test_rows_that_fail_stay(self, table: Path) -> None:
        records = self.whole(table).split(b"\r\n")
        assert records[0] == b"id,text,error"
        assert records[1] == b'1,"one\ntwo",'
        assert records[3:4] + records[5:] == [b'3,"three, ""four""",', b"5,five,", b""]
        assert list(map(bytes.startswith, (records[2], records[4]), FAILING)) == [True, True]

    def test_errors_are_in_their_column(self, table: Path) -> None:
        """Whatever the number of a row's columns, and where its lines end."""
        table.write_bytes(b'id,text,n\n1\n2,\xff,3,4\n5,a,\rb\n6,"a"b,7\n8,c\n')
        output = table.with_name("out")
        run(table, input_format="csv", errors="column", output=output)
        rows = list(csv.reader(output.open(newline="")))
        assert [len(row) for row in rows] == [4] * 6
        assert [row[:3] for row in rows[1:]] == [
            ["1", "", ""],
            ["2", "\ufffd", "3,4"],
            ["5,a,\rb", "", ""],
            ["6", "ab", "7"],
            ["8", "c", ""],
        ]
        assert [row[3].partition(": ")[2][:14] for row in rows[1:]] == [
            "has 1 columns;",
            "invalid UTF-8 ",
            "is not CSV (ne",
            "is not CSV (',",
            "",
        ]

    def test_parts_together_are_the_whole(self, table: Path) -> None:
        parts = []
        for number in range(1, 5):
            output = table.with_name(f"part{number}")
            options = {"input_format": "csv", "errors": "column", "shard": f"{number}/4"}
            run(table, output=output, **options)
            parts.append(output.read_bytes())
        assert b"".join(parts) == self.whole(table)

    @pytest.mark.parametrize("cut", [0, 8, 20, 40, 90, 200])
    def test_an_interrupted_job_continues(self, table: Path, cut: int) -> None:
        output = table.with_name("out")
        options = {"input_format": "csv", "errors": "column", "output": output}
        with pytest.raises(KeyboardInterrupt):
            run(table, model=Model("five"), **options)
        part = table.with_name("out.part")
        part.write_bytes(part.read_bytes()[:cut])
        run(table, resume=True, **options)
        assert output.read_bytes() == self.whole(table)

    def test_strict(self, table: Path) -> None:
        with pytest.raises(InputError, match="line 3: has 1 columns"):
            run(table, input_format="csv", output=table.with_name("out"))


def test_json_rows_that_fail_stay_as_they_are(tmp_path: Path) -> None:
    rows = [
        r'{"n": 1.0,  "text": "\ud800", "z":"\u0041"}',
        '{"text" : 5, "error":  "old" }',
        "{}",
        r'{"\ud800": 1}',
        "no",
    ]
    (tmp_path / "a.jsonl").write_text("".join(f"{row}\n" for row in rows))
    run(
        *[tmp_path / "a.jsonl"],
        **{"input_format": "jsonl", "errors": "column", "output": tmp_path / "out"},
    )
    outputs = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert outputs[0].startswith(rows[0][:-1] + ', "error": "')
    assert outputs[1].startswith('{"text" : 5, "error":  "')
    assert outputs[1].endswith('" }')
    assert outputs[2].startswith('{"error": "')
    assert outputs[3].startswith(r'{"\ud800": 1, "error": "')
    assert json.loads(outputs[4])["line"] == "no"
    assert all(json.loads(output)["error"] for output in outputs)


@pytest.mark.parametrize("options", [{}, {"json": True}, {"input_format": "csv"}])
def test_an_input_that_becomes_shorter(tmp_path: Path, options: dict[str, Any]) -> None:
    path, output = tmp_path / "a.txt", tmp_path / "out"
    path.write_bytes(b"text\n" + b"a\n" * 100_000)

    def shortening(source: tuple[int, ...], history: tuple[int, ...]) -> dict[int, float]:
        os.truncate(path, 5)
        return copying(source, history)

    model = Model()
    model.translator = lambda *_, **__: fake_translator(FakeStepModel(shortening))  # type: ignore
    with pytest.raises(InputError, match=r"a\.txt: became shorter while it was read, so that"):
        run(path, model=model, output=output, **options)
    assert not output.exists()


def test_the_name_of_a_file_implies_how_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,one\n")
    options = TranslateOptions(
        files=(tmp_path / "a.csv",), output=tmp_path / "out", field="text", tokens=True
    )
    translate_files(options, Model())  # type: ignore[arg-type]
    assert (tmp_path / "out").read_text().startswith("id,text,tokens\n1,one,")


class TestParquet:
    def test_without_pyarrow(self, parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in sys.modules if name.startswith("nmt_cli.jobs.parquet")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        result = nmt(
            *["translate", parquet, "-o", "out", "-m", MODEL],
            *["--input-format", "parquet", "--field", "text"],
            cwd=parquet.parent,
        )
        assert (result.code, result.out) == (1, b"")
        assert result.message.startswith("nmt: this command needs pyarrow; pip install ")

    def test_a_folder_of_shards(self, parquet: Path) -> None:
        output = parquet.with_name("out")
        counts = run(parquet, input_format="parquet", scores=True, output=output)
        assert (counts.lines, counts.sentences) == (5, 4)
        names = sorted(path.name for path in output.iterdir())
        assert [name[:25] for name in names[:-1]] == [
            f"{start:012}-{min(start + 2, 5):012}" for start in (0, 2, 4)
        ]
        assert names[-1] == "_SUCCESS"
        columns = pq.read_table(output)
        assert columns["text"].to_pylist() == ["a", "b", None, "d", "e"]
        assert columns["score"].null_count == 0

    def test_text_that_is_not_utf_8(self, parquet: Path) -> None:
        content = pa.array(["a", "?", None])
        buffers = [content.buffers()[0], content.buffers()[1], pa.py_buffer(b"a\xff")]
        table = pa.table({"text": pa.StringArray.from_buffers(3, *buffers[1:], buffers[0], 1)})
        pq.write_table(table, parquet)
        output, options = parquet.with_name("out"), {"input_format": "parquet", "force": True}
        with pytest.raises(InputError, match="row 2: the column 'text' is not valid UTF-8; fix it"):
            run(parquet, output=output, **options)
        for policy, text in (("replace", "\ufffd"), ("skip-line", "")):
            run(parquet, output=output, errors=policy, **options)
            assert pq.read_table(output)["text"].to_pylist() == ["a", text, None]
        run(parquet, output=output, errors="column", **options)
        columns = pq.read_table(output)
        assert columns["text"].cast(pa.binary()).to_pylist() == [b"a", b"\xff", None]
        assert [bool(error) for error in columns["error"].to_pylist()] == [False, True, False]

    def test_an_interrupted_job_continues(
        self, parquet: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        output, options = parquet.with_name("out"), {"input_format": "parquet"}
        with pytest.raises(KeyboardInterrupt):
            run(parquet, model=Model("d"), output=output, **options)
        [first] = output.iterdir()
        written = first.stat().st_mtime_ns
        with pytest.raises(OutputError, match="left by an interrupted translation"):
            run(parquet, output=output, **options)
        with pytest.raises(OutputError, match="was started with another model, other options"):
            run(parquet, output=output, resume=True, scores=True, **options)
        assert run(parquet, output=output, resume=True, **options).lines == 3
        assert first.stat().st_mtime_ns == written
        assert run(parquet, output=output, resume=True, **options).lines == 0
        assert caplog.messages == [f"{output}: already complete"]
        whole = parquet.with_name("whole")
        run(parquet, output=whole, **options)
        for path in whole.iterdir():
            assert (output / path.name).read_bytes() == path.read_bytes()
