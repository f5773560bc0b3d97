"""Shards of files without Ray: what they contain, what is written, and what exists already."""

import csv
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray

from nmt_cli.errors import NmtError, OptionError
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.translate import Counts, Stream
from nmt_cli.ray import shards
from nmt_cli.ray.cluster import Cluster
from nmt_cli.ray.job import Deaths
from nmt_cli.ray.places import Place
from nmt_cli.ray.plan import COMPLETE, FileJob, jobs_of
from nmt_cli.ray.shards import Shard, ShardTranslator, read_shards
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator
from nmt_cli.text.lines import decode_lines
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


def chosen(**given: object) -> TranslateOptions:
    return TranslateOptions(**{"engine": "ray", "output": Path("o"), **given})  # type: ignore[arg-type]


def translated(path: Path, given: TranslateOptions, rows: int, each_header: bool = False) -> bytes:
    """The shards of a file, translated and concatenated."""
    translating = ShardTranslator(COPIER, given, str(path), each_header=each_header)
    found = read_shards(Place.of(path), given, rows)
    return b"".join(translating.translate(each, Counts()) for each in found)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("rows", [1, 2, 100])
def test_shards_together_are_what_one_process_writes(tmp_path: Path, name: str, rows: int) -> None:
    text, given = FILES[name]
    for suffix, content in (("", text.encode()), (".gz", gzip.compress(text.encode()))):
        path = tmp_path / f"text{suffix}"
        path.write_bytes(content)
        options, counts = chosen(**given), Counts()
        with Place.of(path).opened() as stream:
            lines = decode_lines(stream, str(path), keep_cr="field" in given)
            whole = list(Stream(COPIER, options).translate(lines, str(path), counts))
        expected = "".join(f"{line}\n" for lines in whole for line in lines).encode()
        assert translated(path, options, rows) == expected


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_csv(tmp_path: Path, rows: int) -> None:
    (tmp_path / "a.csv").write_text(CSV, encoding="utf-8", newline="")
    options = chosen(input_format="csv", field="text", scores=True)
    output = translated(tmp_path / "a.csv", options, rows).decode()
    found = [tuple(row) for row in csv.reader(io.StringIO(output, newline=""))]
    assert [row[:2] for row in found] == [
        ("id", "text"),
        ("1", 'two\nlines, "quoted"'),  # like one that does not change
        ("2", ""),
        ("3", "two, commas"),
        ("4", "\n"),
    ]
    assert [len(row) for row in found] == [3] * 5
    assert found[0][2] == "score"
    # Where shards stay, each has the header.
    parts = translated(tmp_path / "a.csv", options, rows, each_header=True).decode()
    assert parts.count("id,text,score\r\n") == -(-5 // rows)


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_parquet_keeps_other_columns_types_and_nulls(tmp_path: Path, rows: int) -> None:
    table = pa.table(
        {
            "id": pa.array([1, 2, 3, 4, 5], pa.int8()),
            "text": pa.array(["one", None, "", "a\nb", "five"], pa.large_string()),
            "list": [[1], [], None, [2, 3], [4]],
        }
    )
    path, options = (
        tmp_path / "t.parquet",
        chosen(input_format="parquet", field="text", scores=True),
    )
    pq.write_table(table, path, row_group_size=3)
    translating, found = ShardTranslator(COPIER, options, "t"), []
    for shard in read_shards(Place.of(path), options, rows):
        content = translating.translate(shard, Counts())
        assert content == translating.translate(shard, Counts())
        found.append(pq.read_table(pa.BufferReader(content)))
        assert len(found[-1]) == shard.end - shard.start <= rows
    whole = pa.concat_tables(found)
    assert whole.schema.names == ["id", "text", "list", "score"]
    assert whole.drop_columns(["text", "score"]).equals(table.drop_columns(["text"]))
    assert whole["text"].to_pylist() == ["one", None, "", "a\nb", "five"]
    assert whole.schema.field("text").type == pa.large_string()


def test_files_without_rows(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert list(read_shards(Place.of(tmp_path / "empty"), chosen(), 10)) == []
    options = chosen(input_format="parquet", field="text")
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "empty.parquet")
    [shard] = read_shards(Place.of(tmp_path / "empty.parquet"), options, 10)
    content = ShardTranslator(COPIER, options, "t").translate(shard, Counts())
    assert pq.read_table(pa.BufferReader(content)).schema.names == ["text"]


def test_long_rows_make_smaller_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MOST_BYTES", 1000)
    (tmp_path / "a").write_text(f"{'x' * 400}\n" * 10)
    found = list(read_shards(Place.of(tmp_path / "a"), chosen(), 100))
    assert [(each.start, each.end) for each in found] == [(0, 3), (3, 6), (6, 9), (9, 10)]
    pq.write_table(pa.table({"text": ["x" * 400] * 10}), tmp_path / "a.parquet")
    options = chosen(input_format="parquet", field="text")
    found = list(read_shards(Place.of(tmp_path / "a.parquet"), options, 100))
    assert len(found) == 5
    assert found[-1].end == 10


class TestErrors:
    BAD: ClassVar = {
        "plain": ("one\n\xff\ntwo\n", {}, ["one\t", "�\tin, line 2: invalid UTF-8", "two\t"]),
        "tsv": (
            "1\tone\n2\n3\ttwo\n",
            {"input_format": "tsv", "field": "2"},
            ["1\tone\t", "2\tin, line 2: has 1 columns; --field 2 does not exist", "3\ttwo\t"],
        ),
        "csv": (
            "id,text\n1,one\n2\n3,two\n",
            {"input_format": "csv", "field": "text"},
            ["id,text,error", "1,one,", '2,"in, line 3: has 1 columns', "3,two,"],
        ),
        "jsonl": (
            '{"text": "one"}\n[1]\n{"text": 3}\n',
            {"input_format": "jsonl", "field": "text"},
            [
                '{"text": "one", "error": ""}',
                '{"line": "[1]", "error": "in, line 2: is not a JSON object',
                '{"text": 3, "error": "in, line 3: the field \'text\' is not text',
            ],
        ),
    }

    @pytest.mark.parametrize("name", BAD)
    @pytest.mark.parametrize("rows", [1, 2, 100])
    def test_rows_that_cannot_be_read(self, tmp_path: Path, name: str, rows: int) -> None:
        text, given, expected = self.BAD[name]
        (tmp_path / "in").write_text(text, encoding="latin-1")
        options = chosen(errors="column", **given)
        translating = ShardTranslator(COPIER, options, "in")
        found = list(read_shards(Place.of(tmp_path / "in"), options, rows))
        output = b"".join(translating.translate(each, Counts()) for each in found).decode()
        lines = output.split("\n")[:-1]
        assert len(lines) == len(expected)
        assert all(map(str.startswith, lines, expected)), lines
        strict = replace(translating, options=replace(options, errors="strict"))
        with pytest.raises(NmtError, match="in, line [23]: "):
            [strict.translate(each, Counts()) for each in found]

    def poisoned(self, given: TranslateOptions) -> ShardTranslator:
        class Poisoned(Translator):
            def translate(self, lines, first_number=1, seconds=0.0):  # type: ignore[no-untyped-def]
                lines = list(lines)
                if any("poison" in each.text for each in lines):
                    raise RuntimeError("no translation\nof this")
                return super().translate(lines, first_number)

        return ShardTranslator(Poisoned(**vars(COPIER)), given, "in")

    def test_rows_that_cannot_be_translated(self) -> None:
        lines = [f"line {at}" for at in range(50)]
        lines[7] = lines[31] = "poison"
        shard = Shard(0, 50, b"", "".join(f"{line}\n" for line in lines).encode())
        counts = Counts()
        output = self.poisoned(chosen(errors="column")).translate(shard, counts).decode()
        bad = "poison\tno translation of this"
        assert output.split("\n")[:-1] == [bad if x == "poison" else f"{x}\t" for x in lines]
        assert (counts.lines, counts.sentences) == (50, 48)
        with pytest.raises(RuntimeError):
            self.poisoned(chosen()).translate(shard, counts)

    def test_rows_of_a_table(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"text": ["one", "poison", "two"]}), tmp_path / "t")
        options = chosen(errors="column", input_format="parquet", field="text", scores=True)
        [shard] = read_shards(Place.of(tmp_path / "t"), options, 10)
        content = self.poisoned(options).translate(shard, Counts())
        found = pq.read_table(pa.BufferReader(content)).to_pydict()
        assert found["text"] == ["one", "poison", "two"]
        assert found["error"] == [None, "no translation of this", None]
        assert [each is None for each in found["score"]] == [False, True, False]

    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            ({"id": [1]}, "t: no column is named 'text'; it has id; choose one with --field"),
            ({"text": [1]}, "t: the column 'text' is int64, not text; choose another --field"),
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
        with pytest.raises(NmtError, match=message):
            translated(Path("t"), options, 10)
        Path("t").write_text("text\n")
        with pytest.raises(NmtError, match="t: not a Parquet file that can be read"):
            translated(Path("t"), options, 10)

    @pytest.mark.parametrize("kind", ["tsv", "csv"])
    def test_a_header_without_the_field_is_an_error_of_the_file(
        self, tmp_path: Path, kind: str
    ) -> None:
        (tmp_path / "t").write_text("a\nb\n")
        options = chosen(input_format=kind, field="text", errors="column")
        with pytest.raises(NmtError, match="t, line 1: no column is named 'text'"):
            translated(tmp_path / "t", options, 10)


