"""Files and folders, on this machine or at URLs that pyarrow reads."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from nmt_cli.errors import NmtError, first_line
from nmt_cli.files import replacing_path
from nmt_cli.text.lines import decompressed, reading


@dataclass(frozen=True)
class Place:
    """A file or folder, whether or not it exists: its file system, its path there, its name."""

    system: FileSystem
    path: str
    name: str

    @classmethod
    def of(cls, place: Path) -> "Place":
        """The place of a path, or of a URL, whose // pathlib has made a /.

        Raises:
            NmtError: it is not a URL that pyarrow reads.
        """
        scheme, colon, rest = str(place).partition(":/")
        if not (colon and scheme.isalnum()):
            return cls(LocalFileSystem(), os.path.abspath(place), str(place))
        url = f"{scheme}://{'/' if scheme == 'file' else ''}{rest.lstrip('/')}"
        try:
            system, path = FileSystem.from_uri(url)
        except (pa.ArrowException, OSError) as error:
            reason = f"{url}: not a URL that pyarrow reads ({first_line(error)})"
            raise NmtError(reason, "use a path, or s3://, gs://, abfs:// or file://") from None
        return cls(system, path, url)

    @property
    def local(self) -> Path | None:
        """Its path, unless it is in object storage."""
        return Path(self.path) if isinstance(self.system, LocalFileSystem) else None

    def plus(self, end: str) -> "Place":
        """The place whose path continues with ``end``."""
        return replace(self, path=self.path + end, name=self.name + end)

    def info(self) -> FileInfo:
        """Its type, size and time of change; NmtError if the file system cannot be reached."""
        with self._failures("read"):
            return self.system.get_file_info(self.path)

    def listed(self, recursive: bool = False) -> list[FileInfo]:
        """What is in this folder, in order; nothing if it does not exist."""
        with self._failures("read"):
            selector = FileSelector(self.path, allow_not_found=True, recursive=recursive)
            return sorted(self.system.get_file_info(selector), key=lambda each: each.path)

    def files(self) -> list[tuple["Place", str]]:
        """The file here, or those in this folder or matching this pattern, and their names in it.

        Hidden files are left out.

        Raises:
            NmtError: there is no file.
        """
        kind, parts = self.info().type, self.path.split("/")
        if kind == FileType.File:
            return [(self, parts[-1])]
        special = [at for at, part in enumerate(parts) if set(part) & set("*?[")]
        if kind == FileType.NotFound and not special:
            raise NmtError(f"{self.name}: no such file")
        end = len(parts) if kind == FileType.Directory else special[0]
        shown = self.name.split("/")[: end - len(parts) or None]
        found = []
        for each in replace(self, path="/".join(parts[:end])).listed(recursive=True):
            name, pattern = each.path.split("/")[end:], parts[end:]
            fits = len(name) == len(pattern) and all(map(fnmatchcase, name, pattern))
            hidden = any(part.startswith(".") for part in name)
            if each.type == FileType.File and not hidden and (fits or not pattern):
                place = replace(self, path=each.path, name="/".join([*shown, *name]))
                found.append((place, "/".join(name)))
        if not found:
            raise NmtError(f"{self.name}: contains no file", "name a folder or pattern of files")
        return found

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open a file, decompressed if its name says that it is compressed.

        Raises:
            NmtError: it cannot be read or is damaged.
        """
        if self.local:
            with reading(self.local) as stream:
                yield stream
            return
        with self._failures("read"):
            source = io.BufferedReader(self.system.open_input_stream(self.path, compression=None))
            with decompressed(PurePosixPath(self.name), source) as stream:
                yield stream

    def write(self, content: bytes) -> None:
        """Write a file that appears when it is complete: by a renaming, or by one upload.

        Raises:
            NmtError: it cannot be written; an old file stays.
        """
        if self.local:
            with replacing_path(self.local) as beside:
                beside.write_bytes(content)
            return
        with self._failures("written"), self.system.open_output_stream(self.path) as stream:
            stream.write(content)

    def remove(self) -> None:
        """Remove this folder, if it exists."""
        with self._failures("removed"):
            if self.info().type == FileType.Directory:
                self.system.delete_dir(self.path)

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = f"{self.name}: cannot be {what} ({first_line(error)})"
            raise NmtError(reason, "check the path and its permissions") from None
