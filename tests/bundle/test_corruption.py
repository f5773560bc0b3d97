"""Corrupted bundles: no corruption goes unnoticed.

60 of them by default; 400 with the slow tests.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from nmt_cli.errors import NmtError
from tests.bundle import harm
from tests.cli.conftest import nmt
from tests.translators import load_bundle

LINES = ("um dois três quatro", "", "casa gato água", "日本語 🙂 Ação", "sol " * 30)


def outcome(folder: Path) -> str:
    """Return the translations of a bundle, or the one-line error that refuses it."""
    try:
        texts = [translation.text for translation in load_bundle(folder).translate(LINES)]
        return f"translated {texts!r}"
    except NmtError as error:
        message = str(error)
    assert len(message.splitlines()) == 1, message
    return f"refused {message}"


@pytest.fixture(scope="module")
def expected(pristine: Path) -> str:
    translated = outcome(pristine)
    assert translated.startswith("translated ")
    return translated


def corrupted(pristine: Path, work: Path, number: int) -> tuple[Path, str]:
    """Copy a bundle and apply corruption ``number``; return the copy and the corruption."""
    folder = work / f"bundle-{number}"
    shutil.copytree(pristine, folder)
    return folder, harm.HARMS[number % len(harm.HARMS)](folder, np.random.default_rng(number))


@pytest.mark.parametrize(
    "numbers", [range(60), pytest.param(range(60, 400), marks=pytest.mark.slow)], ids=str
)
def test_a_corruption_is_noticed(
    pristine: Path, expected: str, tmp_path: Path, numbers: range
) -> None:
    """It is refused in one line, or nothing changes (a value was replaced by itself)."""
    refused = 0
    for number in numbers:
        folder, damage = corrupted(pristine, tmp_path, number)
        actual = outcome(folder)
        refused += actual.startswith("refused ")
        if actual.startswith("refused "):
            assert str(folder) in actual, (number, damage, actual)
        else:
            assert actual == expected, (number, damage)
        shutil.rmtree(folder)
    assert refused > 0.95 * len(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(16))
def test_a_corruption_is_noticed_by_the_command(
    pristine: Path, expected: str, tmp_path: Path, number: int
) -> None:
    folder, damage = corrupted(pristine, tmp_path, number)
    text = "".join(f"{line}\n" for line in LINES).encode()
    result = nmt("translate", "-m", folder, cwd=tmp_path, stdin=text)
    if result.code == 0:
        assert f"translated {result.out.decode().splitlines()!r}" == expected, damage
    else:
        assert result.code == 1, damage
        assert result.err.startswith("nmt: "), (damage, result.err)
        assert result.err.count("\n") == 1, (damage, result.err)
        assert "unexpected" not in result.err, (damage, result.err)