def test_a_row_that_ends_its_process_twice_is_not_tried_again() -> None:
    deaths, shard = Deaths(), (0, 100)
    assert [deaths.begin(shard) for _ in range(3)] == [(0, []), (1, []), (2, [])]
    deaths.begin_row(shard, 103)
    deaths.begin_row(shard, 104)
    assert deaths.begin(shard) == (3, [])
    deaths.begin_row(shard, 104)
    assert deaths.begin(shard) == (4, [104])
    deaths.end(shard)
    assert deaths.begin(shard) == (0, [])


class TestOutputs:
    def job(self, folder: Path, settings: str = "0" * 16, joined: bool = True) -> FileJob:
        output = Place.of(folder / "out")
        shards = output.plus(".shards") if joined else output
        return FileJob(Place.of(folder / "in.txt"), output, shards, settings)

    def fill(self, job: FileJob, *spans: tuple[int, int]) -> None:
        for start, end in spans:
            name = job.shard(start, end)
            job.shards.plus(f"/{name}").write(f"{start}-{end}\n".encode())

    @pytest.mark.parametrize("joined", [True, False])
    def test_states(self, tmp_path: Path, joined: bool) -> None:
        job, said = self.job(tmp_path, joined=joined), list[str]()
        plain, resumed, forced = chosen(), chosen(resume=True), chosen(force=True)
        assert job.prepare(plain, said.append)
        self.fill(job, (0, 2))
        with pytest.raises(NmtError, match="left by an interrupted translation; continue it with"):
            job.prepare(plain, said.append)
        assert job.prepare(resumed, said.append)
        with pytest.raises(NmtError, match="was started with another model, other options or"):
            self.job(tmp_path, "1" * 16, joined).prepare(resumed, said.append)
        assert self.job(tmp_path, "1" * 16, joined).prepare(forced, said.append)
        assert not Path(job.shards.path).exists()
        self.fill(job, (0, 2), (2, 3))
        (Path(job.shards.path) / ".left").mkdir()
        job.finish(3)
        assert not said
        assert not job.prepare(resumed, said.append)
        assert said == [f"{job.output.name}: already complete"]
        with pytest.raises(NmtError, match=r"out: exists; "):
            job.prepare(plain, said.append)
        if joined:
            assert (tmp_path / "out").read_text() == "0-2\n2-3\n"
            assert not (tmp_path / "out.shards").exists()
        else:
            names = [job.shard(0, 2), job.shard(2, 3), COMPLETE]
            assert sorted(each.name for each in (tmp_path / "out").iterdir()) == names
            assert names[0] == "000000000000-000000000002-0000000000000000.txt"
        assert job.prepare(forced, said.append)

    @pytest.mark.parametrize("spans", [[(0, 2)], [(0, 2), (3, 4)], [(2, 4)], [(0, 5)], []])
    def test_a_missing_shard(self, tmp_path: Path, spans: list[tuple[int, int]]) -> None:
        job = self.job(tmp_path)
        self.fill(job, *spans)
        with pytest.raises(NmtError, match="out.shards: does not have all 4 rows; --output must"):
            job.finish(4)
        assert not (tmp_path / "out").exists()

    def test_foreign_files_are_never_removed(self, tmp_path: Path) -> None:
        job = self.job(tmp_path, joined=False)
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").touch()
        for given in (chosen(), chosen(force=True), chosen(resume=True)):
            with pytest.raises(NmtError, match="out: exists and contains something else"):
                job.prepare(given, print)
        assert (tmp_path / "out" / "mine").exists()

    def test_names(self, tmp_path: Path) -> None:
        for name in ("a.txt", "b.gz", "sub/c.txt", ".hidden", "sub/.d", "x/c.txt"):
            (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "in" / name).touch()

        def outputs(*files: str, output: Path = tmp_path / "out", **given: object) -> list[str]:
            options = chosen(files=tuple(map(Path, files)), output=output, **given)
            jobs = jobs_of(options, Place.of(output), [])
            return [each.output.path.removeprefix(f"{tmp_path}/") for each in jobs]

        folder = tmp_path / "in"
        names = ["a.txt", "b.gz", "sub/c.txt", "x/c.txt"]
        assert outputs(str(folder)) == [f"out/{each}" for each in names]
        assert outputs(f"file://{folder}") == [f"out/{each}" for each in names]
        assert outputs(f"{folder}/*/c.txt") == ["out/sub/c.txt", "out/x/c.txt"]
        assert outputs(f"{folder}/a.txt") == ["out"]
        assert outputs(f"{folder}/a*") == ["out/a.txt"]
        assert outputs(str(folder), input_format="parquet", field="x")[1] == "out/b"
        assert outputs(f"{folder}/a.txt", output=Path(f"file://{tmp_path}/out")) == ["out/a.txt"]
        (tmp_path / "there").mkdir()
        assert outputs(f"{folder}/a.txt", output=tmp_path / "there") == ["there/a.txt"]
        for files, message in {
            (f"{folder}/sub", f"{folder}/x"): "sub/c.txt and .*x/c.txt would both be written to",
            (f"{folder}/none",): "in/none: no such file",
            (f"{folder}/none*",): r"in/none\*: contains no file; name a folder or pattern",
            ("nonsense://x/y",): "nonsense://x/y: not a URL that pyarrow reads",
        }.items():
            with pytest.raises(NmtError, match=message):
                outputs(*files)
        with pytest.raises(NmtError, match=r"a\.txt: would overwrite itself"):
            outputs(f"{folder}/a.txt", output=folder)

    def test_settings_depend_on_all_that_matters(self, tmp_path: Path) -> None:
        path = tmp_path / "in.txt"
        path.write_text("one\n")

        def settings(*marks: str, **given: object) -> str:
            options = chosen(files=(path,), **given)
            [job] = jobs_of(options, Place.of(tmp_path / "out"), list(marks))
            return job.settings

        first = settings("model")
        assert settings("model", resume=True, address="auto") == first
        assert settings("other") != first
        assert settings("model", decoding=DecodingOptions(beam_size=1)) != first
        assert settings("model", errors="column") != first
        path.write_text("two, longer\n")
        assert settings("model") != first


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shard": "1/2"}, "`engine` and `shard` cannot be combined"),
        ({"line_buffered": True}, "`engine` and `line_buffered` cannot be combined"),
        (
            {"interactive": True, "files": (), "output": None},
            "`engine` and `interactive` cannot be combined",
        ),
        ({"json": True}, "`engine` and `json` cannot be combined"),
        ({"format": "srt"}, "`engine` and `format` cannot be combined"),
        ({"files": ()}, "`engine` and standard input cannot be combined"),
        ({"output": None}, "`engine` needs `output`"),
        ({"engine": None, "address": "auto"}, "`address` needs `engine`"),
        ({"engine": None, "errors": "column"}, "`errors=column` needs `engine`"),
        (
            {"engine": None, "input_format": "csv", "field": "x"},
            "`input_format=csv` needs `engine`",
        ),
        ({"input_format": "parquet"}, "`input_format` needs `field`"),
        (
            {"input_format": "parquet", "field": "x", "decoding": DecodingOptions(n_best=2)},
            "`input_format=parquet` and `n_best` cannot be combined",
        ),
    ],
)
def test_options_that_contradict_each_other(given: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        chosen(**{"files": (Path("x"),), **given}).check()


def test_translations_in_json_are_valid() -> None:
    shard = Shard(0, 1, b"", b'{"text": "a"}\n')
    options = chosen(input_format="jsonl", field="text", errors="column", scores=True)
    content = ShardTranslator(COPIER, options, "x").translate(shard, Counts())
    assert json.loads(content).keys() == {"text", "score", "error"}


@pytest.mark.parametrize(
    ("given", "nodes", "expected"),
    [
        ({}, [(4, 0), (4, 0)], (1, 0, 8, 1)),
        ({"threads": 4, "workers": 2}, [(4, 0)], (2, 0, 2, 2)),
        ({"threads": 1, "workers": 2}, [(4, 0)], (0.5, 0, 2, 1)),
        ({"workers": 3}, [(0, 0)], (1, 0, 3, 1)),  # nodes will be added
        ({"device": "cuda"}, [(8, 2), (8, 2)], (4, 1, 4, 4)),
        ({"device": "cuda", "workers": 8}, [(8, 2), (8, 2)], (2, 0.5, 8, 2)),
        ({"device": "auto"}, [(4, 0)], (1, 0, 4, 1)),
    ],
)
def test_shares_of_actors(
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, object],
    nodes: list[tuple[int, int]],
    expected: tuple[float, float, int, int],
) -> None:
    set_nodes(monkeypatch, nodes)
    arguments, threads = Cluster(**given).actors()  # type: ignore[arg-type]
    pool = arguments["compute"]
    found = arguments["num_cpus"], arguments["num_gpus"], pool.initial_size, threads
    assert found == expected


