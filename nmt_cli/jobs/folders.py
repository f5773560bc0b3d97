"""Files that are translated shard by shard, also at URLs: which shards of their outputs exist.

The name of a shard has its range of rows and a hash of everything that they depend on. It appears
when it is complete, so a shard that exists is correct, and repeated work gives the same bytes.
"""

import io
import logging
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from shutil import copyfileobj
from typing import BinaryIO

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, LocalFileSystem

from nmt_cli.errors import InputError, NmtError, OptionError, OutputError, first_line
from nmt_cli.files import replacing_path
from nmt_cli.jobs import shards
from nmt_cli.jobs.files import check_free, check_outputs
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.shards import Counts, Form, RowTranslator, Shard
from nmt_cli.search.pivot import AnyTranslator
from nmt_cli.text.lines import decompressed, plain_name, reading, writing

logger = logging.getLogger(__name__)

COMPLETE = "_SUCCESS"  # as other engines mark a complete folder; they skip names that begin with _
_SHARD = re.compile(r"(\d{12})-(\d{12})-([0-9a-f]{16})\b.*")


@dataclass(frozen=True)
class DataPath:
    """A file or folder, whether or not it exists.

    ``name`` is the path or URL as the user wrote it.
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

    def __str__(self) -> str:
        return self.name

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


@dataclass(frozen=True)
class FileJob:
    """A file to translate shard by shard.

    Attributes:
        output: the file to write, or the folder of its shards.
        folder: the folder of the shards: the output, or one beside it until they are joined.
        settings: a hash of everything that the output depends on.
    """

    source: DataPath
    output: DataPath
    folder: DataPath
    settings: str

    @property
    def file(self) -> Path | None:
        """The file that the shards become; None if they stay."""
        return None if self.folder == self.output else self.output.local

    def shard_name(self, start: int, end: int) -> str:
        """Return the name of the shard with these rows."""
        suffix = plain_name(Path(self.source.path)).suffix
        return f"{start:012}-{end:012}-{self.settings}{suffix}"

    def names(self) -> list[str]:
        """Return the names in the folder of shards."""
        return [info.base_name for info in self.folder.listed()]

    def translate(
        self,
        shard: Shard,
        translator: AnyTranslator,
        options: TranslateOptions,
        counts: Counts,
        form: Form,
    ) -> None:
        """Translate a shard, write it and count its rows."""
        named = replace(translator, name=f"{self.source.name}, ")
        rows = RowTranslator(named, options, self.source.name, counts)
        content = form.translate(shard, rows, with_header=not self.file)
        self.folder.plus(f"/{self.shard_name(shard.start, shard.end)}").write(content)

    def prepare(self, force: bool, resume: bool) -> bool:
        """Check what exists, and remove it with ``force``; returns whether there is work to do."""
        names, where = self.names(), self.folder.name
        visible = [name for name in names if name != COMPLETE and not name.startswith(".")]
        existing = [_SHARD.fullmatch(name) for name in visible]
        done = COMPLETE in names
        if self.file:
            done = resume and self.file.is_file()
            check_free(self.file, force or resume)
        if None in existing:
            reason = f"{where}: exists and contains something else"
            raise OutputError(reason, "choose another `output`")
        if force or (self.file and done):
            self.folder.remove()
        elif any(match and match[3] != self.settings for match in existing):
            reason = f"{where}: was started with another model, other options or another input"
            raise OutputError(reason, "continue with those, or start again with `force`")
        elif names and not resume:
            reason = f"{where}: {'exists' if done else 'left by an interrupted translation'}"
            raise OutputError(reason, "continue it with `resume`, or start again with `force`")
        if done and not force:
            logger.info(f"{self.output.name}: already complete")
        return force or not done

    def parts(self) -> list[DataPath]:
        """Return the files of the shards, in order."""
        return [self.folder.plus(f"/{name}") for name in self.names() if _SHARD.fullmatch(name)]

    def finish(self, rows: int) -> None:
        """Join the shards, or mark their folder as complete, if they have all rows."""
        end = 0
        for match in filter(None, map(_SHARD.fullmatch, self.names())):
            end = int(match[2]) if int(match[1]) == end else -1
        if end != rows:
            reason = f"{self.folder.name}: does not have all {rows:,} rows"
            hint = "`output` must be storage that all nodes of the cluster share"
            raise OutputError(reason, hint)
        if self.file:
            with writing(self.file) as stream:
                for part in self.parts():
                    with part.opened() as content:
                        copyfileobj(content, stream)
            self.folder.remove()
            return
        for name in self.names():
            if name.startswith("."):  # left by a process that was killed
                self.folder.plus(f"/{name}").remove()
        self.folder.plus(f"/{COMPLETE}").write(b"")


def sources(files: Sequence[Path]) -> list[tuple[DataPath, str]]:
    """Return the files to read, each with its name in a folder of outputs."""
    return [source for file in files for source in DataPath.of(file).files()]


def settings(options: TranslateOptions, model: list[str], source: DataPath) -> str:
    """Return a hash of everything that the shards of a file depend on."""
    info, marks = source.info(), [*model, str(shards.ROWS)]
    return options.fingerprint(marks, f"{source.path} {info.size} {info.mtime_ns}")[:16]


def file_jobs(options: TranslateOptions, model: list[str]) -> list[FileJob]:
    """Return what to read and write; ``model`` is its fingerprint."""
    files, root = sources(options.files), DataPath.of(options.output or Path())
    local = root.local is not None and "://" not in root.name
    joined = local and options.input_format != "parquet"
    single = local and len(files) == 1
    single = single and files[0][0].path == DataPath.of(options.files[0]).path
    if single and Path(root.path).is_dir():  # its shards, or a folder for outputs
        single = any(_SHARD.fullmatch(info.base_name) for info in root.listed())
    jobs = []
    for source, name in files:
        output = root if single else root.plus(f"/{name if joined else plain_name(Path(name))}")
        folder = output.plus(".shards") if joined else output
        jobs.append(FileJob(source, output, folder, settings(options, model, source)))
    check_outputs(
        [(job.source, job.output) for job in jobs],
        key=lambda path: path.local.resolve() if path.local else (path.system.type_name, path.path),
    )
    return jobs
