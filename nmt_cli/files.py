"""Safe files: reads of a limited size, writes that are complete or do not happen, and locks.

Files and folders are written under a temporary name, then renamed.
"""

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeVar

from nmt_cli.errors import BusyError, InputError, ModelError, OutputError

Record = TypeVar("Record")

MAX_BYTES = 4 << 20  # a manifest of a hundred layers has 200 kB


def read_limited(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Read a file of at most ``limit`` bytes. Raises ValueError if it is larger.

    A pipe, which would block, is an OSError as a folder is, but not one of the shell: /dev/fd/63.
    """
    if path.is_fifo() and path.parts[:2] != ("/", "dev"):
        raise OSError(errno.EINVAL, "a pipe, not a file")
    with path.open("rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"larger than {limit:,} bytes")
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
        content = msgspec.json.decode(read_limited(path), type=dict[str, Any])
        version = content.get("format")
        if type(version) is not int:
            raise ValueError("no format number")
        if version > newest:
            formats = f"format {version}, this one reads up to {newest}"
            raise ModelError(f"{path.parent}: written by a newer nmt ({formats})", "upgrade nmt")
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
        OutputError: no permission, or the disk is full; the old file stays intact.
    """
    with replacing_path(path) as new, new.open("w", encoding="utf-8", newline="\n") as stream:
        yield stream


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file for programs and people, as :func:`replacing` does."""
    import json  # not at the start of every command

    with replacing(path) as stream:
        stream.write(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def replacing_path(path: Path) -> Iterator[Path]:
    """As :func:`replacing`, but yields the path to write to, which has the same name.

    A link is followed; a device or pipe (/dev/stdout) is written to directly.
    """
    with failures(path):
        if path.is_dir():
            raise OutputError(f"{path}: is a folder, not a file", "name a file")
        if is_special(path):
            yield path
            return
        with _temporary(path) as (target, temporary):
            yield temporary
            sync(temporary)
            temporary.replace(target)
            sync(target.parent)


@contextmanager
def replacing_folder(folder: Path, marker: str) -> Iterator[Path]:
    """Fill a folder under a temporary name; it replaces ``folder`` on success.

    Every folder of this kind contains the file ``marker``; one with only other files stays.

    Raises:
        OutputError: the folder exists and is of another kind, no permission, or the disk is full;
            the old folder stays intact.
    """
    with failures(folder):
        occupied = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        if occupied and not (folder / marker).exists():
            reason = f"{folder}: exists and contains something else (no {marker})"
            raise OutputError(reason, "choose another folder with `output`")
        with _temporary(folder) as (target, temporary):
            temporary.mkdir()
            yield temporary
            for path in temporary.rglob("*"):
                sync(path)
            # A folder cannot be renamed over a non-empty one: move the old one away first.
            old = temporary.with_name(f"{temporary.name}.old")
            try:
                if target.exists():
                    target.rename(old)
                temporary.rename(target)
            except BaseException:
                if old.exists() and not target.exists():
                    old.rename(target)
                raise
            sync(target.parent)


@contextmanager
def _temporary(path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the path with links followed, and a path of the same name in a temporary folder.

    The folder is beside the path, only this user can read it, and it is removed at the end.
    """
    from tempfile import TemporaryDirectory  # not at the start of every command

    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(
        prefix=f".{target.name}.", dir=target.parent, ignore_cleanup_errors=True
    ) as folder:
        yield target, Path(folder, target.name)


@contextmanager
def failures(path: Path) -> Iterator[None]:
    """Raise :func:`unwritable` if the path, or something in it, cannot be written.

    A pipe whose reader is gone still raises BrokenPipeError.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> OutputError:
    """Return the error for a file or folder that cannot be written."""
    reason = error.strerror or error
    if error.args and isinstance(error.args[0], list):  # shutil's: (from, to, reason)
        reason = error.args[0][-1][-1]
    hint = "check the path, its permissions and the free disk space"
    return OutputError(f"{path}: cannot be written ({reason})", hint)


def standard_output(hint: str = "redirect it to a file") -> BinaryIO:
    """Return standard output, in binary. Raises OutputError if it is closed."""
    if sys.stdout is None:
        raise OutputError("standard output is closed", hint)
    return sys.stdout.buffer


def is_special(path: Path) -> bool:
    """Whether a path is a device or a pipe, which can be read only once and is never replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def open_own(path: Path) -> BinaryIO:
    """Open a file that this user created, to read and write.

    Raises:
        InputError: it is something that another user of the folder may have put there: a symbolic
            or hard link, a pipe, or a file of theirs.
    """
    refused = InputError(f"{path}: is a link, or another user's file", "remove it")
    try:
        # Opening a pipe must not wait for its other end.
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise (refused if error.errno == errno.ELOOP else error) from None
    status = os.fstat(handle)
    is_regular = stat.S_ISREG(status.st_mode) and status.st_nlink == 1
    if not is_regular or status.st_uid != os.geteuid():
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


@contextmanager
def locked(folder: Path, shared: bool = False) -> Iterator[None]:
    """Hold a lock on a folder, which need not exist and may be replaced.

    The kernel releases the lock when the process ends, so a file left by a killed process does not
    block. A file system without locks protects nothing. With ``shared``, for reading, other readers
    may hold the lock, too, and there is no lock if its file cannot be written.

    Raises:
        BusyError: another process holds the lock.
        OutputError: its file cannot be written.
    """
    target = Path(os.path.realpath(folder))
    # A mounted folder may be in one that is read-only.
    is_replaceable = not target.is_dir() or os.access(target.parent, os.W_OK)
    path = (target.parent if is_replaceable else target) / f".{target.name}.lock"
    missing = [parent for parent in path.parents if not parent.exists()]  # the innermost first
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
            for parent in missing:
                parent.rmdir()


def _acquire(folder: Path, path: Path, mode: int) -> int:
    """Lock a file, which is created if needed, and write the name of this process to it."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        if not _lock(handle, mode):
            with open(handle, encoding="utf-8", errors="replace") as stream:
                holder = "".join(filter(str.isprintable, stream.read(200)))
            reason = f"{folder}: in use by {holder or 'another process'}"
            raise BusyError(reason, "wait until it has finished, or stop it")
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
