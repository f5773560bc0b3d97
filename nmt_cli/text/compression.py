"""Read and write compressed files, by the suffix of their names: .gz, .xz, .zst.

The libraries are imported when needed: translating a single line waits for every import.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Literal

from nmt_cli.errors import NmtError

SUFFIXES = (".gz", ".xz", ".zst")

# What the libraries raise for damaged files, zlib's "error" among them.
_DAMAGE = {"EOFError", "error", "BadGzipFile", "LZMAError", "ZstdError"}


def plain_name(path: Path) -> Path:
    """Return the name of a file without the suffix of its compression."""
    return path.with_suffix("") if path.suffix in SUFFIXES else path


def reading(path: Path) -> AbstractContextManager[BinaryIO]:
    """Open a file at once, decompressed if its name says that it is compressed.

    Raises:
        NmtError: the file is missing, is a folder, or cannot be read; while reading: it is
            damaged, truncated, or of another kind.
    """
    try:
        return _decompressed(path, path.open("rb"))
    except FileNotFoundError:
        raise NmtError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise NmtError(f"{path}: is a folder, not a file") from None
    except OSError as error:
        raise NmtError(f"{path}: cannot be read ({error.strerror})") from None


@contextmanager
def _decompressed(path: Path, stream: BinaryIO) -> Iterator[BinaryIO]:
    with stream:
        try:
            with _opened(path.suffix, stream, "rb") as inside:
                yield inside
        except Exception as error:
            if path.suffix not in SUFFIXES or type(error).__name__ not in _DAMAGE:
                raise
            raise NmtError(
                f"{path}: cannot be decompressed ({error or 'unexpected end'})",
                f"the file is damaged, or not a {path.suffix} file",
            ) from None


@contextmanager
def writing(path: Path, suffix: str) -> Iterator[BinaryIO]:
    """Open a file to write to, compressed as ``suffix`` says; same content, same bytes."""
    with path.open("wb") as stream, _opened(suffix, stream, "wb") as inside:
        yield inside


def _opened(suffix: str, stream: BinaryIO, mode: Literal["rb", "wb"]) -> Any:
    if suffix == ".gz":
        import gzip

        # Without a time and a name, which would make every file different.
        return gzip.GzipFile("", mode, fileobj=stream, mtime=0)
    if suffix == ".xz":
        import lzma

        return lzma.open(stream, mode)
    if suffix == ".zst":
        zstd: Any = import_module(
            "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
        )
        checksum = {zstd.CompressionParameter.checksum_flag: 1}
        return zstd.open(stream, mode, options=checksum if mode == "wb" else None)
    return stream
