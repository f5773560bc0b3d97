"""Standard streams of commands."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


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
