"""Run the examples of docs/translating.md unchanged."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import nmt

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "translating.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
MAKEFILE = re.search(r"^```make\n(.*?)^```$", PAGE, re.M | re.S)
LINES = 12


@pytest.fixture
def shell(system: Path, tmp_path: Path) -> Path:
    """A folder with the files that the examples read, and nmt in bin/."""
    folder = tmp_path / "work"
    (folder / "texts" / "sub").mkdir(parents=True)
    source, target = (
        (system / name).read_text(encoding="utf-8").splitlines()[:LINES]
        for name in ("toy.pt", "toy.en")
    )
    text = "".join(f"{line}\n" for line in source)
    for name in ("text.pt", "noisy.pt", "texts/a.txt", "texts/sub/b.txt"):
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("text.ref", "noisy.en"):
        (folder / name).write_text("".join(f"{line}\n" for line in target), encoding="utf-8")
    rows = [f"{number}\tx\t{line}\n" for number, line in enumerate(source)]
    (folder / "words.tsv").write_text("id\tkind\ttext\n" + "".join(rows), encoding="utf-8")
    records = [f'{{"id": {number}, "title": "{line}"}}\n' for number, line in enumerate(source)]
    (folder / "articles.jsonl").write_text("".join(records), encoding="utf-8")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "nmt"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nmt_cli "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def run(script: str, folder: Path, system: Path) -> str:
    model = str(system / "exports" / "toy-pt-en")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}",
            "NMT_MODEL": model,
            "OTHER_MODEL": model,
        },
        capture_output=True,
        timeout=300,
    )
    # SIGPIPE ends a process whose reader is closed; tail -f ends by its timeout.
    assert done.returncode in (0, 124, 141), done.stderr.decode()
    return done.stdout.decode()


def count(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def block(words: str) -> str:
    """Return the example that contains these words."""
    (example,) = (candidate for candidate in BLOCKS if words in candidate)
    return example


def test_every_example_is_run() -> None:
    tests = Path(__file__).read_text(encoding="utf-8")
    named = re.findall(r"block\(\"(.*?)\"\)", tests)
    for example in BLOCKS:
        assert any(words in example for words in named), example


def test_tables(shell: Path, system: Path) -> None:
    out = run(block("words.en.tsv"), shell, system)
    assert out.startswith("text\n")
    rows = [line.split("\t") for line in (shell / "words.en.tsv").read_text().split("\n")[:-1]]
    assert rows[0] == ["id", "kind", "text"]
    assert [row[:2] for row in rows[1:]] == [[str(number), "x"] for number in range(LINES)]
    run(block("both.tsv"), shell, system)
    assert all(line.count("\t") == 3 for line in (shell / "both.tsv").read_text().split("\n")[:-1])


@pytest.mark.skipif(not shutil.which("jq"), reason="needs jq")
def test_json(shell: Path, system: Path) -> None:
    out = run(block("articles.en.jsonl"), shell, system)
    assert count(shell / "articles.en.jsonl") == LINES
    scores = [float(line.split("\t")[0]) for line in out.split("\n")[:-1]]
    assert scores == sorted(scores)
    assert len(scores) == 5


def test_a_growing_log(shell: Path, system: Path) -> None:
    assert run(block("growing.log"), shell, system).count("\n") == 2


def test_many_files(shell: Path, system: Path) -> None:
    plain = nmt("translate", shell / "text.pt", cwd=system).out
    run(block("-o translated --resume"), shell, system)
    assert (shell / "translated" / "sub" / "b.txt").read_bytes() == plain
    run(block("-o translated --resume"), shell, system)
    run(block("xargs -0"), shell, system)
    assert (shell / "a.en").read_bytes() == (shell / "b.en").read_bytes() == plain


def test_parts_of_a_file(shell: Path, system: Path) -> None:
    run(block("seq 4"), shell, system)
    plain = nmt("translate", shell / "text.pt", cwd=system).out
    assert (shell / "text.en").read_bytes() == plain


@pytest.mark.skipif(not shutil.which("parallel"), reason="needs GNU parallel")
def test_parallel(shell: Path, system: Path) -> None:
    run(block("parallel -j 2"), shell, system)
    plain = nmt("translate", shell / "text.pt", cwd=system).out
    assert b"".join((shell / f"shard.{number}").read_bytes() for number in (1, 2, 3, 4)) == plain


def test_make(shell: Path, system: Path) -> None:
    assert MAKEFILE
    (shell / "Makefile").write_text(MAKEFILE[1], encoding="utf-8")
    (shell / "noisy.en").unlink()
    run("make", shell, system)
    assert count(shell / "text.en") == count(shell / "noisy.en") == LINES
    assert "Nothing to be done" in run("make", shell, system)


def test_filter_and_rescore(shell: Path, system: Path) -> None:
    run(block("kept.tsv"), shell, system)
    assert count(shell / "kept.tsv") == LINES // 2
    run(block("chosen.en"), shell, system)
    four = (shell / "four.en").read_text().split("\n")
    chosen = (shell / "chosen.en").read_text().split("\n")
    assert len(chosen) == LINES + 1
    assert all(chosen[number] in four[4 * number : 4 * number + 4] for number in range(LINES))


@pytest.mark.skipif(not shutil.which("jq"), reason="needs jq")
def test_evaluation(shell: Path, system: Path) -> None:
    out = run(block("other.en"), shell, system)
    assert [line.split()[0] for line in out.splitlines()] == ["one.en", "other.en"]
    run(block("select(.metric"), shell, system)
