"""Writing files and folders whole or not at all: beside, synced, then renamed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from nmt_cli.errors import NmtError


@contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Write a UTF-8 text file beside its place; it takes that place when all went well.

    Raises:
        NmtError: no permission, or the disk is full; the old file stays whole.
    """
    with replacing_path(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as out:
        yield out


@contextmanager
def replacing_path(path: Path) -> Iterator[Path]:
    """As :func:`replacing`, for whoever writes by path: gives the path to write to.

    Raises:
        NmtError: no permission, or the disk is full; the old file stays whole.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent
        )
        os.close(handle)
        beside = Path(name)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        yield beside
        _sync(beside)
        beside.chmod(0o666 & ~_umask())
        beside.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def replacing_folder(folder: Path, marker: str) -> Iterator[Path]:
    """Fill a folder beside its place; it replaces ``folder`` when all went well.

    Args:
        folder: where to.
        marker: the file that every folder of this kind holds; a folder that has other
            things in it and not this file is somebody's own, and is left alone.

    Raises:
        NmtError: somebody's own folder is there, no permission, or the disk is full; the
            old folder stays whole.
    """
    if _is_somebodys_own(folder, marker):
        raise NmtError(
            f"{folder}: exists and holds something else (no {marker} in it)",
            "choose another place with -o",
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        yield beside
        for path in beside.rglob("*"):
            _sync(path)
        beside.chmod(0o777 & ~_umask())
        if folder.exists():
            # A folder cannot be renamed over a full one: the old one steps aside first.
            aside = beside.with_name(f"{beside.name}.old")
            folder.rename(aside)
            beside.rename(folder)
            shutil.rmtree(aside)
        else:
            beside.rename(folder)
        _sync(folder.parent)
    except OSError as error:
        raise _unwritable(folder, error) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _is_somebodys_own(folder: Path, marker: str) -> bool:
    if not folder.exists() or (folder / marker).exists():
        return False
    return not folder.is_dir() or any(folder.iterdir())


def _unwritable(path: Path, error: OSError) -> NmtError:
    return NmtError(
        f"{path}: cannot be written ({error.strerror or error})",
        "check the path, its permissions and the free space of its disk",
    )


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
