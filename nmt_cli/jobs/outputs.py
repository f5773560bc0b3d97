"""Where lines are written: to a stream, or to a file that appears when it is complete."""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from nmt_cli.errors import OutputError
from nmt_cli.files import is_special, open_own, replacing_path, sync, unwritable
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.text.lines import SUFFIXES, writing

logger = logging.getLogger(__name__)

# Options on which the output of a row does not depend.
_WITHOUT_EFFECT = {
    *("files", "output", "force", "resume", "line_buffered", "interactive", "engine", "address")
}


class Sink:
    """A destination for lines, which has the output of ``done`` records already.

    Every line is handed to the system immediately: killing the process loses none.
    """

    def __init__(self, stream: BinaryIO, done: int = 0) -> None:
        self.done, self._stream = done, stream

    def write(self, lines: list[str]) -> None:
        """Write the output of one record; the lines come without their ends."""
        self._stream.write("".join(f"{line}\n" for line in lines).encode())
        self._stream.flush()


def check_free(path: Path, force: bool) -> None:
    """Check that a path is no folder and, without ``force``, neither file nor interrupted part."""
    if path.is_dir():
        raise OutputError(f"{path}: is a folder, not a file", "name a file")
    if path.is_file() and not force:
        raise OutputError(f"{path}: exists", "replace it with `force`, or choose another name")
    if _part_of(path).exists() and not force:
        raise OutputError(
            f"{_part_of(path)}: left by an interrupted translation",
            "continue it with `resume`, or start again with `force`",
        )


def settings_of(options: TranslateOptions, model: list[str], source: str) -> str:
    """Return a hash of the options, the model's fingerprint and the source."""
    settings = {k: v for k, v in asdict(options).items() if k not in _WITHOUT_EFFECT}
    settings |= {"model": model, "source": source}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


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
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(path, error) from None


def _begun(part: Path, record: Path, content: bytes) -> BinaryIO:
    with record.open("xb") as stream:
        stream.write(content)
    return part.open("x+b")


def _resumed(part: Path, record: Path, content: bytes) -> BinaryIO:
    if os.path.lexists(record):
        with open_own(record) as stream:
            if stream.read() == content:
                return open_own(part)
    raise OutputError(
        f"{part}: was started with another model, other options or another input",
        "continue with those, or start again with `force`",
    )


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
