"""1,000 corruptions of a bundle, and 300 that its hashes do not show: none goes unnoticed."""

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

CORRUPTIONS, PART = 1000, 100
HIDDEN, HIDDEN_PART = 300, 50
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def expected(pristine: Path) -> str:
    found = outcome(pristine)
    assert found.startswith("translated ")
    return found


def corrupted(pristine: Path, work: Path, number: int) -> tuple[Path, str]:
    """The copy of a bundle with corruption ``number``, and what that was."""
    folder = work / f"bundle-{number}"
    shutil.copytree(pristine, folder)
    return folder, harm.HARMS[number % len(harm.HARMS)](folder, np.random.default_rng(number))


@pytest.mark.parametrize("first", range(0, CORRUPTIONS, PART))
def test_a_corruption_is_noticed(pristine: Path, expected: str, tmp_path: Path, first: int) -> None:
    """Refused in one line; or, where a value became what it was, the same translations."""
    refused = 0
    for number in range(first, first + PART):
        folder, done = corrupted(pristine, tmp_path, number)
        found = outcome(folder)
        refused += found.startswith("refused ")
        if found.startswith("refused "):
            assert str(folder) in found, (number, done, found)
        else:
            assert found == expected, (number, done)
        shutil.rmtree(folder)
    assert refused > 0.95 * PART


@pytest.mark.parametrize("first", range(0, HIDDEN, HIDDEN_PART))
def test_what_hashes_do_not_show_neither_crashes_nor_hangs(
    pristine: Path, tmp_path: Path, first: int
) -> None:
    """Graphs, weights and tokenizers harmed, and every hash made right again."""
    words = [sys.executable, "-m", "tests.bundle.survive", str(pristine), str(tmp_path)]
    done = subprocess.run(
        [*words, str(first), str(first + HIDDEN_PART)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-300:]} {done.returncode} {done.stderr[-1500:]}"
    assert f"\n{first + HIDDEN_PART - 1} " in done.stdout
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
