"""The long translation compares what it should, and notices lost lines and growth."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile_lines import hostile_lines
from long_translation import SETTLED, Sample, differences, growth
from machine import Usage, usage

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "long_translation.py"


@pytest.mark.slow
def test_a_killed_translation_has_the_lines_of_an_uninterrupted_one(
    tiny_bundle: Callable[[str], Path], tmp_path: Path
) -> None:
    words = ["--model", str(tiny_bundle("float32")), "--lines", "300", "--kills", "1"]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *words],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("same results, every line at its place, no growth\n")
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    assert len(rows) >= 5  # two tables; the second has two processes
    assert not any(tmp_path.iterdir())


def test_lines_are_repeatable_and_hostile() -> None:
    lines = list(hostile_lines(20_000, seed=1))
    assert lines == list(hostile_lines(20_000, seed=1))
    assert lines != list(hostile_lines(20_000, seed=2))
    text = [line.decode("utf-8", "replace") for line in lines]
    assert not any(b"\n" in line for line in lines)
    assert any(line and not line.strip() for line in lines)
    assert any("\ufffd" in decoded for decoded in text)
    assert {ord(character) >> 16 for decoded in text for character in decoded} == set(range(17))
    assert max(map(len, text)) > 2_000


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (b"the cat\n\nyes\n", b"the cat\n\nyes\n", ""),
        (b"the cat\n\nyes\n", b"the cat\n\nno\n", "line 3: b'yes\\n', but b'no\\n' after kills"),
        (b"the cat\n\n", b"the cat\n\n", "line 3: the results do not have as many lines"),
        (
            b"the cat\nyes\nyes\n",
            b"the cat\nyes\nyes\n",
            "line 2: b'yes\\n', but the line is blank",
        ),
        (b"the cat\n\nyes", b"the cat\n\nyes", "line 3: b'yes' is incomplete"),
        (b"\xff\n\nyes\n", b"\xff\n\nyes\n", "line 1: b'\\xff\\n' is incomplete, or not valid"),
    ],
)
def test_differences(tmp_path: Path, one: bytes, other: bytes, message: str) -> None:
    paths = [tmp_path / name for name in ("text", "one", "other")]
    for path, content in zip(paths, (b"o gato\n \nsim\n", one, other), strict=True):
        path.write_bytes(content)
    messages = list(differences(*paths))
    assert len(messages) == bool(message)
    assert "".join(messages).startswith(message)


def test_equal_lines_have_equal_translations(tmp_path: Path) -> None:
    text, made = tmp_path / "text", tmp_path / "made"
    text.write_bytes(b"sim\nsim\n")
    made.write_bytes(b"yes\nno\n")
    assert list(differences(text, made, made)) == [
        "line 2: b'no\\n', but an equal line before: b'yes\\n'"
    ]


@pytest.mark.parametrize(
    ("last", "faults"),
    [
        (Usage(109, 200, 4, 4), []),
        (Usage(111, 200, 4, 4), ["resident_mib: grows from 100 to 111"]),
        (Usage(100, 200, 5, 6), ["threads: grows from 4 to 5", "descriptors: grows from 4 to 6"]),
    ],
)
def test_growth(last: Usage, faults: list[str]) -> None:
    lines = 10 * SETTLED
    first = [Sample(number, number * SETTLED, Usage(100, 200, 4, 4)) for number in range(9)]
    assert growth([*first, Sample(9, 9 * SETTLED, last)], lines) == faults


def test_usage_of_a_process() -> None:
    before = usage()
    with SCRIPT.open():
        now = usage()
    assert now.descriptors == before.descriptors + 1
    assert 0 < now.resident_mib <= now.peak_mib
    assert now.threads >= 1
