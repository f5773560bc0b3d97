"""Files, standard input and standard output, as the user names them."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO

from nmt_cli.errors import NmtError

if TYPE_CHECKING:
    from nmt_cli.pipeline.output import StreamSink

STDIN = Path("-")


def name_of(source: Path) -> str:
    """What a source is called in messages."""
    return "standard input" if source == STDIN else str(source)


@contextmanager
def bytes_of(source: Path) -> Iterator[BinaryIO]:
    """A source's bytes, out of their compression.

    Raises:
        NmtError: it cannot be read, or is closed.
    """
    from nmt_cli.pipeline.inputs import opened

    if source == STDIN:
        yield _standard_input()
    else:
        with opened(source) as stream:
            yield stream


def open_lines(source: Path) -> Iterator[str]:
    """The lines of a file, out of its compression, or of standard input.

    Opened at once, before any model is loaded, so that a wrong name fails at once.

    Raises:
        NmtError: no such file, or standard input is closed; on reading, a line is not UTF-8.
    """
    from nmt_cli.text.compression import reading
    from nmt_cli.text.lines import decode_lines, open_binary

    if source == STDIN:
        return decode_lines(_standard_input(), name_of(source))
    opened = open_binary(source)

    def lines() -> Iterator[str]:
        with reading(source, opened) as stream:
            yield from decode_lines(stream, str(source))

    return lines()


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise NmtError("standard input is closed", "give a FILE")
    return sys.stdin.buffer


def check_standard_output(hint: str = "redirect it to a file") -> None:
    """Whether there is one to write to.

    Raises:
        NmtError: it is closed.
    """
    if sys.stdout is None:
        raise NmtError("standard output is closed", hint)


def on_terminal(stream: TextIO | None) -> bool:
    """Whether people see a standard stream; None is a closed one."""
    return stream is not None and stream.isatty()


@contextmanager
def standard_output(at_once: bool = False) -> Iterator["StreamSink"]:
    """Standard output for lines; what was written before an error still goes out."""
    from nmt_cli.pipeline.output import stream_sink

    with stream_sink(sys.stdout.fileno(), "standard output", at_once) as sink:
        yield sink


@contextmanager
def ending_by_sigpipe() -> Iterator[None]:
    """Where the reader of the output is gone: end as other filters do, without a word."""
    try:
        yield
    except BrokenPipeError:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
