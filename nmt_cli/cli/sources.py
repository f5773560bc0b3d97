"""Files and standard input, as the user names them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from nmt_cli.errors import NmtError
from nmt_cli.pipeline.inputs import opened

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
    if source != STDIN:
        with opened(source) as stream:
            yield stream
    elif sys.stdin is None:
        raise NmtError("standard input is closed", "give a FILE")
    else:
        yield sys.stdin.buffer
