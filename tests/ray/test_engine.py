"""``nmt translate --engine ray`` writes what one process writes, from any source."""

import csv
import gzip
import json
import os
import re
import shutil
import socket
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import LISTING_MODULES, assert_fails
from tests.harness import nmt
from tests.ray.conftest import MODEL, NMT_SMALL_SHARDS, lines, single, translate, write

ROOT = Path(__file__).parents[2]


def test_a_folder(tmp_path: Path) -> None:
    """On this machine only: Ray starts and stops, and nothing of it is left."""
    write(tmp_path / "in" / "a.txt", 100)
    write(tmp_path / "in" / "sub" / "b.txt", 3)
    (tmp_path / "in" / "empty.txt").touch()
    (tmp_path / "in" / "c.txt.gz").write_bytes(gzip.compress(b"Bom dia!\nObrigado."))
    words = ["translate", "in", "-m", MODEL, "-o"]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a short name
        done = nmt(
            *[*words, "out", "--engine", "ray", "--threads", 1, "--scores"],
            cwd=tmp_path,
            command=NMT_SMALL_SHARDS,
            environment={"TMPDIR": folder},
        )
        assert (done.code, done.out) == (0, b""), done.err
        assert not os.listdir(folder)
    # On a slow machine, messages about the speed precede it.
    assert re.search(
        r"^translated 105 lines \(91 sentences, [\d,]+ tokens\) in .*\n\Z", done.err, re.M
    )
    assert nmt(*words, "one", "--scores", cwd=tmp_path).code == 0
    names = ["a.txt", "c.txt.gz", "empty.txt", "sub", "sub/b.txt"]
    for folder in (tmp_path / "one", tmp_path / "out"):
        assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == names
    for name in set(names) - {"sub"}:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_what_is_refused_before_ray_starts(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", 3)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a.txt").touch()
    words = ["translate", "a.txt", "-m", MODEL, "--engine", "ray", "-o"]
    assert_fails(nmt(*words, "out", cwd=tmp_path), "out/a.txt: exists; replace it with --force")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    refused = nmt(*words, "new", "--address", address, cwd=tmp_path)
    assert_fails(refused, f"--address {address}: no Ray cluster", "or omit --address")
    words[1] = "none"
    assert_fails(nmt(*words, "new", cwd=tmp_path), "none: no such file")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.txt", "out"]


def test_without_ray_installed(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", 3)
    (tmp_path / "ray.py").write_text("raise ModuleNotFoundError(name='ray')")
    done = nmt(
        *["translate", "a.txt", "-m", MODEL, "--engine", "ray", "-o", "out"],
        cwd=tmp_path,
        process=True,
        environment={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
    )
    assert_fails(done, "this command needs ray; pip install 'nmt_cli[ray]'")


def test_other_translations_do_not_load_ray(tmp_path: Path) -> None:
    done = nmt("translate", "-m", MODEL, cwd=tmp_path, stdin=b"Bom dia!\n", command=LISTING_MODULES)
    loaded = json.loads(done.err.splitlines()[-1])
    assert not [
        module for module in loaded if module.partition(".")[0] in ("ray", "pyarrow", "pandas")
    ]


@pytest.mark.slow
class TestFormats:
    """Each with a column that Ray adds, at a URL, where shards stay."""

    def output(self, tmp_path: Path, name: str, *options: object) -> list[Path]:
        """Translate a file to a folder; returns its shards."""
        words = [f"file://{tmp_path}/{name}", "-o", f"file://{tmp_path}/out", *options]
        code, message = translate(*words, cwd=tmp_path)
        assert code == 0, message
        shards = sorted((tmp_path / "out" / name).iterdir())
        assert len(shards) == 4
        assert shards[-1].name == "_SUCCESS"
        return shards[:-1]

    def expected(self, tmp_path: Path) -> list[str]:
        return single(write(tmp_path / "plain", 100)).decode().split("\n")[:-1]

    def test_parquet(self, tmp_path: Path) -> None:
        table = pa.table({"n": list(range(100)), "text": lines(100), "also": lines(100)})
        pq.write_table(table, tmp_path / "a.parquet")
        options = ["--input-format", "parquet", "--field", "text", "--scores"]
        shards = self.output(tmp_path, "a.parquet", *options, "--errors", "column")
        whole = pa.concat_tables([pq.read_table(each) for each in shards])
        assert whole["text"].to_pylist() == self.expected(tmp_path)
        local = ["translate", "a.parquet", "-o", "local", "-m", MODEL, *options]
        done = nmt(*local, "--errors", "column", cwd=tmp_path, command=NMT_SMALL_SHARDS)
        assert done.code == 0, done.err
        parts = sorted((tmp_path / "local").glob("0*"))
        assert [part.name[:26] for part in parts] == [shard.name[:26] for shard in shards]
        assert [part.read_bytes() for part in parts] == [shard.read_bytes() for shard in shards]
        assert whole.select(["n", "also"]).equals(table.select(["n", "also"]))
        assert whole["error"].null_count == 100
        assert pq.read_table(tmp_path / "out" / "a.parquet").num_rows == 100  # as one data set

    def test_csv(self, tmp_path: Path) -> None:
        with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([["n", "text"], *enumerate(lines(99))])
        options = ["--input-format", "csv", "--field", "text"]
        code, message = translate("a.csv", "-o", "a.en.csv", *options, cwd=tmp_path)
        assert code == 0, message
        with (tmp_path / "a.en.csv").open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream))
        assert rows[0] == ["n", "text"]
        assert [row[1] for row in rows[1:]] == self.expected(tmp_path)[:99]
        assert (tmp_path / "a.en.csv").read_bytes() == single(tmp_path / "a.csv", *options)

    @pytest.mark.parametrize("kind", ["jsonl", "tsv"])
    def test_records(self, tmp_path: Path, kind: str) -> None:
        rows = [f'{{"n": {n}, "text": "{line}"}}' for n, line in enumerate(lines(100))]
        if kind == "tsv":
            rows = ["n\ttext", *(f"{n}\t{line}" for n, line in enumerate(lines(99)))]
        path = tmp_path / f"a.{kind}"
        path.write_text("".join(f"{each}\n" for each in rows), encoding="utf-8")
        options = ["--input-format", kind, "--field", "text", "--tokens"]
        shards = [each.read_bytes() for each in self.output(tmp_path, path.name, *options)]
        whole = single(path, *options)
        if kind == "tsv":  # each shard has the header
            header = whole[: whole.index(b"\n") + 1]
            assert all(each.startswith(header) for each in shards)
            shards[1:] = [each.removeprefix(header) for each in shards[1:]]
        assert b"".join(shards) == whole


