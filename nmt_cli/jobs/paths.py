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

from nmt_cli.errors import InputError, NmtError, OptionError, OutputError, first_line
from nmt_cli.files import replacing_path
from nmt_cli.text.lines import decompressed, reading


@dataclass(frozen=True)
class DataPath:
    """A file or folder, whether or not it exists.

    Attributes:
        system: the file system.
        path: the path there.
        name: the path or URL as the user wrote it.
    """

    system: FileSystem
    path: str
    name: str

    @classmethod
    def of(cls, path: Path) -> "DataPath":
        """Read a path, or a URL, whose // pathlib has made a /."""
        scheme, colon, rest = str(path).partition(":/")
        if not (colon and scheme.isalnum()):
            return cls(LocalFileSystem(), os.path.abspath(path), str(path))
        url = f"{scheme}://{'/' if scheme == 'file' else ''}{rest.lstrip('/')}"
        try:
            system, inner = FileSystem.from_uri(url)
        except (pa.ArrowException, OSError) as error:
            reason = f"{url}: not a URL that pyarrow reads ({first_line(error)})"
            raise OptionError(reason, "use a path, or s3://, gs://, abfs:// or file://") from None
        return cls(system, inner, url)

    @property
    def local(self) -> Path | None:
        """The path on this machine; None in object storage."""
        return Path(self.path) if isinstance(self.system, LocalFileSystem) else None

    @property
    def key(self) -> tuple[str, str]:
        """Identifies the file, whatever its name."""
        return self.system.type_name, self.path

    def plus(self, end: str) -> "DataPath":
        """Return the path that continues with ``end``."""
        return replace(self, path=self.path + end, name=self.name + end)

    def info(self) -> FileInfo:
        """Return type, size and time of change."""
        with self._failures("read", InputError):
            return self.system.get_file_info(self.path)

    def listed(self, recursive: bool = False) -> list[FileInfo]:
        """Return what is in this folder, in order; nothing if it does not exist."""
        with self._failures("read", InputError):
            selector = FileSelector(self.path, allow_not_found=True, recursive=recursive)
            return sorted(self.system.get_file_info(selector), key=lambda info: info.path)

    def files(self) -> list[tuple["DataPath", str]]:
        """Return this file, or the files in this folder or matching this pattern.

        Each comes with its name in the folder. Hidden files are left out.
        """
        file_type, parts = self.info().type, self.path.split("/")
        if file_type == FileType.File:
            return [(self, parts[-1])]
        special = [index for index, part in enumerate(parts) if set(part) & set("*?[")]
        if file_type == FileType.NotFound and not special:
            raise InputError(f"{self.name}: no such file")
        depth = len(parts) if file_type == FileType.Directory else special[0]
        pattern = parts[depth:]
        shown = self.name.split("/")[: -len(pattern) or None]
        files = []
        for info in replace(self, path="/".join(parts[:depth])).listed(recursive=True):
            name = info.path.split("/")[depth:]
            matches = len(name) == len(pattern) and all(map(fnmatchcase, name, pattern))
            hidden = any(part.startswith(".") for part in name)
            if info.type == FileType.File and not hidden and (matches or not pattern):
                path = replace(self, path=info.path, name="/".join([*shown, *name]))
                files.append((path, "/".join(name)))
        if not files:
            raise InputError(f"{self.name}: contains no file", "name a folder or pattern of files")
        return files

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open a file, decompressed if its name says that it is compressed."""
        if self.local:
            with reading(self.local) as stream:
                yield stream
            return
        with self._failures("read", InputError):
            source = io.BufferedReader(self.system.open_input_stream(self.path, compression=None))
            with decompressed(PurePosixPath(self.name), source) as stream:
                yield stream

    def write(self, content: bytes) -> None:
        """Write a file that appears when it is complete: by a renaming, or by one upload."""
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
    def _failures(self, action: str, kind: type[NmtError] = OutputError) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = f"{self.name}: cannot be {action} ({first_line(error)})"
            raise kind(reason, "check the path and its permissions") from None
