"""Where lines are written: to a stream, or to a file that appears when it is complete."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from nmt_cli.errors import NmtError, Say
from nmt_cli.files import is_special, open_own, replacing_path, sync, unwritable
from nmt_cli.text.lines import SUFFIXES, writing


class Sink:
    """A destination for lines, which has the output of ``done`` lines of input already.

    Every line is handed to the system at once: killing the process loses none that is finished.
    """

    def __init__(self, stream: BinaryIO, done: int = 0) -> None:
        self.done, self._stream = done, stream

    def write(self, lines: list[str]) -> None:
        """Write the output of one line of input; the lines come without their ends."""
        self._stream.write("".join(f"{line}\n" for line in lines).encode())
        self._stream.flush()


def check_free(path: Path, force: bool) -> None:
    """Check that a file may be written.

    Raises:
        NmtError: it is a folder; or, without ``force``, it or an interrupted part of it exists.
    """
    if path.is_dir():
        raise NmtError(f"{path}: is a folder, not a file", "name a file")
    if path.is_file() and not force:
        raise NmtError(f"{path}: exists", "replace it with --force, or choose another name")
    if _part_of(path).exists() and not force:
        raise NmtError(
            f"{_part_of(path)}: left by an interrupted translation",
            "continue it with --resume, or start again with --force",
        )


def _part_of(path: Path) -> Path:
    """The name under which a file grows, next to the file or to the target of its link."""
    place = path.resolve() if path.is_symlink() else path
    return place.with_name(f"{place.name}.part")


@contextmanager
def file_sink(path: Path, lines_each: int, settings: str, resume: bool, say: Say) -> Iterator[Sink]:
    """Open a file for lines; it takes its name, and replaces another, when all are written.

    A link is followed. A device or a pipe (/dev/null) gets the lines as they come.

    Args:
        path: .gz, .xz and .zst are compressed once complete.
        lines_each: lines of output per line of input.
        settings: identifies everything that the lines depend on.
        resume: continue an interrupted translation.
        say: receives the name of the part if the translation is interrupted.

    Raises:
        NmtError: an interrupted part has different settings, or the file cannot be written.
    """
    part = _part_of(path)
    record = part.with_name(f"{part.name}.json")
    content = f"{json.dumps({'settings': settings})}\n".encode()
    try:
        if is_special(path):
            with path.open("wb") as stream:
                yield Sink(stream)
            return
        part.parent.mkdir(parents=True, exist_ok=True)
        resumed = _resumed(part, record, content) if resume and os.path.lexists(part) else None
        if not resumed:
            part.unlink(missing_ok=True)  # a link is removed, not followed
            record.unlink(missing_ok=True)
        try:
            with resumed or _begun(part, record, content) as stream:
                yield Sink(stream, _cut(stream, lines_each))
            _finish(part, part.with_suffix(""))
        except BaseException:
            if part.exists() and part.stat().st_size:
                say(f"{part}: holds the finished lines; continue with --resume")
            else:
                part.unlink(missing_ok=True)  # nothing to continue
            raise
        finally:
            if not part.exists():
                record.unlink(missing_ok=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(path, error) from None


def _begun(part: Path, record: Path, content: bytes) -> BinaryIO:
    """Create a part and its record; fails if either exists."""
    with record.open("xb") as stream:
        stream.write(content)
    return part.open("x+b")


def _resumed(part: Path, record: Path, content: bytes) -> BinaryIO:
    """Open a part to continue; its record must have this content."""
    if os.path.lexists(record):
        with open_own(record) as stream:
            if stream.read() == content:
                return open_own(part)
    raise NmtError(
        f"{part}: was started with another model, other options or another input",
        "continue with those, or start again with --force",
    )


def _cut(part: BinaryIO, lines_each: int) -> int:
    """Truncate a part after its last complete line of input; returns how many it then holds."""
    done = sum(line.endswith(b"\n") for line in part) // lines_each
    part.seek(0)
    part.seek(sum(map(len, islice(part, done * lines_each))))
    part.truncate()
    return done


def _finish(part: Path, path: Path) -> None:
    """Put a complete part in the file's place, compressed if its name asks for it."""
    if path.suffix in SUFFIXES:
        with (
            replacing_path(path) as beside,
            part.open("rb") as plain,
            writing(beside, path.suffix) as stream,
        ):
            shutil.copyfileobj(plain, stream)
        part.unlink()
    else:
        sync(part)
        part.replace(path)
        sync(path.parent)
