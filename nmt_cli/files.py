"""Read files of a limited size, and write files and folders completely or not at all: under a
temporary name, then renamed."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

from nmt_cli.errors import ModelError, NmtError

Record = TypeVar("Record")

SMALL = 4 << 20  # bytes: a manifest of a hundred layers has 200 kB


def read_limited(path: Path, most: int = SMALL) -> bytes:
    """Read a file, which may be endless, of at most so many bytes.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is larger.
    """
    with path.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise ValueError(f"larger than {most:,} bytes")
    return content


def read_record(path: Path, kind: type[Record], newest: int, name: str, remedy: str) -> Record:
    """Read the JSON file that describes a folder written by nmt, such as run.json.

    Args:
        path: the file; its key "format" is a number.
        kind: type of the content, such as a dataclass; other keys are ignored.
        newest: the newest format that this version reads.
        name: what such a folder is, for errors: "a run".
        remedy: how to get an intact one, for errors.

    Raises:
        ModelError: there is no such file, it is damaged, or its format is newer.
    """
    import msgspec  # not at the start of every command

    try:
        if path.exists() and not path.is_file():  # opening a pipe would block
            raise ValueError("not a file")
        content = msgspec.json.decode(read_limited(path), type=dict[str, Any])
        version = content.get("format")
        if type(version) is not int:
            raise ValueError("no format number")
        if version > newest:
            raise ModelError(
                f"{path.parent}: written by a newer nmt "
                f"(format {version}, this one reads up to {newest})",
                "upgrade nmt",
            )
        return msgspec.convert(content, kind)
    except (FileNotFoundError, NotADirectoryError):
        raise ModelError(f"{path.parent}: not {name} (no {path.name})", remedy) from None
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error).replace("`", "")
        raise ModelError(f"{path}: damaged ({reason})", remedy) from None


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Write a UTF-8 text file under a temporary name; it replaces ``path`` on success.

    Raises:
        NmtError: no permission, or the disk is full; the old file stays intact.
    """
    with replacing_path(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as out:
        yield out


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file for programs and people, as :func:`replacing` does."""
    import json  # not at the start of every command

    with replacing(path) as out:
        out.write(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def replacing_path(path: Path) -> Iterator[Path]:
    """As :func:`replacing`, but yields the path to write to, which has the same name.

    A link is followed; a device or pipe (/dev/stdout) is written to directly.
    """
    with failures(path):
        if path.is_dir():
            raise NmtError(f"{path}: is a folder, not a file", "name a file")
        if is_special(path):
            yield path
            return
        with _beside(path) as (place, beside):
            yield beside
            sync(beside)
            beside.replace(place)
            sync(place.parent)


@contextmanager
def replacing_folder(folder: Path, marker: str) -> Iterator[Path]:
    """Fill a folder under a temporary name; it replaces ``folder`` on success.

    Args:
        folder: to write.
        marker: the file that every folder of this kind contains; a folder with other files and
            without this one is not replaced.

    Raises:
        NmtError: the folder exists and is of another kind, no permission, or the disk is full;
            the old folder stays intact.
    """
    with failures(folder):
        occupied = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        if occupied and not (folder / marker).exists():
            raise NmtError(
                f"{folder}: exists and contains something else (no {marker})",
                "choose another folder with -o",
            )
        with _beside(folder) as (place, beside):
            beside.mkdir()
            yield beside
            for path in beside.rglob("*"):
                sync(path)
            # A folder cannot be renamed over a non-empty one: move the old one away first.
            aside = beside.with_name(f"{beside.name}.old")
            try:
                if place.exists():
                    place.rename(aside)
                beside.rename(place)
            except BaseException:
                if aside.exists() and not place.exists():
                    aside.rename(place)
                raise
            sync(place.parent)


@contextmanager
def _beside(path: Path) -> Iterator[tuple[Path, Path]]:
    """The path with links followed, and the same name in a folder beside it that only this user can
    read and that is removed at the end."""
    from tempfile import TemporaryDirectory  # not at the start of every command

    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(
        prefix=f".{place.name}.", dir=place.parent, ignore_cleanup_errors=True
    ) as folder:
        yield place, Path(folder, place.name)


@contextmanager
def failures(path: Path) -> Iterator[None]:
    """Raise :func:`unwritable` if the path, or something in it, cannot be written."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> NmtError:
    """The error for a file or folder that cannot be written."""
    reason = error.strerror or error
    if error.args and isinstance(error.args[0], list):  # of shutil: (from, to, reason)
        reason = error.args[0][-1][-1]
    return NmtError(
        f"{path}: cannot be written ({reason})",
        "check the path, its permissions and the free disk space",
    )


def standard_output(hint: str = "redirect it to a file") -> BinaryIO:
    """Standard output.

    Raises:
        NmtError: it is closed.
    """
    if sys.stdout is None:
        raise NmtError("standard output is closed", hint)
    return sys.stdout.buffer


def is_special(path: Path) -> bool:
    """Whether a path is a device or a pipe, which can be read only once and is never replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def open_own(path: Path) -> BinaryIO:
    """Open a file that this user created, to read and write.

    Raises:
        NmtError: it is something else, which another user of the folder may have put there: a
            symbolic or hard link, a pipe, or a file of theirs.
    """
    refused = NmtError(f"{path}: is a link, or another user's file", "remove it")
    try:
        # Opening a pipe must not wait for its other end.
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise (refused if error.errno == errno.ELOOP else error) from None
    found = os.fstat(handle)
    own = stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_uid == os.geteuid()
    if not own:
        os.close(handle)
        raise refused
    return os.fdopen(handle, "r+b")


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
