"""Run the commands of docs/tutorial.md with a shorter training, and compare what they print.

Numbers and the blocks that are marked "varies" depend on the trained model and are not compared.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(toml|console|console varies)\n(.*?)^```$", PAGE, re.M | re.S)
VARIABLES = {
    "NMT_TRAIN_SET": "training.max_steps=20 training.log_every=10 training.validate_every=20 "
    "training.validate_sentences=20",
    "NMT_TRAIN_DEVICES": "1",  # the page's training ran on one core
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Variables for commands that find nmt and train for a few steps."""
    program = tmp_path / "bin" / "nmt"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nmt_cli "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    return {**os.environ, **VARIABLES, "PATH": path, "PYTHONPATH": str(ROOT)}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_tutorial(tmp_path: Path, environment: dict[str, str]) -> None:
    folder, port = tmp_path / "work", free_port()
    folder.mkdir()
    servers = []
    try:
        for kind, block in BLOCKS:
            if kind == "toml":
                (folder / "mine.toml").write_text(block, encoding="utf-8")
                continue
            for command, expected in commands(block):
                script = command.replace(":5000", f":{port}")
                if script.endswith("&"):
                    script = script.rstrip("& ") + f" --port {port}"
                    servers.append(serve(script, folder, environment))
                    continue
                printed = run(script, folder, environment)
                if kind == "console":
                    missing = masked(expected) - masked(printed)
                    assert not missing, f"{command}\n{missing}\n{printed}"
                else:
                    assert len(printed) == len(expected), f"{command}\n{printed}"
            shorten(folder / "corpora")
    finally:
        for server in servers:
            server.terminate()
            server.wait(30)


def commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a block with the lines that it prints."""
    for text in re.split(r"^\$ ", block, flags=re.M)[1:]:
        lines = text.splitlines()
        count = next((i for i, line in enumerate(lines[1:], 1) if line[:1] != ">"), len(lines))
        command = "\n".join([lines[0], *(line[1:] for line in lines[1:count])])
        yield command, lines[count:]


def masked(lines: list[str]) -> set[str]:
    """Return lines without numbers, the width of columns and sample translations."""
    kept = (line for line in lines if line != "[...]" and not line.startswith("    "))
    return {re.sub(r"\s+", " ", re.sub(r"\d[\d.,:e-]*", "0", line)).strip() for line in kept}


def run(script: str, folder: Path, environment: dict[str, str]) -> list[str]:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=600,
        check=False,
    )
    assert done.returncode in (0, 141), f"{script}\n{done.stdout.decode()}"
    return done.stdout.decode().splitlines()


def serve(script: str, folder: Path, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start a server and wait until it listens."""
    server = subprocess.Popen(
        ["bash", "-c", f"exec {script}"],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert server.stderr
    assert server.stderr.readline().startswith(b"serving pt-en at http://127.0.0.1:")
    return server


def shorten(corpora: Path) -> None:
    """Keep 20 lines of the test set, which the untrained model translates slowly."""
    for path in corpora.glob("test.*"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:20]), encoding="utf-8")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
