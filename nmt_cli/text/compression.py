"""Files that are compressed, by the suffix of their names: .gz, .xz, .zst.

The libraries are imported where they are needed: a line that is translated by itself waits for
every import.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from nmt_cli.errors import NmtError

SUFFIXES = (".gz", ".xz", ".zst")


def plain_name(path: Path) -> Path:
    """The name of a file without the suffix of its compression."""
    return path.with_suffix("") if path.suffix in SUFFIXES else path


@contextmanager
def reading(path: Path, stream: BinaryIO) -> Iterator[BinaryIO]:
    """What an open file holds, taken out of its compression if its name says that it has one.

    Raises:
        NmtError: while it is read: it is damaged, cut off, or not of that kind.
    """
    if path.suffix not in SUFFIXES:
        with stream:
            yield stream
        return
    import gzip
    import lzma
    import zlib

    try:
        with stream, _opened(path.suffix, stream) as inside:
            yield inside
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise _damaged(path, error) from None
    except Exception as error:
        if path.suffix == ".zst" and type(error).__name__ == "ZstdError":
            raise _damaged(path, error) from None
        raise


@contextmanager
def writing(path: Path, suffix: str) -> Iterator[BinaryIO]:
    """A file to write to, compressed as a suffix says; the same bytes give the same file."""
    with path.open("wb") as stream:
        if suffix == ".gz":
            import gzip

            # Without the time and name, which would make each file another one.
            with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as inside:
                yield inside  # type: ignore[misc]  # no BinaryIO by name, and one by use
        elif suffix == ".xz":
            import lzma

            with lzma.open(stream, "wb") as inside:
                yield inside  # type: ignore[misc]
        elif suffix == ".zst":
            zstd = _zstd()
            with zstd.open(
                stream, "wb", options={zstd.CompressionParameter.checksum_flag: 1}
            ) as on:
                yield on
        else:
            yield stream


def _opened(suffix: str, stream: BinaryIO) -> Any:
    if suffix == ".gz":
        import gzip

        return gzip.open(stream, "rb")
    if suffix == ".xz":
        import lzma

        return lzma.open(stream, "rb")
    return _zstd().open(stream, "rb")


def _zstd() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _damaged(path: Path, error: Exception) -> NmtError:
    return NmtError(
        f"{path}: cannot be decompressed ({error or 'it is cut off'})",
        f"it is damaged, or no {path.suffix} file",
    )
