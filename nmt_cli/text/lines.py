"""Read and write lines of UTF-8 text.

A line ends at LF or CRLF only: str.splitlines() would also split at U+2028, form feeds and
other characters that occur inside real sentences.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.files import replacing
from nmt_cli.text.compression import reading

BYTE_ORDER_MARK = "\ufeff"

STRICT, REPLACE, SKIP_LINE = ON_ERROR = ("strict", "replace", "skip-line")
"""How to handle invalid UTF-8: stop, replace bad bytes with U+FFFD, or read a blank line."""

_CONVERT = "convert the file, e.g. with iconv -f latin1 -t utf-8"
# What compressed files begin with.
_COMPRESSED = {
    b"\x1f\x8b": "it is compressed by gzip: decompress it, e.g. with zcat",
    b"\xfd7zXZ": "it is compressed by xz: decompress it, e.g. with xzcat",
    b"(\xb5/\xfd": "it is compressed by zstd: decompress it, e.g. with zstdcat",
}
_DONE = {REPLACE: "replaced with U+FFFD", SKIP_LINE: "left blank"}


def decode_lines(
    stream: Iterable[bytes],
    name: str,
    on_error: str = STRICT,
    warn: Callable[[str], None] = lambda message: None,
    keep_cr: bool = False,
) -> Iterator[str]:
    """Decode a binary stream of lines, without their ends.

    Args:
        stream: yields one line at a time.
        name: of the stream, for messages.
        on_error: one of ON_ERROR.
        warn: receives the first line with invalid UTF-8, and at the end the number of such lines.
        keep_cr: keep the CR of CRLF.

    Raises:
        NmtError: a line is not valid UTF-8, and ``on_error`` is strict; names file and line.
    """
    bad = 0
    for number, raw in enumerate(stream, start=1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            where = f"{name}, line {number}: invalid UTF-8 at byte {error.start + 1}"
            if on_error == STRICT:
                hints = (hint for magic, hint in _COMPRESSED.items() if raw.startswith(magic))
                raise NmtError(where, next(hints, _CONVERT)) from None
            line = raw.decode("utf-8", "replace") if on_error == REPLACE else ""
            bad += 1
            if bad == 1:
                warn(f"{where}; {_DONE[on_error]}")
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        line = line.removesuffix("\n")
        yield line if keep_cr else line.removesuffix("\r")
    if bad > 1:
        warn(f"{name}: {bad:,} lines with invalid UTF-8 in total; {_DONE[on_error]}")


def read_lines(path: Path) -> list[str]:
    """All lines of a UTF-8 file, which may be compressed, without their ends.

    Raises:
        NmtError: the file cannot be read or decompressed, or a line is not valid UTF-8.
    """
    with reading(path) as stream:
        return list(decode_lines(stream, str(path)))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, each ended by LF; on failure the old file stays."""
    with replacing(path) as stream:
        stream.writelines(f"{line}\n" for line in lines)
