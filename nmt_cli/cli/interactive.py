"""``nmt translate --interactive``: a prompt that translates what is typed."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nmt_cli.cli.options import say
from nmt_cli.errors import NmtError
from nmt_cli.pipeline.stream import Counts, Stream

PROMPT = "> "
_REMEMBERED = 1000  # lines of history


def converse(stream: Stream) -> None:
    """Ask for lines until the input ends, and answer each.

    Where standard input is a terminal, lines can be edited, and those of earlier calls come
    back with the arrow keys; elsewhere they are read as they are.
    """
    if sys.stdin is None or sys.stdout is None:
        closed = "input" if sys.stdin is None else "output"
        raise NmtError(f"standard {closed} is closed", "--interactive wants a terminal")
    typed = _typed() if sys.stdin.isatty() else (line.rstrip("\n") for line in sys.stdin)
    if sys.stdin.isatty():
        say("type a line to have it translated; Ctrl-D ends")
    counts = Counts()
    for number, line in enumerate(typed, start=1):
        try:
            for answer in stream.translate([line], "the line", counts, number):
                print(*answer, sep="\n", flush=True)
        except NmtError as error:  # of this line alone
            say(str(error))


def _typed() -> Iterator[str]:
    """Lines from the terminal, remembered."""
    import readline

    history = _history_file()
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(_REMEMBERED)
    try:
        while True:
            try:
                # Half characters come of bytes that are no UTF-8.
                yield input(PROMPT).encode("utf-8", "replace").decode()
            except EOFError:
                print(flush=True)
                return
    finally:
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)


def _history_file() -> Path:
    """Where the XDG base directory specification puts state."""
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "nmt" / "history"
