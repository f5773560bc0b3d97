"""Run ``nmt`` for a test, in this process or in a new one."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from nmt_cli.cli import main

NMT = [sys.executable, "-m", "nmt_cli"]
# Run nmt, then print the names of the loaded modules to stderr.
LISTING_MODULES = [
    sys.executable,
    "-c",
    "import json, sys\n"
    "from nmt_cli.cli import main\n"
    "try:\n"
    "    main()\n"
    "finally:\n"
    "    print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n",
]


@dataclass(frozen=True)
class Result:
    """The exit code and output of a command."""

    code: int
    out: bytes
    err: str

    @property
    def message(self) -> str:
        """The last line of stderr, where an error is reported."""
        return self.err.rstrip("\n").rpartition("\n")[2]


def nmt(
    *words: object,
    cwd: Path,
    stdin: bytes = b"",
    command: list[str] | None = None,
    environment: dict[str, str] | None = None,
    limit: Callable[[], Any] | None = None,
    process: bool = False,
) -> Result:
    """Run nmt in a folder; in this process, unless an argument needs a new one.

    A new process has an empty home folder, and must leave it empty.

    Args:
        words: the arguments.
        cwd: the working directory.
        stdin: the content of standard input.
        command: the command to run as a new process instead of nmt.
        environment: variables to set.
        limit: called in the new process before nmt starts.
        process: run a new process although the arguments do not need one.
    """
    arguments = [str(word) for word in words]
    if not (process or command or limit):
        with _in(cwd, environment or {}), _streams(stdin) as written:
            code = _run_main(arguments)
        return Result(code, written[1], written[2].decode("utf-8"))
    with tempfile.TemporaryDirectory() as home:
        variables = {
            "HOME": home,
            **dict.fromkeys(("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), ""),
            # Python would write compiled sources that a limit cuts off.
            "PYTHONDONTWRITEBYTECODE": "1" if limit else "",
        }
        done = subprocess.run(
            [*(command or NMT), *arguments],
            cwd=cwd,
            input=stdin,
            capture_output=True,
            env={**os.environ, **variables, **(environment or {})},
            preexec_fn=limit,
            timeout=300,
        )
        assert not os.listdir(home)
    return Result(done.returncode, done.stdout, done.stderr.decode("utf-8"))


def _run_main(arguments: list[str]) -> int:
    """Call the entry point, restore global state and return the exit code."""
    signals = (signal.SIGINT, signal.SIGTERM)
    handlers = {number: signal.getsignal(number) for number in signals}
    try:
        with mock.patch.object(sys, "argv", ["nmt", *arguments]):
            main()
        raise AssertionError("main always ends with SystemExit")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if keras := sys.modules.get("keras"):
            keras.config.set_dtype_policy("float32")


@contextmanager
def _in(folder: Path, environment: dict[str, str]) -> Iterator[None]:
    before = Path.cwd()
    with mock.patch.dict(os.environ, environment):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


@contextmanager
def _streams(stdin: bytes) -> Iterator[dict[int, bytes]]:
    """Redirect the standard streams, including their file descriptors.

    Libraries may keep the stream objects: they refer to descriptors 0 to 2, which stay valid.

    Yields:
        The output by descriptor (1 and 2), filled in at the end.
    """
    written: dict[int, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("in", "out", "err")]
        paths[0].write_bytes(stdin)
        streams = (sys.stdin, sys.stdout, sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        saved = [os.dup(number) for number in range(3)]
        try:
            for number, path in enumerate(paths):
                flags = os.O_RDONLY if number == 0 else os.O_RDWR | os.O_CREAT | os.O_APPEND
                handle = os.open(path, flags, 0o600)
                os.dup2(handle, number)
                os.close(handle)
            sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
            sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
            sys.stderr = os.fdopen(
                2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
            )
            yield written
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdin, sys.stdout, sys.stderr = streams
            for number, handle in enumerate(saved):
                os.dup2(handle, number)
                os.close(handle)
            written.update({number: paths[number].read_bytes() for number in (1, 2)})
