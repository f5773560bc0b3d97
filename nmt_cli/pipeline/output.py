"""Where lines go: a stream, or a file that appears when it is whole."""

import json
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from select import PIPE_BUF
from typing import BinaryIO, Protocol

from nmt_cli.errors import NmtError
from nmt_cli.files import is_special, replacing_path, sync
from nmt_cli.text.compression import SUFFIXES, writing

PART, RECORD = ".part", ".part.json"
_SECONDS_BETWEEN_WRITES = 1.0


class Sink(Protocol):
    """What takes lines.

    Attributes:
        done: lines of input whose lines of output are there already.
    """

    done: int

    def write(self, lines: list[str]) -> None:
        """Take the lines of one line of input, without their ends."""


class StreamSink:
    """An open pipe, device or standard output.

    A signal never leaves half a line, nor waits for a reader that does not read: what a pipe
    takes at once is written while signals wait, after waiting for room while they do not.

    Args:
        handle: the file descriptor.
        name: of it, for errors.
        at_once: hand each line on as it comes.
    """

    done = 0

    def __init__(self, handle: int, name: str, at_once: bool) -> None:
        self._handle, self._name, self._at_once = handle, name, at_once
        self._lines: list[bytes] = []
        self._size = 0

    def write(self, lines: list[str]) -> None:
        """See :class:`Sink`.

        Raises:
            NmtError: the disk is full.
            BrokenPipeError: the reader is gone.
        """
        for line in lines:
            data = f"{line}\n".encode()
            if self._size + len(data) > PIPE_BUF:
                self.flush()
            self._lines.append(data)
            self._size += len(data)
        if self._at_once:
            self.flush()

    def flush(self) -> None:
        """Hand on what there is."""
        data, self._lines, self._size = b"".join(self._lines), [], 0
        try:
            while data:
                select.select([], [self._handle], [])
                # Another process may have made the pipe one that does not wait: then it is full
                # although select found room, and is waited for anew.
                with _no_signals(), suppress(BlockingIOError):
                    # A line that is longer than what is written at once is finished all the same.
                    while data:
                        data = data[os.write(self._handle, data) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise NmtError(f"{self._name}: cannot be written ({error.strerror})") from None


@contextmanager
def stream_sink(handle: int, name: str, at_once: bool) -> Iterator[StreamSink]:
    """An open file for lines; what was written before an error still goes out.

    Args:
        handle: see :class:`StreamSink`.
        name: see there.
        at_once: see there.
    """
    sink = StreamSink(handle, name, at_once)
    try:
        yield sink
    except NmtError:
        sink.flush()
        raise
    sink.flush()


@contextmanager
def _no_signals() -> Iterator[None]:
    """Let signals wait."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class FileSink:
    """A file that grows as ``NAME.part`` and takes its name when it is whole.

    What an interrupted translation leaves is whole lines, but for the last; it goes on behind
    them.

    Args:
        path: of the file.
        done: lines of input that it holds already.
        stream: of the part.
        lines_each: lines of output for a line of input.
    """

    def __init__(self, path: Path, done: int, stream: BinaryIO, lines_each: int) -> None:
        self.path, self.done = path, done
        self._stream, self._lines_each = stream, lines_each
        self._written = time.monotonic()

    def write(self, lines: list[str]) -> None:
        """See :class:`Sink`."""
        assert len(lines) == self._lines_each, "what is counted when it is resumed"
        with _no_signals():
            self._stream.write("".join(f"{line}\n" for line in lines).encode())
            if time.monotonic() - self._written > _SECONDS_BETWEEN_WRITES:
                self._stream.flush()
                self._written = time.monotonic()


@contextmanager
def file_sink(
    path: Path, lines_each: int, settings: str, resume: bool, force: bool
) -> Iterator[Sink]:
    """Open a file for lines; it takes its name when all went well.

    A link is followed. A device or a pipe (/dev/null) takes the lines as they come.

    Args:
        path: of the file; .gz, .xz and .zst are compressed once it is whole.
        lines_each: lines of output for a line of input.
        settings: what the lines depend on; a part that was begun with others is not continued.
        resume: go on with what an interrupted translation left.
        force: write over what is there.

    Raises:
        NmtError: the file is there, or an interrupted one of other settings; or it cannot be
            written.
    """
    check_free(path, force)
    try:
        if is_special(path):
            with path.open("wb") as stream, stream_sink(stream.fileno(), str(path), False) as sink:
                yield sink
        else:
            with _growing(_followed(path), lines_each, settings, resume, force) as growing:
                yield growing
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NmtError(
            f"{path}: cannot be written ({error.strerror or error})",
            "check the path, its permissions and the free space of its disk",
        ) from None


@contextmanager
def _growing(
    path: Path, lines_each: int, settings: str, resume: bool, force: bool
) -> Iterator[FileSink]:
    part, record = part_of(path), path.with_name(path.name + RECORD)
    if not (resume or force) and part.exists():
        raise NmtError(
            f"{part}: is what an interrupted translation left",
            "go on with --resume, or begin anew with --force",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    done = _lines_to_keep(part, record, settings, lines_each) if resume else 0
    try:
        if not done:
            part.unlink(missing_ok=True)
            record.write_text(json.dumps({"settings": settings}) + "\n", encoding="utf-8")
        with part.open("ab") as stream:
            yield FileSink(path, done, stream, lines_each)
        _finish(part, path)
    except BaseException:
        if part.exists() and not part.stat().st_size:
            part.unlink()  # nothing to go on with
        raise
    finally:
        if not part.exists():
            record.unlink(missing_ok=True)


def part_of(path: Path) -> Path:
    """What a file grows as: beside it, or beside what it links to."""
    place = _followed(path)
    return place.with_name(place.name + PART)


def _followed(path: Path) -> Path:
    """What a link leads to; other paths as they were given, for messages."""
    return path.resolve() if path.is_symlink() else path


def check_free(path: Path, force: bool) -> None:
    """Whether a file may be written.

    Raises:
        NmtError: it is there, and is not to be replaced; or is a folder.
    """
    if path.is_dir():
        raise NmtError(f"{path}: is a folder, not a file", "name a file")
    if path.is_file() and not force:
        raise NmtError(f"{path}: exists", "write over it with --force, or choose another name")


def _lines_to_keep(part: Path, record: Path, settings: str, lines_each: int) -> int:
    """Cut a part behind the last whole line of input; how many it then has.

    Raises:
        NmtError: it was begun with other settings.
    """
    if not part.exists():
        return 0
    began: object = None
    with suppress(OSError, ValueError):
        began = json.loads(record.read_text(encoding="utf-8"))
    if began != {"settings": settings}:
        raise NmtError(
            f"{part}: was begun with another model, other options or another input",
            "go on with those, or begin anew with --force",
        )
    lines = kept = end = 0
    with part.open("rb") as stream:
        for line in stream:
            if not line.endswith(b"\n"):
                break
            lines += 1
            end += len(line)
            if lines % lines_each == 0:
                kept = end
    os.truncate(part, kept)
    return lines // lines_each


def _finish(part: Path, path: Path) -> None:
    """Let a whole part take the place of the file."""
    if path.suffix in SUFFIXES:
        with (
            replacing_path(path) as beside,
            part.open("rb") as plain,
            writing(beside, path.suffix) as stream,
        ):
            while block := plain.read(1 << 20):
                stream.write(block)
        part.unlink()
        return
    sync(part)
    part.replace(path)
    sync(path.parent)
