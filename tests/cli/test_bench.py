"""nmt bench from the shell."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import assert_fails, nmt, snapshot
from tests.cli.test_shell import BUNDLE, RUN

QUICK = ("--repeats", "1", "--beam-size", "1", "--batch", "8", "--limit", "8")


def test_a_bundle(place: Path) -> None:
    before = snapshot(place)
    words = ["bench", BUNDLE, "--text", "toy.pt", *QUICK]
    result = nmt(*words, "--json", "--forced-length", "5", cwd=place)
    assert result.code == 0, result.err
    found = json.loads(result.out)
    (cell,) = found["cells"]
    assert (cell["precision"], cell["beam_size"], cell["batch"]) == ("float32", 1, 8)
    assert list(cell["sides"]) == ["nmt"]
    assert cell["sides"]["nmt"]["tokens"] == 8 * 5
    assert found["text"]["lines"] == 8
    assert found["versions"]["nmt"]
    assert "float32, beam 1, batch 8" in result.err
    assert snapshot(place) == before


def test_bad_input(place: Path) -> None:
    assert_fails(nmt("bench", BUNDLE, cwd=place), BUNDLE, "--text")
    assert_fails(nmt("bench", "absent", cwd=place), "absent: neither a run", "nor a bundle")
    missing = nmt("bench", BUNDLE, "--text", "absent.pt", cwd=place)
    assert_fails(missing, "absent.pt: no such file")
    (place / "blank.pt").write_text("\n \n", encoding="utf-8")
    blank = nmt("bench", BUNDLE, "--text", "blank.pt", cwd=place)
    assert_fails(blank, "no line of the text can be measured")
    against = nmt("bench", BUNDLE, "--text", "toy.pt", "--against", "ctranslate2", cwd=place)
    assert_fails(against, "--ctranslate2-model")


@pytest.mark.parametrize(
    "words",
    [
        ("--repeats", "0"),
        ("--batch", "0"),
        ("--batch", "many"),
        ("--beam-size", "0"),
        ("--precision", "int4"),
        ("--precision", "int8"),  # a bundle has one of its own
        ("--against", "marian"),
        ("--ctranslate2-model", "folder"),
    ],
)
def test_bad_usage(system: Path, words: tuple[str, ...]) -> None:
    assert nmt("bench", BUNDLE, *words, cwd=system).code == 2


def test_without_ctranslate2(system: Path) -> None:
    script = "import sys; sys.modules['ctranslate2'] = None; import nmt_cli.__main__"
    command = [sys.executable, "-c", script]
    result = nmt("bench", RUN, "--against", "ctranslate2", cwd=system, command=command)
    assert_fails(result, "CTranslate2 is missing", "pip install 'nmt_cli[ctranslate2]'")


@pytest.mark.slow
def test_a_run_against_ctranslate2(system: Path) -> None:
    pytest.importorskip("ctranslate2")
    words = ["bench", RUN, "--against", "ctranslate2", "--batch", "own", "--batch", "1"]
    result = nmt(*words, "--repeats", "1", "--limit", "8", cwd=system)
    assert result.code == 0, result.err
    lines = result.out.decode().splitlines()
    assert sum(line.startswith("float32") for line in lines) == 2 + 2 + 1 + 4 + 4
    assert sum(line.startswith("int8") for line in lines) == 2 + 2 + 1 + 4 + 4
