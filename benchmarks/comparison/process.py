"""The processes of the sides, as the measuring process sees them."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from comparison.answers import WORKER
from comparison.plan import Cell, Setting, Threads
from comparison.sides import Job

from nmt_cli.errors import NmtError

Key = TypeVar("Key")
Result = TypeVar("Result")

# OpenMP threads keep spinning for 0.2 seconds after their work is done.
SETTLE_SECONDS = 0.3

SCRIPT = Path(__file__).parents[1] / "against_ctranslate2.py"


class Process:
    """A process that answers JSON objects: a script of benchmarks/ as a worker.

    Args:
        script: whose worker it is.
        name: of what it measures, for messages.
    """

    def __init__(self, script: Path, name: str) -> None:
        self._name = name
        self._process = subprocess.Popen(
            [sys.executable, str(script), WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a question.

        Raises:
            NmtError: the process reports an error, or has ended.
        """
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended; its last answer is read below
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            raise NmtError(
                f"the process that measures {self._name} ended with exit code {code}",
                "see its output above; if memory ran out, use fewer threads",
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise NmtError(answer["error"], answer["hint"])
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


class Worker(Process):
    """A process with a model loaded.

    Attributes:
        loaded: load time and time since the start of the process, in seconds; memory in MiB.
        peak: peak memory in MiB, after the last cell.
    """

    def __init__(self, job: Job) -> None:
        self.loaded: dict[str, float] = {}
        self.peak = 0.0
        began = time.perf_counter()
        super().__init__(SCRIPT, job.side)
        try:
            self.loaded = self.ask(asdict(job))
            self.loaded["start_seconds"] = time.perf_counter() - began
        except BaseException:
            self.close()
            raise

    def run(self, cell: Cell, setting: Setting) -> dict[str, Any]:
        """Measure a cell once: {"seconds": of each call, "translations": ids of each line}."""
        answer = self.ask(
            {
                "beam_size": cell.beam_size,
                "batch": cell.batch,
                "batch_tokens": setting.batch_tokens,
            }
        )
        self.peak = answer["peak"]
        return answer


@dataclass(frozen=True)
class Started:
    """A worker, its side and its threads."""

    side: str
    threads: Threads
    worker: Worker


class Workers:
    """The processes that a group of cells needs, each started when it is first used.

    Args:
        jobs: of each side; their threads are replaced.
        start: starts a worker for a job.
    """

    def __init__(self, jobs: Mapping[str, Job], start: Callable[[Job], Worker] = Worker) -> None:
        self._jobs = jobs
        self._start = start
        self.started: list[Started] = []

    def run(self, side: str, cell: Cell, setting: Setting) -> dict[str, Any]:
        """Call :meth:`Worker.run` in the process of this side and these threads."""
        return self.worker(side, setting.threads).run(cell, setting)

    def worker(self, side: str, threads: Threads) -> Worker:
        """The process of this side and these threads."""
        for each in self.started:
            if (each.side, each.threads) == (side, threads):
                return each.worker
        job = replace(self._jobs[side], workers=threads.workers, each=threads.each)
        worker = self._start(job)
        self.started.append(Started(side, threads, worker))
        return worker

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *error: object) -> None:
        for each in self.started:
            each.worker.close()


def in_turns(calls: Mapping[Key, Callable[[], Result]], rounds: int) -> dict[Key, list[Result]]:
    """Call each once per round, so that a slow period of the machine affects all of them."""
    results: dict[Key, list[Result]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            time.sleep(SETTLE_SECONDS)
            results[name].append(call())
    return results
