"""Which translations a PO file lacks, where their lines stand, and what they must keep."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.formats.kept import Finder, Segment
from nmt_cli.formats.patterns import (
    ADDRESSES,
    CODE_ELEMENT,
    COMMENT,
    CONTROL,
    ENTITY,
    IN_BRACES,
    LINE_BREAK_TAG,
    TAG,
    TEMPLATES,
    VARIABLES,
    spans_finder,
)

_CONVERSION = r"(?:hh?|ll?|[jztLq])?[diouxXeEfFgGaAcspnr@]"


@cache
def placeholders_finder(printf: bool, qt: bool) -> Finder:
    """What finds placeholders, options, tags and addresses in a message.

    Args:
        printf: the message is a format, says its flag: "100% of" has a placeholder then.
        qt: it is one of Qt or KDE: %1 is a placeholder.
    """
    flags = r"[-+#0' ]*" if printf else r"[-+#0']*"
    return spans_finder(
        breaks=[*CONTROL, LINE_BREAK_TAG],
        free=[
            CODE_ELEMENT,
            COMMENT,
            ENTITY,
            *ADDRESSES,
            *TEMPLATES,
            r"%%",
            r"%\([^()\s]+\)[-#0+ ]*\d*(?:\.\d+)?[A-Za-z]",
            r"%<\w+>[-+#0]*\d*(?:\.\d+)?[A-Za-z]",
            rf"%\d+\$[-+#0' ]*\d*(?:\.\d+)?{_CONVERSION}",
            *VARIABLES,
            r"``[^`]{1,999}``|:[a-z]{1,32}:`[^`]{1,999}`",  # reStructuredText, of Sphinx
            r"(?<![\w-])--[A-Za-z][\w-]*",
            *([r"%L?\d{1,2}"] if qt else []),
        ],
        tags=[TAG],
        fixed=[
            rf"%{flags}(?:\d+|\*)?(?:\.(?:\d+|\*))?{_CONVERSION}",
            rf"\{{(?:[:!]{IN_BRACES}*)?\}}",
        ],
    )


@dataclass(frozen=True)
class Gap:
    """An empty msgstr, by the numbers of its lines, and the segments for it."""

    start: int
    end: int
    keyword: str
    segments: list[Segment]


@dataclass(frozen=True)
class Message:
    """An entry with gaps; ``start`` is the number of its first line that is no comment."""

    start: int
    fuzzy: bool
    gaps: list[Gap]


def read_messages(lines: list[str], name: str) -> list[Message]:
    """The entries, in order, but for obsolete ones and the header.

    Raises:
        NmtError: a syntax error.
    """
    file = _parsed(lines, name)
    restore = {ord(new): old for old, new in _shields("".join(lines)).items()}
    messages = []
    entries = sorted(file, key=lambda entry: entry.linenum)
    ends = [*(entry.linenum - 2 for entry in entries[1:]), len(lines)]
    for entry, end in zip(entries, ends, strict=False):
        if entry.obsolete or not entry.msgid:
            continue
        start = max(entry.linenum - 2, 0)
        while not lines[start].lstrip().startswith(("msgctxt", "msgid")):
            start += 1
        messages.append(_message(entry, lines, start, end, restore, name))
    return messages


def _message(
    entry: Any, lines: list[str], start: int, end: int, restore: dict[int, str], name: str
) -> Message:
    places = _places(lines, start, end)
    if not places:
        raise NmtError(f"{name}, line {start + 1}: a msgid without msgstr", "complete the entry")
    fuzzy = "fuzzy" in entry.flags
    if any(_ODD_ESCAPE.search(line) for line in lines[start:end]):
        return Message(start, fuzzy, [])
    formats = {flag for flag in entry.flags if flag.endswith("-format")}
    formats -= {flag for flag in formats if flag.startswith("no-")}
    qt = bool(formats & {"qt-format", "qt-plural-format", "kde-format"})
    find = placeholders_finder(bool(formats) and not qt, qt)
    gaps = []
    for keyword, (first, last) in places.items():
        form = int(keyword[7:-1]) if "[" in keyword else None
        if entry.msgstr if form is None else entry.msgstr_plural.get(form):
            continue
        one = form is None or (form == 0 and len(places) > 1)
        source = entry.msgid if one or not entry.msgid_plural else entry.msgid_plural
        texts = source.translate(restore).split("\n")
        gaps.append(Gap(first, last, keyword, [Segment(each, find) for each in texts]))
    return Message(start, fuzzy, gaps)


_MSGSTR = re.compile(r'\s*(msgstr(?:\[\d\])?)\s*"')
# Of gettext's escapes, those that polib neither reads nor writes.
_ODD_ESCAPE = re.compile(r'(?<!\\)(?:\\\\)*\\[^\\ntrvbf"]')


def _places(lines: list[str], start: int, end: int) -> dict[str, tuple[int, int]]:
    """From which line to before which the translations of an entry stand, by keyword."""
    places: dict[str, tuple[int, int]] = {}
    for number in range(start, end):
        if places and lines[number].lstrip().startswith("msgid"):
            break  # of the header, which is no entry to polib
        match = _MSGSTR.match(lines[number])
        if match:
            last = number + 1
            while last < end and lines[last].lstrip().startswith('"'):
                last += 1
            places[match[1]] = (number, last)
    return places


def _parsed(lines: list[str], name: str) -> Any:
    """What polib reads in a file; its line numbers are one more than those of the file.

    Raises:
        NmtError: a syntax error, or a header that says the file is not UTF-8.
    """
    import polib

    shields = str.maketrans(_shields("".join(lines)))
    # The first line, with a character that no path has, keeps polib from taking text that is
    # the name of a file for that file.
    shielded = ["# \0", *(_for_polib(line).translate(shields) for line in lines)]
    try:
        file = polib.pofile("\n".join(shielded))
    except OSError as error:
        found = re.search(r"\(line (\d+)\)(?:: (.*))?", str(error))
        number = int(found[1]) - 1 if found else 1
        reason = f" ({found[2]})" if found and found[2] else ""
        raise NmtError(
            f"{name}, line {number}: not the syntax of a PO file{reason}",
            "msgfmt --check shows what is wrong with it",
        ) from None
    charset = re.search(r"charset=([\w.:-]+)", file.metadata.get("Content-Type", ""))
    if charset and charset[1].upper() not in ("UTF-8", "UTF8", "CHARSET"):
        raise NmtError(
            f"{name}: its header says charset={charset[1]}, and translations need UTF-8",
            "convert the file with msgconv --to-code=UTF-8",
        )
    return file


def _for_polib(line: str) -> str:
    """A line as polib wants it: without comments, some of which it stumbles over."""
    line = line.removesuffix("\r")
    if line.startswith("#,"):
        return f"#, {line[2:]}"
    return "" if line.startswith("#") and not line.startswith("#~") else line


def _shields(text: str) -> dict[str, str]:
    """Stand-ins for characters at which polib would part lines, and gettext does not."""
    breaking = [each for each in "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029" if each in text]
    unused = (chr(code) for code in range(0xE000, 0xF900) if chr(code) not in text)
    return dict(zip(breaking, unused, strict=False))
