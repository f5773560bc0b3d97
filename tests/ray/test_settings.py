"""How many actors Ray gets, and with which shares."""

from pathlib import Path

import pyarrow as pa
import pytest
import ray

from nmt_cli.errors import ResourceError
from nmt_cli.jobs.folders import file_jobs
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.ray.cluster import RaySettings
from nmt_cli.ray.engine import Actor, Work
from tests.search.fakes import FakeStepModel, copying, fake_translator


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
    arguments, threads = RaySettings(**given).actors()  # type: ignore[arg-type]
    pool = arguments["compute"]
    values = arguments["num_cpus"], arguments["num_gpus"], pool.initial_size, threads
    assert values == expected


@pytest.mark.parametrize(
    ("given", "nodes", "message"),
    [
        ({"device": "cuda"}, [(4, 0)], "`device=cuda`: Ray has found no GPU; use `device=cpu`"),
        ({}, [(0, 0)], "Ray's nodes have no cores yet; wait for them, or give `workers`"),
        (
            {"threads": 8, "workers": 1},
            [(4, 0), (4, 0)],
            "`threads=8` with 1 workers: needs 8 cores on a node; the largest has 4; use more",
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
    with pytest.raises(ResourceError, match=message):
        RaySettings(**given).actors()  # type: ignore[arg-type]


def set_nodes(monkeypatch: pytest.MonkeyPatch, nodes: list[tuple[int, int]]) -> None:
    """Let Ray have nodes with so many cores and GPUs."""
    resources = [{"CPU": float(cpus), "GPU": float(gpus)} for cpus, gpus in nodes]
    total = {name: sum(node[name] for node in resources) for name in ("CPU", "GPU")}
    monkeypatch.setattr(ray, "cluster_resources", lambda: total)
    monkeypatch.setattr(ray, "nodes", lambda: [{"Resources": node} for node in resources])


def test_messages_with_unpaired_surrogates_reach_the_driver(tmp_path: Path) -> None:
    """Arrow, by which Ray passes them on, takes only valid text."""
    (tmp_path / "a.jsonl").write_text('{"\\ud800": "x"}\n')
    options = TranslateOptions(
        files=(tmp_path / "a.jsonl",),
        output=tmp_path / "out",
        input_format="jsonl",
        field="text",
        engine="ray",
    )
    work = Work(file_jobs(options, ["model"]), options, [], RaySettings())
    actor = Actor(work, [], 1)
    actor._translator = fake_translator(FakeStepModel(copying))
    row = actor(next(work.read({"job": 0})))
    assert row["problem"].endswith("it has \\ud800; choose one with `field`")
    assert pa.array([row["problem"]]).type == pa.string()