@pytest.mark.parametrize(
    ("given", "nodes", "message"),
    [
        ({"device": "cuda"}, [(4, 0)], "--device cuda: Ray has found no GPU; use --device cpu"),
        ({}, [(0, 0)], "Ray's nodes have no cores yet; wait for them, or give --workers"),
        (
            {"threads": 8, "workers": 1},
            [(4, 0), (4, 0)],
            "--threads 8 with 1 workers: needs 8 cores on a node; the largest has 4; use more",
        ),
    ],
)
def test_actors_for_which_there_is_no_room(
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, object],
    nodes: list[tuple[int, int]],
    message: str,
) -> None:
    set_nodes(monkeypatch, nodes)
    with pytest.raises(NmtError, match=message):
        Cluster(**given).actors()  # type: ignore[arg-type]


def set_nodes(monkeypatch: pytest.MonkeyPatch, nodes: list[tuple[int, int]]) -> None:
    """Let Ray have nodes with so many cores and GPUs."""
    resources = [{"CPU": float(cpus), "GPU": float(gpus)} for cpus, gpus in nodes]
    total = {name: sum(each[name] for each in resources) for name in ("CPU", "GPU")}
    monkeypatch.setattr(ray, "cluster_resources", lambda: total)
    monkeypatch.setattr(ray, "nodes", lambda: [{"Resources": each} for each in resources])
