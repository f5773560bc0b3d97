"""Reading and writing lines, which end only at LF or CRLF."""

import gzip
import lzma
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import NmtError
from nmt_cli.text.lines import decode_lines, is_blank, read_lines, write_lines

# Unicode's property Default_Ignorable_Code_Point, which unicodedata does not have.
IGNORABLE = (
    "AD 34F 61C 115F-1160 17B4-17B5 180B-180F 200B-200F 202A-202E 2060-206F 3164 FE00-FE0F "
    "FEFF FFA0 FFF0-FFF8 1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"
)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\n\nb\n\n", ["a", "", "b", ""]),
        (b"a\r\r\n", ["a\r"]),
        (b"a\rb\n", ["a\rb"]),
        ("a\u2028b\u2029c\x85d\n".encode(), ["a\u2028b\u2029c\x85d"]),
        (b"a\x0cb\x0bc\x1cd\n", ["a\x0cb\x0bc\x1cd"]),
        (b" a\t \n", [" a\t "]),
        ("\ufeffa\n\ufeffb\n".encode(), ["a", "\ufeffb"]),
        ("\ufeff\ufeffa".encode(), ["\ufeffa"]),
        ("\ufeff".encode(), [""]),
    ],
)
def test_where_lines_end(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    assert read_lines(path) == lines


def test_blank_characters() -> None:
    ends = [[int(end, 16) for end in item.split("-")] for item in IGNORABLE.split()]
    ignorable = {point for item in ends for point in range(item[0], item[-1] + 1)}
    expected = [
        point
        for point in range(0x110000)
        if chr(point).isspace() or unicodedata.category(chr(point)) == "Cc" or point in ignorable
    ]
    assert [point for point in range(0x110000) if is_blank(chr(point))] == expected
    assert is_blank("")
    assert not is_blank(" \u2060a\u2060 ")


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"))))
def test_any_line_survives_writing(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    # A byte-order mark or carriage return at the edge of a line has a special meaning.
    lines = [line.lstrip("\ufeff").rstrip("\r") for line in lines]
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    write_lines(path, iter(lines))
    assert read_lines(path) == lines
    assert path.read_bytes().count(b"\n") == len(lines)


@pytest.mark.parametrize(
    ("content", "line", "byte"),
    [
        (b"a\xe7\xe3o\n", 1, 2),
        (b"good\nalso good\n\xff\n", 3, 1),
        ("ç".encode() + b"\x80", 1, 3),
        (b"\xef\xbb\xbf\xff", 1, 4),  # the byte-order mark is counted
        (b"cut \xc3", 1, 5),
        (b"surrogate \xed\xa0\x80", 1, 11),
    ],
)
def test_invalid_utf8_is_located(tmp_path: Path, content: bytes, line: int, byte: int) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(content)
    with pytest.raises(NmtError) as caught:
        read_lines(path)
    assert caught.value.message == f"{path}, line {line}: invalid UTF-8 at byte {byte}"
    assert "iconv -f latin1 -t utf-8" in caught.value.hint


@pytest.mark.parametrize(
    ("packed", "hint"),
    [
        (gzip.compress(b"a"), "it is compressed by gzip: decompress it with gzip -d"),
        (lzma.compress(b"a"), "it is compressed by xz"),
        ("é".encode("utf-16"), "it is UTF-16: convert it with iconv -f utf-16 -t utf-8"),
        ("é".encode("latin1"), "convert the file, e.g. with iconv"),
    ],
    ids=["gzip", "xz", "UTF-16", "latin1"],  # gzip output contains the time; ids must not
)
def test_compressed_files_are_recognized_by_their_first_bytes(packed: bytes, hint: str) -> None:
    with pytest.raises(NmtError, match=hint):
        list(decode_lines([packed], "x"))


def test_lines_before_the_bad_one_are_yielded_first() -> None:
    lines = decode_lines(iter([b"one\n", b"\xff\n"]), "stdin")
    assert next(lines) == "one"
    with pytest.raises(NmtError, match=r"^stdin, line 2: invalid UTF-8 at byte 1;"):
        next(lines)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NmtError, match=r"none\.txt: no such file$"):
        read_lines(tmp_path / "none.txt")
    with pytest.raises(NmtError, match="is a folder, not a file$"):
        read_lines(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NmtError, match=r"cannot be read \(Not a directory\)$"):
        read_lines(tmp_path / "file" / "a.txt")


def test_an_exception_while_writing_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write_lines(path, ["old"])
    with pytest.raises(ZeroDivisionError):
        write_lines(path, (str(1 // number) for number in (1, 0)))
    assert path.read_text() == "old\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
