"""Input files and standard input, standard output."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from nmt_cli.errors import NmtError
from nmt_cli.pipeline.inputs import opened
from nmt_cli.text.compression import reading
from nmt_cli.text.lines import decode_lines, open_binary

STDIN = Path("-")


def name_of(source: Path) -> str:
    """What a source is called in messages."""
    return "standard input" if source == STDIN else str(source)


@contextmanager
def bytes_of(source: Path) -> Iterator[BinaryIO]:
    """The decompressed bytes of a file, or of standard input.

    Raises:
        NmtError: the file cannot be read, or standard input is closed.
    """
    if source == STDIN:
        yield _standard_input()
    else:
        with opened(source) as stream:
            yield stream


def open_lines(source: Path) -> Iterator[str]:
    """The lines of a file, decompressed, or of standard input.

    The file is opened at once, so that a wrong name fails before a model is loaded.

    Raises:
        NmtError: the file cannot be opened, or standard input is closed; while reading: a line
            is not valid UTF-8.
    """
    if source == STDIN:
        return decode_lines(_standard_input(), name_of(source))
    file = open_binary(source)

    def lines() -> Iterator[str]:
        with reading(source, file) as stream:
            yield from decode_lines(stream, str(source))

    return lines()


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise NmtError("standard input is closed", "give a FILE")
    return sys.stdin.buffer


def standard_output(hint: str = "redirect it to a file") -> BinaryIO:
    """Standard output.

    Raises:
        NmtError: it is closed.
    """
    if sys.stdout is None:
        raise NmtError("standard output is closed", hint)
    return sys.stdout.buffer
