"""``nmt`` on Ray, in processes of their own, with shards so small that short files have many."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.harness import nmt

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "exports" / "pt-en"
ROWS = 40
LIMIT = 600
# nmt with shards of ROWS rows, and no pause between messages about the speed.
NMT_SMALL_SHARDS = [
    sys.executable,
    "-c",
    "import os\n"
    "if restarts := os.environ.get('MAX_RESTARTS'):\n"
    "    from nmt_cli.ray import engine\n"
    "    engine.MAX_RESTARTS = int(restarts)\n"
    "from nmt_cli.jobs import shards\n"
    "from nmt_cli.cli import main\n"
    f"shards.ROWS = {ROWS}\n"
    "main()\n",
]
SENTENCES = (
    "Bom dia!",
    "Onde fica a estação?",
    "O ficheiro não existe.",
    "Clique em OK para continuar.",
    "Eu gosto muito de café com leite pela manhã.",
)


def lines(count: int) -> list[str]:
    """Different lines, every seventh of them blank."""
    return [
        "" if number % 7 == 3 else f"{SENTENCES[number % 5]} {number}" for number in range(count)
    ]


def write(path: Path, count: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines(count)), encoding="utf-8")
    return path


def single(path: Path, *options: object) -> bytes:
    """What one process translates the file to."""
    done = nmt("translate", path, "-m", MODEL, *options, cwd=path.parent)
    assert done.code == 0, done.err
    return done.out


class Job:
    """``nmt`` on Ray, running."""

    def __init__(
        self, *words: object, cwd: Path, environment: dict[str, str] | None = None
    ) -> None:
        self._process = subprocess.Popen(
            [*NMT_SMALL_SHARDS, *map(str, words)],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}", **(environment or {})},
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def until(self, reached: Callable[[], object]) -> None:
        """Wait for a condition, or fail if the job ends before."""
        end = time.monotonic() + LIMIT
        while not reached():
            assert self._process.poll() is None, self.finish()
            assert time.monotonic() < end
            time.sleep(0.01)

    def kill(self) -> None:
        """End the driver with SIGKILL; Ray ends what it has started."""
        self._process.kill()
        self._process.communicate(timeout=LIMIT)

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def finish(self) -> tuple[int, str]:
        """Wait for the end; returns the exit code and the last line of output."""
        self.output = self._process.communicate(timeout=LIMIT)[0].decode()
        return self._process.returncode, self.output.rstrip("\n").rpartition("\n")[2]


def translate(
    *words: object, cwd: Path, environment: dict[str, str] | None = None
) -> tuple[int, str]:
    """Run ``nmt translate --engine ray``; returns the exit code and the last line of output."""
    given = ["translate", *words, "-m", MODEL, "--engine", "ray", "--threads", "1"]
    return Job(*given, cwd=cwd).finish()
