"""The files of a job: which to read, where their translations go, and which lines of them.

An output appears when it is complete; until then, its lines are in a part that can be continued.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from nmt_cli.errors import InputError, OptionError, OutputError, visible
from nmt_cli.files import failures, is_special, open_own, standard_output, sync
from nmt_cli.text.lines import STRICT, SUFFIXES, decode_lines, reading, unshortened, writing

if TYPE_CHECKING:
    from nmt_cli.jobs.options import TranslateOptions

logger = logging.getLogger(__name__)

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


def check_outputs(jobs: Sequence[tuple[Any, Any]], key: Callable[[Any], Hashable]) -> None:
    """Check that each file has an output of its own; ``key`` identifies a file, also by a link."""
    writers: dict[Hashable, Any] = {}
    sources = {key(source): source for source, _ in jobs}
    for source, output in jobs:
        if key(output) in writers:
            reason = f"{writers[key(output)]} and {source} would both be written to {output}"
            raise OutputError(reason, "translate them into two folders")
        if other := sources.get(key(output)):
            overwritten = "itself" if other is source else other
            reason = f"{source}: would overwrite {overwritten}"
            raise OutputError(reason, "choose another `output`")
        writers[key(output)] = source


def jobs_to_do(options: "TranslateOptions") -> list[Job]:
    """Return what to read and write, checked before a model is loaded."""
    output = options.output
    if options.several and output and output.is_file():
        raise OutputError(f"{output}: is a file", "several files need a folder to write to")
    if options.several or (options.files and output and output.is_dir()):
        jobs = jobs_of(options.files, output)
    else:
        jobs = [Job(options.files[0] if options.files else STDIN, output)]
    check_outputs([job for job in jobs if job.output and not is_special(job.output)], Path.resolve)
    for source, _ in jobs:
        if " " in str(source) and not source.exists():  # probably a sentence
            hint = "to translate text: echo TEXT | nmt translate"
            raise InputError(f"{source}: no such file", hint)
        if not is_special(source):  # what can be read only once is not opened twice
            with opened(source):
                pass
        elif options.shard:
            reason = f"{source}: is a pipe or a device; `shard` reads its input twice"
            raise InputError(reason, "use a file instead")
    if output is None:
        standard_output("give an `output`, or redirect it")
    unfinished = []
    for job in jobs:
        if options.resume and job.output and job.output.is_file():
            logger.info(f"{job.output}: already complete")
            continue
        if job.output:
            check_free(job.output, options.force or options.resume)
        unfinished.append(job)
    return unfinished


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
    return unshortened(sys.stdin.buffer, "standard input")


def open_lines(source: Path, on_error: str = STRICT) -> Iterator[str]:
    """Open a file at once, so that a wrong name fails before a model is loaded; read its lines."""
    file = opened(source)

    def lines() -> Iterator[str]:
        with file as stream:
            yield from decode_lines(stream, name_of(source), on_error)

    return lines()


class Sink:
    """A destination for lines, which has the output of ``done`` records already.

    Every line is handed to the system immediately: killing the process loses none.
    """

    def __init__(self, stream: BinaryIO, done: int = 0) -> None:
        self.done, self._stream = done, stream
        self._shown = visible if stream.isatty() else str  # files and pipes get every character

    def write(self, lines: list[str]) -> None:
        """Write the output of one record; the lines come without their ends."""
        self._stream.write("".join(f"{self._shown(line)}\n" for line in lines).encode())
        self._stream.flush()


def check_free(path: Path, force: bool) -> None:
    """Check that a path is no folder and, without ``force``, neither file nor interrupted part."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder, not a file", "name a file")
    if path.is_file() and not force:
        raise OutputError(f"{path}: exists", "replace it with `force`, or choose another name")
    if _part_of(path).exists() and not force:
        reason = f"{_part_of(path)}: left by an interrupted translation"
        raise OutputError(reason, "continue it with `resume`, or start again with `force`")


def _part_of(path: Path) -> Path:
    target = path.resolve() if path.is_symlink() else path
    return target.with_name(f"{target.name}.part")


@contextmanager
def file_sink(
    path: Path, count: Callable[[BinaryIO], tuple[int, int]], settings: str, resume: bool
) -> Iterator[Sink]:
    """Open a file for lines; it takes its name, and replaces another, when all are written.

    A link is followed; a device or a pipe gets the lines as they come. To continue a part, it must
    have been started with the same ``settings``, and ``count`` returns the number of its complete
    records and their size.
    """
    part = _part_of(path)
    record = part.with_name(f"{part.name}.json")
    content = f"{json.dumps({'settings': settings})}\n".encode()
    with failures(path):
        if is_special(path):
            with path.open("wb") as stream:
                yield Sink(stream)
            return
        part.parent.mkdir(parents=True, exist_ok=True)
        resumed = _resumed(part, record, content) if resume and os.path.lexists(part) else None
        try:
            with resumed or _begun(part, record, content) as stream:
                done, size = count(stream)
                stream.seek(size)
                stream.truncate()
                yield Sink(stream, done)
            _finish(part, part.with_suffix(""))
        except BaseException:
            if part.exists() and part.stat().st_size:
                logger.info(f"{part}: holds the finished lines; continue with `resume`")
            else:
                part.unlink(missing_ok=True)  # nothing to continue
            raise
        finally:
            if not part.exists():
                record.unlink(missing_ok=True)


def _begun(part: Path, record: Path, content: bytes) -> BinaryIO:
    for path in (part, record):
        path.unlink(missing_ok=True)  # a link is removed, not followed
    with record.open("xb") as stream:
        stream.write(content)
    return part.open("x+b")


def _resumed(part: Path, record: Path, content: bytes) -> BinaryIO:
    if os.path.lexists(record):
        with open_own(record) as stream:
            if stream.read() == content:
                return open_own(part)
    reason = f"{part}: was started with another model, other options or another input"
    raise OutputError(reason, "continue with those, or start again with `force`")


def _finish(part: Path, path: Path) -> None:
    """Put a complete part in the file's place, compressed if its name asks for it."""
    import shutil  # not for every line that is translated

    if path.suffix in SUFFIXES:
        with part.open("rb") as plain, writing(path) as stream:
            shutil.copyfileobj(plain, stream)
        part.unlink()
    else:
        sync(part)
        part.replace(path)
        sync(path.parent)
