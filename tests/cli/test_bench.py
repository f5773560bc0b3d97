"""nmt bench."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import assert_fails, nmt, snapshot
from tests.cli.test_shell import BUNDLE, RUN

QUICK = ("--repeats", "1", "--beam-size", "1", "--limit", "8")


def test_a_bundle(workdir: Path) -> None:
    before = snapshot(workdir)
    words = ["bench", BUNDLE, "--text", "toy.pt", *QUICK, "--batch", "3"]
    result = nmt(*words, "--json", "--forced-length", "5", cwd=workdir)
    assert result.code == 0, result.err
    report = json.loads(result.out)
    (cell,) = report["cells"]
    assert (cell["precision"], cell["beam_size"], cell["batch"]) == ("float32", 1, 3)
    assert (cell["tokens"], cell["sentences"]) == (8 * 5, 8)
    speed = cell["tokens_per_second"]
    assert 0 < speed["min"] <= speed["median"] <= speed["max"]
    assert cell["latency_ms"] is None
    assert cell["peak_mib"] > 10
    assert cell["load_seconds"] > 0
    assert report["settings"] == {"repeats": 1, "threads": None, "forced_length": 5, "lines": 8}
    assert {"nmt", "onnxruntime"} <= set(report["versions"])
    assert "float32, beam 1, batch 3" in result.err
    assert snapshot(workdir) == before


def test_the_table(workdir: Path) -> None:
    words = ["bench", BUNDLE, "--text", "toy.pt", *QUICK, "--batch", "1", "--batch", "own"]
    result = nmt(*words, "--threads", "1", cwd=workdir)
    assert result.code == 0, result.err
    *_, header, latency, own_batches = result.out.decode().splitlines()
    assert header.split("  ")[0].startswith("precision")
    assert latency.split()[:3] == ["float32", "1", "1"]
    assert own_batches.split()[:3] == ["float32", "1", "own"]
    assert len(latency.split()) == len(own_batches.split()) + 2  # p50 and p95


def test_bad_input(workdir: Path) -> None:
    assert_fails(nmt("bench", BUNDLE, cwd=workdir), BUNDLE, "--text")
    assert_fails(nmt("bench", "absent", cwd=workdir), "absent: no such run or bundle")
    missing = nmt("bench", BUNDLE, "--text", "absent.pt", cwd=workdir)
    assert_fails(missing, "absent.pt: no such file")
    (workdir / "blank.pt").write_text("\n \n", encoding="utf-8")
    blank = nmt("bench", BUNDLE, "--text", "blank.pt", cwd=workdir)
    assert_fails(blank, "the text has no sentences")


@pytest.mark.parametrize(
    "words",
    [
        ("--repeats", "0"),
        ("--batch", "0"),
        ("--batch", "many"),
        ("--beam-size", "0"),
        ("--precision", "int4"),
        ("--precision", "int8"),  # a bundle has only one
    ],
)
def test_bad_usage(system: Path, words: tuple[str, ...]) -> None:
    assert nmt("bench", BUNDLE, *words, cwd=system).code == 2


@pytest.mark.slow
def test_a_run_is_exported(system: Path) -> None:
    result = nmt("bench", RUN, *QUICK, "--batch", "8", cwd=system)
    assert result.code == 0, result.err
    lines = result.out.decode().splitlines()
    assert [line.split()[0] for line in lines[-2:]] == ["float32", "int8"]
