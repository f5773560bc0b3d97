"""Standard streams of commands."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from nmt_cli.errors import NmtError


def check_standard_output(hint: str = "redirect it to a file") -> None:
    """Check that standard output is open.

    Raises:
        NmtError: it is closed.
    """
    if sys.stdout is None:
        raise NmtError("standard output is closed", hint)


def on_terminal(stream: TextIO | None) -> bool:
    """Whether a standard stream is a terminal; None is a closed one."""
    return stream is not None and stream.isatty()


@contextmanager
def ending_by_sigpipe() -> Iterator[None]:
    """End silently like other filters if the reader of standard output is gone."""
    try:
        yield
    except BrokenPipeError:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
