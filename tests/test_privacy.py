"""Translating records nothing about its use."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness import NMT, nmt

PYTHON_API = (
    "import sys, nmt_cli\n"
    "for each in nmt_cli.open(sys.argv[1], workers=2, threads=2).translate(['um', 'dois']):\n"
    "    print(each.text)\n"
)
COMMANDS = {
    "command": [*NMT, "translate", "-m"],
    "Python": [sys.executable, "-c", PYTHON_API],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_translating_writes_nothing_at_home(
    tiny_bundle: Callable[[str], Path], tmp_path: Path, command: list[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    places = {"HOME": str(home), "XDG_CACHE_HOME": "", "XDG_STATE_HOME": ""}
    bundle = tiny_bundle("float32")
    done = nmt(bundle, cwd=tmp_path, stdin=b"um dois\n", command=command, environment=places)
    assert (done.code, done.err) == (0, "")
    assert not list(home.iterdir())
