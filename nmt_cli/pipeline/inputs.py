"""Which files to read, where their translations go, and which shard of them to translate."""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from nmt_cli.errors import NmtError, OptionError
from nmt_cli.files import is_special
from nmt_cli.text.compression import reading
from nmt_cli.text.lines import decode_lines, open_binary

STDIN = Path("-")


@dataclass(frozen=True)
class Job:
    """One file to translate.

    Attributes:
        source: to read.
        output: to write; None for standard output.
    """

    source: Path
    output: Path | None


def jobs_of(files: Iterable[Path], folder: Path | None) -> list[Job]:
    """The files to read, those in folders included, and the output of each.

    Args:
        files: files and folders; a folder means all files in it, at any depth, except hidden
            ones.
        folder: for outputs, which get the same names; None for standard output.

    Raises:
        NmtError: a folder contains no file.
    """
    jobs: list[Job] = []
    for each in files:
        if not each.is_dir():
            jobs.append(Job(each, folder / each.name if folder else None))
            continue
        found = sorted(path for path in each.rglob("*") if path.is_file() and _shown(path, each))
        if not found:
            raise NmtError(f"{each}: contains no file", "name a folder with text files")
        jobs += [Job(path, folder / path.relative_to(each) if folder else None) for path in found]
    return jobs


def check_apart(jobs: Iterable[Job]) -> None:
    """Check that each file has an output of its own.

    Raises:
        NmtError: two files have the same output, or a file would overwrite itself.
    """
    taken: dict[Path, Path] = {}
    for job in jobs:
        if job.output is None or is_special(job.output):
            continue
        place = job.output.resolve()
        if place in taken:
            raise NmtError(
                f"{taken[place]} and {job.source} would both be written to {job.output}",
                "translate them into two folders",
            )
        if place == job.source.resolve():
            raise NmtError(f"{job.source}: would overwrite itself", "choose another -o")
        taken[place] = job.source


def _shown(path: Path, folder: Path) -> bool:
    return not any(part.startswith(".") for part in path.relative_to(folder).parts)


@dataclass(frozen=True)
class Shard:
    """One of several consecutive parts of a file, with nearly equal line counts.

    Attributes:
        number: from 1.
        count: number of parts.
    """

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Parse ``2/5``, the second of five shards.

        Raises:
            OptionError: the text does not have this form.
        """
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise OptionError(f"`shard={text}` is not a shard such as 1/4, the first of four")
        return cls(int(match[1]), int(match[2]))

    def lines(self, total: int) -> tuple[int, int]:
        """The first line, from 0, and the end (exclusive)."""
        return total * (self.number - 1) // self.count, total * self.number // self.count


def name_of(source: Path) -> str:
    """What a source is called in messages."""
    return "standard input" if source == STDIN else str(source)


@contextmanager
def opened(source: Path) -> Iterator[BinaryIO]:
    """The decompressed bytes of a file, or those of standard input.

    Raises:
        NmtError: the file cannot be opened, reading fails, or standard input is closed.
    """
    if source == STDIN:
        yield _standard_input()
    else:
        with reading(source, open_binary(source)) as stream:
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


def count_lines(path: Path) -> int:
    """The number of lines of a file, whether or not the last has a line end."""
    count, last = 0, b"\n"
    with opened(path) as stream:
        while block := stream.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")
