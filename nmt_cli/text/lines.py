"""Read and write lines of UTF-8 text, and files that are compressed: .gz, .xz, .zst.

A line ends at LF or CRLF only: str.splitlines() would also split at U+2028, form feeds and
other characters that occur inside real sentences.
"""

import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal

from nmt_cli.errors import InputError
from nmt_cli.files import replacing, replacing_path

logger = logging.getLogger(__name__)

BYTE_ORDER_MARK = "\ufeff"

# Lines with nothing to see: Unicode's properties White_Space and Default_Ignorable_Code_Point
# (soft hyphen, zero-width and variation marks, ...), and control characters. The exported
# SavedModel uses the same pattern (RE2), so it contains the characters themselves.
BLANK = re.compile(
    "[\0-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*"
)

STRICT, REPLACE, SKIP_LINE = ON_ERROR = ("strict", "replace", "skip-line")
"""How to handle invalid UTF-8: stop, replace bad bytes with U+FFFD, or read a blank line."""

_CONVERT = "convert the file, e.g. with iconv -f latin1 -t utf-8"
# What files begin with that are not UTF-8, and what to do about it.
_MARKS = {
    b"\xff\xfe": "it is UTF-16: convert it with iconv -f utf-16 -t utf-8",
    b"\xfe\xff": "it is UTF-16: convert it with iconv -f utf-16 -t utf-8",
    b"\x1f\x8b": "it is compressed by gzip: decompress it with gzip -d",
    b"\xfd7zXZ": "it is compressed by xz: decompress it with xz -d",
    b"(\xb5/\xfd": "it is compressed by zstd: decompress it with zstd -d",
}
_DONE = {REPLACE: "replaced with U+FFFD", SKIP_LINE: "left blank"}

SUFFIXES = (".gz", ".xz", ".zst")

# What the libraries raise for damaged files, zlib's "error" among them.
_DAMAGE = {"EOFError", "error", "BadGzipFile", "LZMAError", "ZstdError"}


def decode_lines(
    stream: Iterable[bytes],
    name: str,
    on_error: str = STRICT,
    *,
    keep_cr: bool = False,
    first_number: int = 1,
) -> Iterator[str]:
    """Decode a binary stream of lines, without their ends.

    Invalid UTF-8 is an InputError, or, with another ``on_error`` of ON_ERROR, is logged: the first
    such line, and at the end their number. ``keep_cr`` keeps the CR of CRLF.
    """
    bad = 0
    for number, raw in enumerate(stream, start=first_number):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            where = f"{name}, line {number}: invalid UTF-8 at byte {error.start + 1}"
            if on_error == STRICT:
                hints = (hint for mark, hint in _MARKS.items() if raw.startswith(mark))
                raise InputError(where, next(hints, _CONVERT)) from None
            line = raw.decode("utf-8", "replace") if on_error == REPLACE else ""
            bad += 1
            if bad == 1:
                logger.warning(f"{where}; {_DONE[on_error]}")
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        line = line.removesuffix("\n")
        yield line if keep_cr else line.removesuffix("\r")
    if bad > 1:
        logger.warning(f"{name}: {bad:,} lines with invalid UTF-8 in total; {_DONE[on_error]}")


def is_blank(line: str) -> bool:
    """Return whether a line has only white space and invisible characters, or none."""
    return BLANK.fullmatch(line) is not None


def plain_name(path: Path) -> Path:
    """Return the name of a file without the suffix of its compression."""
    return path.with_suffix("") if path.suffix in SUFFIXES else path


def reading(path: Path) -> AbstractContextManager[BinaryIO]:
    """Open a file at once, decompressed if its name says that it is compressed."""
    try:
        return _whole(path, path.open("rb"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, not a file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None


@contextmanager
def _whole(path: Path, stream: BinaryIO) -> Iterator[BinaryIO]:
    """Do the same as :func:`decompressed` and :func:`unshortened`."""
    with decompressed(path, stream) as inside, unshortened(stream, str(path)):
        yield inside


@contextmanager
def unshortened(stream: BinaryIO, name: str) -> Iterator[BinaryIO]:
    """Check, after the file has been read, that no program has shortened it meanwhile."""
    size = os.fstat(stream.fileno()).st_size
    yield stream
    if os.fstat(stream.fileno()).st_size < size:
        reason = f"{name}: became shorter while it was read, so that text may be missing"
        raise InputError(reason, "run the command again when no other program writes it")


@contextmanager
def decompressed(path: PurePath, stream: BinaryIO) -> Iterator[BinaryIO]:
    """Decompress an open file if its name says so; while reading, damage raises InputError."""
    with stream:
        try:
            with _opened(path.suffix, stream, "rb") as inside:
                yield inside
        except Exception as error:
            if path.suffix not in SUFFIXES or type(error).__name__ not in _DAMAGE:
                raise
            reason = f"{path}: cannot be decompressed ({error or 'unexpected end'})"
            raise InputError(reason, f"the file is damaged, or not a {path.suffix} file") from None


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Write a file, compressed as its name says, that replaces ``path`` on success."""
    with replacing_path(path) as new, new.open("wb") as raw, _opened(path.suffix, raw, "wb") as out:
        yield out


def _opened(suffix: str, stream: BinaryIO, mode: Literal["rb", "wb"]) -> Any:
    # Imported when needed: translating a single line waits for every import.
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


def read_lines(path: Path) -> list[str]:
    """Return all lines of a UTF-8 file, which may be compressed, without their ends."""
    with reading(path) as stream:
        return list(decode_lines(stream, str(path)))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, each ended by LF; on failure the old file stays."""
    with replacing(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def aligned(
    sources: Iterable[str], targets: Iterable[Any], names: tuple[str, str] = ("source", "target")
) -> Iterator[tuple[str, Any]]:
    """Pair lines, or lines and their phrases; both sides, named in errors, have as many."""
    for number, (source, target) in enumerate(zip_longest(sources, targets), start=1):
        if source is None or target is None:
            short, long = names if source is None else names[::-1]
            reason = f"{short}: ends before line {number}, {long} does not"
            raise InputError(reason, "give aligned sides with equal line counts")
        yield source, target
