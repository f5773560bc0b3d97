"""Corrupted bundles, some with updated hashes: no corruption goes unnoticed.

60 and 20 of them by default; 1,000 and 300 with the slow tests.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.bundle import harm
from tests.bundle.survive import LINES, outcome
from tests.cli.conftest import nmt


def spans(few: int, many: int, each: int) -> list[object]:
    """Return ranges of corruption numbers; all except the first are slow tests."""
    rest = [range(first, min(first + each, many)) for first in range(few, many, each)]
    slow = [pytest.param(numbers, marks=pytest.mark.slow) for numbers in rest]
    return [range(few), *slow]


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def expected(pristine: Path) -> str:
    found = outcome(pristine)
    assert found.startswith("translated ")
    return found


def corrupted(pristine: Path, work: Path, number: int) -> tuple[Path, str]:
    """Copy a bundle and apply corruption ``number``; return the copy and the corruption."""
    folder = work / f"bundle-{number}"
    shutil.copytree(pristine, folder)
    return folder, harm.HARMS[number % len(harm.HARMS)](folder, np.random.default_rng(number))


@pytest.mark.parametrize("numbers", spans(60, 1000, 200), ids=str)
def test_a_corruption_is_noticed(
    pristine: Path, expected: str, tmp_path: Path, numbers: range
) -> None:
    """It is refused in one line, or nothing changes (a value was replaced by itself)."""
    refused = 0
    for number in numbers:
        folder, done = corrupted(pristine, tmp_path, number)
        found = outcome(folder)
        refused += found.startswith("refused ")
        if found.startswith("refused "):
            assert str(folder) in found, (number, done, found)
        else:
            assert found == expected, (number, done)
        shutil.rmtree(folder)
    assert refused > 0.95 * len(numbers)


@pytest.mark.parametrize("numbers", spans(20, 300, 140), ids=str)
def test_damage_with_correct_hashes_neither_crashes_nor_hangs(
    pristine: Path, tmp_path: Path, numbers: range
) -> None:
    """Graphs, weights and tokenizers are damaged, and all hashes are recomputed."""
    words = [sys.executable, "-m", "tests.bundle.survive", str(pristine), str(tmp_path)]
    done = subprocess.run(
        [*words, str(numbers.start), str(numbers.stop)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-300:]} {done.returncode} {done.stderr[-1500:]}"
    assert f"\n{numbers[-1]} " in done.stdout
    assert "begun" not in done.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(40))
def test_a_corruption_is_noticed_by_the_command(
    pristine: Path, expected: str, tmp_path: Path, number: int
) -> None:
    folder, done = corrupted(pristine, tmp_path, number)
    text = "".join(f"{line}\n" for line in LINES).encode()
    result = nmt("translate", "-m", folder, cwd=tmp_path, stdin=text)
    if result.code == 0:
        assert f"translated {result.out.decode().splitlines()!r}" == expected, done
    else:
        assert result.code == 1, done
        assert result.err.startswith("nmt: "), (done, result.err)
        assert result.err.count("\n") == 1, (done, result.err)
        assert "unexpected" not in result.err, (done, result.err)
