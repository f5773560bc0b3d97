"""Which files are read, what becomes of each, and which part of it is this process's."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from nmt_cli.errors import NmtError
from nmt_cli.files import is_special
from nmt_cli.text.compression import reading
from nmt_cli.text.lines import STRICT, decode_lines, open_binary


@dataclass(frozen=True)
class Job:
    """One file.

    Attributes:
        source: to read.
        output: to write; None: with all others to one place.
    """

    source: Path
    output: Path | None


def jobs_of(files: Iterable[Path], folder: Path | None) -> list[Job]:
    """The files to read, folders unfolded, and what each is written to.

    Args:
        files: files and folders; of a folder all files in it, at any depth, but for hidden ones.
        folder: that takes a file of the same name for each; None: there is none.

    Raises:
        NmtError: a folder holds no file.
    """
    jobs: list[Job] = []
    for each in files:
        if not each.is_dir():
            jobs.append(Job(each, folder / each.name if folder else None))
            continue
        found = sorted(path for path in each.rglob("*") if path.is_file() and _shown(path, each))
        if not found:
            raise NmtError(f"{each}: holds no file", "name a folder with text in it")
        jobs += [Job(path, folder / path.relative_to(each) if folder else None) for path in found]
    return jobs


def check_apart(jobs: Iterable[Job]) -> None:
    """Whether each is written to a place of its own.

    Raises:
        NmtError: two files would be written to one place, or one over itself.
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
            raise NmtError(f"{job.source}: would be written over itself", "choose another -o")
        taken[place] = job.source


def _shown(path: Path, folder: Path) -> bool:
    return not any(part.startswith(".") for part in path.relative_to(folder).parts)


@dataclass(frozen=True)
class Shard:
    """One of several parts of a file, one behind the other, of as many lines as can be.

    Attributes:
        number: from 1.
        count: how many parts there are.
    """

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Of ``2/5``: the second of five.

        Raises:
            ValueError: it is none.
        """
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise ValueError(f"{text!r} is no part such as 1/4, the first of four")
        return cls(int(match[1]), int(match[2]))

    def lines(self, total: int) -> tuple[int, int]:
        """The first line, from 0, and the one behind the last."""
        return total * (self.number - 1) // self.count, total * self.number // self.count


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, out of its compression.

    Raises:
        NmtError: it cannot be read; also while it is.
    """
    with reading(path, open_binary(path)) as stream:
        yield stream


def count_lines(path: Path) -> int:
    """How many lines a file has, the last one with or without its end."""
    count, last = 0, b"\n"
    with opened(path) as stream:
        while block := stream.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")


@contextmanager
def lines_of(
    path: Path,
    on_error: str = STRICT,
    warn: Callable[[str], None] = lambda message: None,
    start: int = 0,
    end: int | None = None,
) -> Iterator[Iterator[str]]:
    """The lines of a file, or those from ``start`` up to ``end``, from 0."""
    with opened(path) as stream:
        yield islice(decode_lines(stream, str(path), on_error, warn), start, end)
