"""Which files to read, where their translations go, and which shard of them to translate."""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO, NamedTuple

from nmt_cli.errors import NmtError, OptionError
from nmt_cli.files import is_special
from nmt_cli.text.lines import decode_lines, reading

STDIN = Path("-")


class Job(NamedTuple):
    """A file to read, and the one to write, which is None for standard output."""

    source: Path
    output: Path | None


def jobs_of(files: Iterable[Path], folder: Path | None) -> list[Job]:
    """The files to read, and the output of each: its name in ``folder``, or standard output.

    A folder among the files means all files in it, at any depth, except hidden ones.

    Raises:
        NmtError: a folder contains no file.
    """
    jobs: list[Job] = []
    for each in files:
        if not each.is_dir():
            jobs.append(Job(each, folder / each.name if folder else None))
            continue
        found = sorted(path.relative_to(each) for path in each.rglob("*") if path.is_file())
        shown = [name for name in found if not any(part[0] == "." for part in name.parts)]
        if not shown:
            raise NmtError(f"{each}: contains no file", "name a folder with text files")
        jobs += [Job(each / name, folder / name if folder else None) for name in shown]
    return jobs


def check_apart(jobs: Iterable[Job]) -> None:
    """Check that each file has an output of its own.

    Raises:
        NmtError: two files have the same output, or a file would overwrite itself.
    """
    taken: dict[Path, Path] = {}
    for source, output in jobs:
        if output is None or is_special(output):
            continue
        place = output.resolve()
        if place in taken:
            raise NmtError(
                f"{taken[place]} and {source} would both be written to {output}",
                "translate them into two folders",
            )
        if place == source.resolve():
            raise NmtError(f"{source}: would overwrite itself", "choose another -o")
        taken[place] = source


def shard_lines(shard: str, total: int) -> tuple[int, int]:
    """First line, from 0, and end (exclusive) of a shard: of ``2/5``, the second of five parts.

    Raises:
        OptionError: the text does not have this form.
    """
    match = re.fullmatch(r"(\d+)/(\d+)", shard)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise OptionError(f"`shard={shard}` is not a shard such as 1/4, the first of four")
    number, count = int(match[1]), int(match[2])
    return total * (number - 1) // count, total * number // count


def name_of(source: Path) -> str:
    """What a source is called in messages."""
    return "standard input" if source == STDIN else str(source)


def opened(source: Path) -> AbstractContextManager[BinaryIO]:
    """Open a file, decompressed, or standard input, at once; errors as of :func:`reading`."""
    if source != STDIN:
        return reading(source)
    if sys.stdin is None:
        raise NmtError("standard input is closed", "give a FILE")
    return nullcontext(sys.stdin.buffer)


def open_lines(source: Path) -> Iterator[str]:
    """The lines of a file, decompressed, or of standard input.

    The file is opened at once, so that a wrong name fails before a model is loaded.

    Raises:
        NmtError: the file cannot be opened; while reading: a line is not valid UTF-8.
    """
    file = opened(source)

    def lines() -> Iterator[str]:
        with file as stream:
            yield from decode_lines(stream, name_of(source))

    return lines()


def count_lines(path: Path) -> int:
    """The number of lines of a file, whether or not the last has a line end."""
    with opened(path) as stream:
        return sum(1 for _ in stream)
