"""Run the commands of docs/tutorial.md with a shorter training, and compare what they print.

Numbers and the sessions that are marked "varies" depend on the trained model and are not compared.
"""

import contextlib
import shutil
from pathlib import Path

import pytest

from tests.console import blocks, commands, environment, masked, run, serving

VARIABLES = {
    "NMT_TRAIN_SET": "training.max_steps=20 training.log_every=10 training.validate_every=20 "
    "training.validate_sentences=20",
    "NMT_TRAIN_DEVICES": "1",  # the page's training ran on one core
}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_tutorial(tmp_path: Path) -> None:
    variables = {**environment(tmp_path), **VARIABLES}
    folder, port = tmp_path / "work", 0
    folder.mkdir()
    with contextlib.ExitStack() as servers:
        for kind, block in blocks("tutorial.md"):
            if kind == "toml":
                (folder / "mine.toml").write_text(block, encoding="utf-8")
                continue
            for command, expected in commands(block):
                if command.endswith("&"):
                    server = serving(command.rstrip("& "), folder, variables)
                    port = servers.enter_context(server)
                    continue
                printed = run(command.replace(":5000", f":{port}"), folder, variables)
                # The untrained model writes no letters for some lines.
                printed = [line for line in printed if not line.endswith("is left as it is")]
                if kind == "console":
                    missing = set(masked(kept(expected))) - set(masked(printed))
                    assert not missing, f"{command}\n{printed}"
                else:
                    assert len(printed) == len(expected), f"{command}\n{printed}"
            shorten(folder / "corpora")


def kept(lines: list[str]) -> list[str]:
    """Leave out the marks of omissions, and sample translations, which are indented."""
    return [line for line in lines if line != "[...]" and not line.startswith("    ")]


def shorten(corpora: Path) -> None:
    """Keep 20 lines of the test set, which the untrained model translates slowly."""
    for path in corpora.glob("test.*"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:20]), encoding="utf-8")
