"""A Ray cluster of several nodes on this machine, one of which is killed."""

import os
import re
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ray.conftest import MODEL, ROOT, Job, lines, single, write

pytestmark = pytest.mark.slow
PAGE = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A node without cores, where drivers run, and two of one core each."""
    from ray.cluster_utils import Cluster

    import nmt_cli.ray  # noqa: F401  turns telemetry off

    Path("/tmp/ray").mkdir(exist_ok=True)  # where Ray writes the newest address
    # A short path: Ray has sockets there.
    with tempfile.TemporaryDirectory(prefix="nmt-", ignore_cleanup_errors=True) as folder:
        head = {"num_cpus": 0, "include_dashboard": False, "temp_dir": folder}
        nodes = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(2):
            nodes.add_node(num_cpus=1, object_store_memory=100 << 20)
        yield nodes
        nodes.shutdown()


def test_a_killed_node(cluster: Any, tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", 800)
    words = ["translate", "a.txt", "-o", "out.txt", "-m", MODEL, "--engine", "ray"]
    running = Job(*words, "--address", cluster.address, cwd=tmp_path)
    running.until(lambda: len(list((tmp_path / "out.txt.shards").glob("0*"))) > 2)
    node = next(iter(cluster.worker_nodes))
    for kind in ("raylet",):
        for each in node.all_processes[kind]:
            os.kill(each.process.pid, signal.SIGKILL)
    cluster.remove_node(node, allow_graceful=False)
    code, message = running.finish()
    cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    assert code == 0, message
    assert (tmp_path / "out.txt").read_bytes() == single(text)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.txt", "out.txt"]


def test_the_python_api(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of docs/scaling.md, with nodes that cannot read the bundle's folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import ray

    from nmt_cli.ray.cluster import SharedBundle

    monkeypatch.chdir(tmp_path)
    (tmp_path / "exports").mkdir()
    (tmp_path / "exports" / "mine-pt-en").symlink_to(MODEL)
    text = lines(60)
    for number in range(3):
        rows = {
            "n": range(20 * number, 20 * number + 20),
            "text": text[20 * number : 20 * number + 20],
        }
        (tmp_path / "articles").mkdir(exist_ok=True)
        pq.write_table(
            pa.table({each: list(rows[each]) for each in rows}), f"articles/{number}.parquet"
        )
    shared = SharedBundle.of
    monkeypatch.setattr(
        SharedBundle,
        "of",
        lambda *given, **more: replace(shared(*given, **more), folder=Path("/no")),
    )
    [example] = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    example = example.replace('"auto"', repr(cluster.address)).replace("/data/", f"{tmp_path}/")
    ray.shutdown()
    try:
        exec(compile(example, "docs/scaling.md", "exec"), {})
    finally:
        ray.shutdown()
    table = pa.concat_tables([pq.read_table(each) for each in Path("articles.en").iterdir()])
    expected = single(write(tmp_path / "plain", 60)).decode().split("\n")
    assert sorted(table["n"].to_pylist()) == list(range(60))
    for row in table.to_pylist():
        assert row["text"] == expected[row["n"]]