@pytest.mark.slow
def test_rows_that_fail(tmp_path: Path) -> None:
    content = "".join(f"{line}\n" for line in lines(60)).encode().replace(b"caf", b"\xff", 3)
    (tmp_path / "a.txt").write_bytes(content)
    options = ["--errors", "column", "--scores"]
    code, message = translate("a.txt", "-o", "out", *options, cwd=tmp_path)
    assert code == 0, message
    expected = single(tmp_path / "a.txt", *options).replace(f"{tmp_path}/".encode(), b"")
    assert (tmp_path / "out").read_bytes() == expected
    assert (tmp_path / "out").read_text(encoding="utf-8").count("invalid UTF-8") == 3


@pytest.mark.slow
def test_nothing_leaves_the_machine(tmp_path: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("needs strace")
    write(tmp_path / "a.txt", 10)
    trace = ["strace", "-f", "-qq", "-o", "trace", "-e", "trace=connect,sendto,sendmsg,sendmmsg"]
    done = nmt(
        *["translate", "a.txt", "-m", MODEL, "--engine", "ray", "--threads", 1, "-o", "out"],
        cwd=tmp_path,
        command=[*trace, *NMT_SMALL_SHARDS],
    )
    assert done.code == 0, done.err
    calls = (tmp_path / "trace").read_text(encoding="utf-8", errors="replace")
    addresses = set(
        re.findall(r'(?:inet_addr\(|inet_pton\(AF_INET6, )"(?:::ffff:)?([^"]+)"', calls)
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:  # as Ray does: sends nothing
        asking.connect(("8.8.8.8", 53))
        own_address = asking.getsockname()[0]
    assert addresses <= {"127.0.0.1", "0.0.0.0", "::", "::1", own_address, "8.8.8.8"}, addresses
    assert not re.search(r"sendm?m?(to|sg)\(.*8\.8\.8\.8", calls)


@pytest.mark.slow
def test_nobody_else_can_use_the_ports(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys\n"
        "from nmt_cli.ray.cluster import RaySettings\n"
        "import os, ray\n"
        "with RaySettings(threads=1).connected():\n"
        "    address = ray.get_runtime_context().gcs_address\n"
        "    for each in [name for name in os.environ if name.startswith('RAY_AUTH')]:\n"
        "        del os.environ[each]\n"
        "    other = 'import sys, ray; ray.init(sys.argv[1])'\n"
        "    print(subprocess.run([sys.executable, '-c', other, address]).returncode)\n"
    )
    done = nmt(cwd=tmp_path, command=[sys.executable, "-c", script])
    assert done.out == b"1\n", done.err
    assert "ConnectionError: Failed to connect to Ray cluster" in done.err
