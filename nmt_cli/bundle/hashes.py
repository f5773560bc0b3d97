"""Compare a bundle's files with the hashes in its manifest."""

import hashlib
from pathlib import Path, PurePosixPath

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.manifest import FileRecord, Manifest
from nmt_cli.bundle.values import HINT
from nmt_cli.errors import NmtError


def file_record(path: Path) -> FileRecord:
    """Hash a file."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return FileRecord(digest, path.stat().st_size)


def file_records(folder: Path) -> dict[str, FileRecord]:
    """Hash every file of a folder except its manifest."""
    return {
        path.relative_to(folder).as_posix(): file_record(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }


def is_inside(name: str) -> bool:
    """Return whether a name is a path inside the bundle's folder, on every system."""
    path = PurePosixPath(name)
    return (
        bool(path.parts)
        and path.as_posix() == name
        and not path.is_absolute()
        and ".." not in path.parts
        and not set(name) & set("\\:")
    )


def check_files(folder: Path, manifest: Manifest) -> None:
    """Compare every file of a bundle with its record.

    Raises:
        NmtError: a file is missing, differs, or lies outside the folder.
    """
    for name, wanted in manifest.files.items():
        path = folder / name
        try:
            found = _record_inside(folder, path, wanted)
        except OSError as error:
            raise NmtError(f"{path}: cannot be read ({error.strerror})", HINT) from None
        if found != wanted:
            raise NmtError(
                f"{path}: is not the file that was exported ({found.bytes:,} bytes, "
                f"{wanted.bytes:,} expected; SHA-256 differs)",
                HINT,
            )


def _record_inside(folder: Path, path: Path, wanted: FileRecord) -> FileRecord:
    """Return a file's record; a file of another size, which may be endless, is not read."""
    size = path.stat().st_size
    if not path.resolve().is_relative_to(folder.resolve()):
        raise NmtError(f"{path}: is a link that leaves the bundle", HINT)
    if not path.is_file():
        raise NmtError(f"{path}: is not a file", HINT)
    return file_record(path) if size == wanted.bytes else FileRecord("", size)
