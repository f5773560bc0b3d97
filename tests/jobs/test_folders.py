"""Outputs written shard by shard: names, completion, and what exists already."""

from pathlib import Path

import pytest

from nmt_cli.errors import NmtError, OutputError
from nmt_cli.jobs.files import jobs_to_do
from nmt_cli.jobs.folders import COMPLETE, DataPath, FileJob, file_jobs
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.search.options import DecodingOptions


def chosen(**given: object) -> TranslateOptions:
    return TranslateOptions(**{"engine": "ray", "output": Path("o"), **given})  # type: ignore[arg-type]


class TestStates:
    def job(self, folder: Path, settings: str = "0" * 16, joined: bool = True) -> FileJob:
        output = DataPath.of(folder / "out")
        shards = output.plus(".shards") if joined else output
        return FileJob(DataPath.of(folder / "in.txt"), output, shards, settings)

    def fill(self, job: FileJob, *ranges: tuple[int, int]) -> None:
        for start, end in ranges:
            name = job.shard_name(start, end)
            job.folder.plus(f"/{name}").write(f"{start}-{end}\n".encode())

    @pytest.mark.parametrize("joined", [True, False])
    def test_states(self, tmp_path: Path, joined: bool, caplog: pytest.LogCaptureFixture) -> None:
        job, other = self.job(tmp_path, joined=joined), self.job(tmp_path, "1" * 16, joined)
        assert job.prepare(force=False, resume=False)
        self.fill(job, (0, 2))
        with pytest.raises(OutputError, match="left by an interrupted translation"):
            job.prepare(force=False, resume=False)
        assert job.prepare(force=False, resume=True)
        with pytest.raises(OutputError, match="was started with another model, other options or"):
            other.prepare(force=False, resume=True)
        assert other.prepare(force=True, resume=False)
        assert not Path(job.folder.path).exists()
        self.fill(job, (0, 2), (2, 3))
        (Path(job.folder.path) / ".left").mkdir()
        job.finish(3)
        assert not caplog.messages
        assert not job.prepare(force=False, resume=True)
        assert caplog.messages == [f"{job.output.name}: already complete"]
        with pytest.raises(OutputError, match=r"out: exists; "):
            job.prepare(force=False, resume=False)
        if joined:
            assert (tmp_path / "out").read_text() == "0-2\n2-3\n"
            assert not (tmp_path / "out.shards").exists()
        else:
            names = [job.shard_name(0, 2), job.shard_name(2, 3), COMPLETE]
            assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
            assert names[0] == "000000000000-000000000002-0000000000000000.txt"
        assert job.prepare(force=True, resume=False)

    @pytest.mark.parametrize("ranges", [[(0, 2)], [(0, 2), (3, 4)], [(2, 4)], [(0, 5)], []])
    def test_a_missing_shard(self, tmp_path: Path, ranges: list[tuple[int, int]]) -> None:
        job = self.job(tmp_path)
        self.fill(job, *ranges)
        with pytest.raises(OutputError, match="out.shards: does not have all 4 rows; `output`"):
            job.finish(4)
        assert not (tmp_path / "out").exists()

    def test_foreign_files_are_never_removed(self, tmp_path: Path) -> None:
        job = self.job(tmp_path, joined=False)
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").touch()
        for force, resume in ((False, False), (True, False), (False, True)):
            with pytest.raises(OutputError, match="out: exists and contains something else"):
                job.prepare(force, resume)
        assert (tmp_path / "out" / "mine").exists()


class TestFileJobs:
    def test_names(self, tmp_path: Path) -> None:
        for name in ("a.txt", "b.gz", "sub/c.txt", ".hidden", "sub/.d", "x/c.txt"):
            (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "in" / name).touch()

        def outputs(*files: str, output: Path = tmp_path / "out", **given: object) -> list[str]:
            options = chosen(files=tuple(map(Path, files)), output=output, **given)
            jobs = file_jobs(options, [])
            return [job.output.path.removeprefix(f"{tmp_path}/") for job in jobs]

        folder = tmp_path / "in"
        names = ["a.txt", "b.gz", "sub/c.txt", "x/c.txt"]
        assert outputs(str(folder)) == [f"out/{name}" for name in names]
        assert outputs(f"file://{folder}") == [f"out/{name}" for name in names]
        assert outputs(f"{folder}/*/c.txt") == ["out/sub/c.txt", "out/x/c.txt"]
        assert outputs(f"{folder}/a.txt") == ["out"]
        assert outputs(f"{folder}/a*") == ["out/a.txt"]
        assert outputs(str(folder), input_format="parquet", field="x")[1] == "out/b"
        assert outputs(f"{folder}/a.txt", output=Path(f"file://{tmp_path}/out")) == ["out/a.txt"]
        one = (f"{folder}/a.txt",)
        assert outputs(*one, input_format="parquet", field="x") == ["out"]
        (tmp_path / "out").mkdir()
        assert outputs(*one, input_format="parquet", field="x") == ["out/a.txt"]
        (tmp_path / "out" / f"{0:012}-{5:012}-{0:016}.parquet").touch()
        assert outputs(*one, input_format="parquet", field="x") == ["out"]  # is to be continued
        (tmp_path / "done").touch()
        assert outputs(*one, output=tmp_path / "done") == ["done"]
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

    def test_a_link_to_an_input_is_not_replaced(self, tmp_path: Path) -> None:
        for name in ("a.txt", "b.txt"):
            (tmp_path / name).write_text("text\n")
        (tmp_path / "link.txt").symlink_to("a.txt")
        given = {"files": (tmp_path / "a.txt",), "output": tmp_path / "link.txt", "force": True}
        with pytest.raises(NmtError, match=r"a\.txt: would overwrite itself"):
            file_jobs(chosen(**given), ["model"])
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "a.txt").symlink_to("../b.txt")
        given |= {"files": (tmp_path / "a.txt", tmp_path / "b.txt"), "output": tmp_path / "out"}
        with pytest.raises(NmtError, match=r"a\.txt: would overwrite .*b\.txt"):
            file_jobs(chosen(**given), ["model"])
        with pytest.raises(NmtError, match=r"a\.txt: would overwrite .*b\.txt"):
            jobs_to_do(chosen(**given, engine=None))

    def test_settings_depend_on_all_that_matters(self, tmp_path: Path) -> None:
        path = tmp_path / "in.txt"
        path.write_text("one\n")

        def settings(*marks: str, **given: object) -> str:
            options = chosen(files=(path,), output=tmp_path / "out", **given)
            [job] = file_jobs(options, list(marks))
            return job.settings

        first = settings("model")
        assert settings("model", resume=True, address="auto") == first
        assert settings("other") != first
        assert settings("model", decoding=DecodingOptions(beam_size=1)) != first
        assert settings("model", errors="column") != first
        path.write_text("two, longer\n")
        assert settings("model") != first
