"""Write files and folders completely or not at all: under a temporary name, then renamed."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

from nmt_cli.errors import NmtError


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Write a UTF-8 text file under a temporary name; it replaces ``path`` on success.

    Raises:
        NmtError: no permission, or the disk is full; the old file stays intact.
    """
    with replacing_path(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as out:
        yield out


@contextmanager
def replacing_path(path: Path) -> Iterator[Path]:
    """As :func:`replacing`, but yields the path to write to.

    A link is followed; a device or pipe (/dev/stdout) is written to directly.

    Raises:
        NmtError: no permission, or the disk is full; the old file stays intact.
    """
    try:
        if path.is_dir():
            raise NmtError(f"{path}: is a folder, not a file", "name a file")
        if is_special(path):
            yield path
            return
        place = Path(os.path.realpath(path))
    except OSError as error:
        raise unwritable(path, error) from None
    beside = _beside(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside.touch(0o600, exist_ok=False)
        yield beside
        sync(beside)
        beside.chmod(0o666 & ~_umask())
        beside.replace(place)
        sync(place.parent)
    except OSError as error:
        raise unwritable(path, error) from None
    finally:
        with suppress(OSError):
            beside.unlink()


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
    try:
        if _is_foreign(folder, marker):
            raise NmtError(
                f"{folder}: exists and contains something else (no {marker})",
                "choose another folder with -o",
            )
        place = Path(os.path.realpath(folder))  # keep a link, replace its target
    except OSError as error:
        raise unwritable(folder, error) from None
    beside = _beside(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir(0o700)
        yield beside
        for path in beside.rglob("*"):
            sync(path)
        beside.chmod(0o777 & ~_umask())
        if place.exists():
            # A folder cannot be renamed over a non-empty one: move the old one away first.
            aside = beside.with_name(f"{beside.name}.old")
            place.rename(aside)
            try:
                beside.rename(place)
            except BaseException:
                aside.rename(place)
                raise
            shutil.rmtree(aside)
        else:
            beside.rename(place)
        sync(place.parent)
    except OSError as error:
        raise unwritable(folder, error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _beside(place: Path) -> Path:
    """A new name next to a file or folder, chosen before anything is created under it, so that an
    interrupted call cleans up.
    """
    return place.parent / f".{place.name}.{os.urandom(4).hex()}{place.suffix}"


def _is_foreign(folder: Path, marker: str) -> bool:
    if not folder.exists() or (folder / marker).exists():
        return False
    return not folder.is_dir() or any(folder.iterdir())


def unwritable(path: Path, error: OSError) -> NmtError:
    """The error for a file or folder that cannot be written."""
    reason = error.strerror or error
    if isinstance(error, shutil.Error):  # of copying a folder: a list of (from, to, reason)
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


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
