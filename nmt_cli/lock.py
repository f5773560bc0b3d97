"""Locks on folders, so that two processes never write to the same one."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.files import unwritable


@contextmanager
def locked(folder: Path, shared: bool = False) -> Iterator[None]:
    """Hold a lock on a folder, which need not exist and may be replaced.

    The kernel releases the lock when the process ends, so a file left by a killed process does not
    block. A file system without locks protects nothing.

    Args:
        folder: what to lock.
        shared: for reading: other readers may hold the lock as well, and where its file cannot be
            written there is none.

    Raises:
        NmtError: another process holds the lock, or its file cannot be written.
    """
    place = Path(os.path.realpath(folder))
    # A mounted folder may be in one that is read-only.
    replaceable = not place.is_dir() or os.access(place.parent, os.W_OK)
    path = (place.parent if replaceable else place) / f".{place.name}.lock"
    missing = [each for each in path.parents if not each.exists()]  # the innermost first
    handle = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _acquire(folder, path, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    except OSError as error:
        if not shared:
            raise unwritable(path if os.path.lexists(path) else folder, error) from None
    try:
        yield
    finally:
        if handle is not None:
            _release(handle, path)
        with suppress(OSError):  # unless something was written there
            for each in missing:
                each.rmdir()


def _acquire(folder: Path, path: Path, mode: int) -> int:
    """Lock a file, which is created if needed, and write the name of this process to it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        if not _lock(handle, mode):
            with open(handle, encoding="utf-8", errors="replace") as stream:
                holder = "".join(filter(str.isprintable, stream.read(200)))
            raise NmtError(
                f"{folder}: in use by {holder or 'another process'}",
                "wait until it has finished, or stop it",
            )
        links = os.fstat(handle).st_nlink
        if links == 1:
            break
        os.close(handle)
        if links:  # somebody else's file; with 0, its owner has just deleted it
            raise OSError(errno.EMLINK, os.strerror(errno.EMLINK))
    with suppress(OSError):  # the name is only for messages
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {os.uname().nodename}\n".encode())
    return handle


def _release(handle: int, path: Path) -> None:
    with suppress(OSError):
        if _lock(handle, fcntl.LOCK_EX):
            path.unlink()
        else:  # other readers hold the lock
            os.ftruncate(handle, 0)
    os.close(handle)


def _lock(handle: int, mode: int) -> bool:
    """Lock a file; return False if another process holds the lock."""
    try:
        fcntl.flock(handle, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        pass
    return True
