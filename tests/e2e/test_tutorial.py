"""Run the commands of docs/tutorial.md with a shorter training, and compare what they print.

Numbers and the sessions that are marked "varies" depend on the trained model and are not compared.
"""

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.console import blocks, commands, environment, masked, run

VARIABLES = {
    "NMT_TRAIN_SET": "training.max_steps=20 training.log_every=10 training.validate_every=20 "
    "training.validate_sentences=20",
    "NMT_TRAIN_DEVICES": "1",  # the page's training ran on one core
}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_tutorial(tmp_path: Path) -> None:
    variables = {**environment(tmp_path), **VARIABLES}
    folder, port = tmp_path / "work", free_port()
    folder.mkdir()
    servers = []
    try:
        for kind, block in blocks("tutorial.md"):
            if kind == "toml":
                (folder / "mine.toml").write_text(block, encoding="utf-8")
                continue
            for command, expected in commands(block):
                script = command.replace(":5000", f":{port}")
                if script.endswith("&"):
                    script = script.rstrip("& ") + f" --port {port}"
                    servers.append(serve(script, folder, variables))
                    continue
                printed = run(script, folder, variables)
                if kind == "console":
                    missing = set(masked(kept(expected))) - set(masked(printed))
                    assert not missing, f"{command}\n{printed}"
                else:
                    assert len(printed) == len(expected), f"{command}\n{printed}"
            shorten(folder / "corpora")
    finally:
        for server in servers:
            server.terminate()
            server.wait(30)


def kept(lines: list[str]) -> list[str]:
    """Leave out the marks of omissions, and sample translations, which are indented."""
    return [line for line in lines if line != "[...]" and not line.startswith("    ")]


def serve(script: str, folder: Path, variables: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start a server and wait until it listens."""
    server = subprocess.Popen(
        ["bash", "-c", f"exec {script}"],
        cwd=folder,
        env=variables,
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
