"""The commands of a documentation page, with what they print."""

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(toml|console|console varies)\n(.*?)^```$", re.M | re.S)


def blocks(page: str) -> list[tuple[str, str]]:
    """Return recipes and console sessions of a page, in order, with their kind."""
    return BLOCK.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def commands(block: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a console session with the lines that it prints."""
    for text in re.split(r"^\$ ", block, flags=re.M)[1:]:
        lines = text.splitlines()
        count = next((i for i, line in enumerate(lines[1:], 1) if line[:1] != ">"), len(lines))
        command = "\n".join([lines[0], *(line[1:] for line in lines[1:count])])
        yield command, lines[count:]


def masked(lines: list[str]) -> list[str]:
    """Return lines with 0 for each number, since scores differ between processors."""
    return [re.sub(r"\s+", " ", re.sub(r"\d[\d.,:e-]*", "0", line)).strip() for line in lines]


def environment(folder: Path) -> dict[str, str]:
    """Return variables for commands that find nmt; it is linked in a new folder."""
    program = folder / "bin" / "nmt"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m nmt_cli "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}


def run(script: str, folder: Path, variables: dict[str, str]) -> list[str]:
    """Run a script of bash; return the lines that it prints to stdout and stderr."""
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=600,
        check=False,
    )
    return done.stdout.decode().splitlines()


@contextlib.contextmanager
def serving(command: str, folder: Path, variables: dict[str, str]) -> Iterator[int]:
    """Run a server at a free port, which it yields once the server listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    server = subprocess.Popen(
        ["bash", "-c", f"exec {command} --port {port}"],
        cwd=folder,
        env=variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        assert server.stderr
        line = server.stderr.readline().decode()
        assert re.match(rf"serving .*:{port}$", line), line
        yield port
    finally:
        server.terminate()
        server.communicate(timeout=60)
