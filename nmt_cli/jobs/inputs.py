"""Which files to read, where their translations go, and which part of them to translate."""

import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from nmt_cli.errors import InputError, OptionError, OutputError
from nmt_cli.text.lines import decode_lines, reading

STDIN = Path("-")


class Job(NamedTuple):
    """A file to read, and the one to write; None for standard output."""

    source: Path
    output: Path | None


def jobs_of(files: Iterable[Path], folder: Path | None) -> list[Job]:
    """Return the files to read, and the output of each: its name in ``folder``, or stdout.

    A folder among the files means all files in it, at any depth, except hidden ones.
    """
    jobs: list[Job] = []
    for file in files:
        if not file.is_dir():
            jobs.append(Job(file, folder / file.name if folder else None))
            continue
        names = sorted(path.relative_to(file) for path in file.rglob("*") if path.is_file())
        visible = [name for name in names if not any(part[0] == "." for part in name.parts)]
        if not visible:
            raise InputError(f"{file}: contains no file", "name a folder with text files")
        jobs += [Job(file / name, folder / name if folder else None) for name in visible]
    return jobs


def check_outputs(jobs: Iterable[tuple[Any, Any]], key: Callable[[Any], Hashable]) -> None:
    """Check that each file has an output of its own; ``key`` identifies a file."""
    writers: dict[Hashable, Any] = {}
    for source, output in jobs:
        if key(output) in writers:
            raise OutputError(
                f"{writers[key(output)]} and {source} would both be written to {output}",
                "translate them into two folders",
            )
        if key(output) == key(source):
            raise OutputError(f"{source}: would overwrite itself", "choose another `output`")
        writers[key(output)] = source


def shard_range(shard: str, total: int) -> tuple[int, int]:
    """Return the start and end (exclusive) of a part such as ``2/5``, the second of five."""
    match = re.fullmatch(r"(\d+)/(\d+)", shard)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise OptionError(f"`shard={shard}` is not a shard such as 1/4, the first of four")
    number, count = int(match[1]), int(match[2])
    return total * (number - 1) // count, total * number // count


def name_of(source: Path) -> str:
    """Return what a source is called in messages."""
    return "standard input" if source == STDIN else str(source)


def opened(source: Path) -> AbstractContextManager[BinaryIO]:
    """Open a (possibly compressed) file or stdin immediately. Raises as :func:`reading` does."""
    if source != STDIN:
        return reading(source)
    if sys.stdin is None:
        raise InputError("standard input is closed", "give a FILE")
    return nullcontext(sys.stdin.buffer)


def open_lines(source: Path) -> Iterator[str]:
    """Read the lines of a (possibly compressed) file or of standard input.

    The file is opened immediately, so that a wrong name fails before a model is loaded.
    """
    file = opened(source)

    def lines() -> Iterator[str]:
        with file as stream:
            yield from decode_lines(stream, name_of(source))

    return lines()
