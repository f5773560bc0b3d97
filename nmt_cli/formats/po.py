"""PO files of gettext: messages without a translation get one, everything else stays.

The library ``polib`` reads the messages. Only the lines of an empty ``msgstr`` and a flag are
written; comments, the header, obsolete entries, line wrapping and order stay byte for byte.

New translations are marked ``fuzzy``, as gettext's own tools do for what nobody has reviewed:
editors list them, and ``msgfmt`` omits them without ``--use-fuzzy``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from nmt_cli.errors import NmtError
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
from nmt_cli.formats.segments import Finder, Segment, Translate, translate_segments

WIDTH = 78  # columns of a line, as gettext's tools and polib write it

# A line that these tools would have wrapped, without --no-wrap.
_UNWRAPPED = re.compile(r'(?=.{82})[^"#]*"[^ ]{1,70} [^ ]')
_MSGSTR = re.compile(r'\s*msgstr(?:\[(\d)\])?\s*"')
_UNTERMINATED = re.compile(r'\s*(?:msg\w+(?:\[\d+\])?)?\s*"(?:[^"\\]|\\.)*$')
# gettext's escapes that polib neither reads nor writes.
_ODD_ESCAPE = re.compile(r'(?<!\\)(?:\\\\)*\\[^\\ntrvbf"]')

_CONVERSION = r"(?:hh?|ll?|[jztLq])?[diouxXeEfFgGaAcspnr@]"


@cache
def placeholders_finder(printf: bool, qt: bool) -> Finder:
    """Make a function that finds placeholders, options, tags and addresses.

    Args:
        printf: the message has a format flag: "100% of" contains a placeholder then.
        qt: the flag is one of Qt or KDE: %1 is a placeholder.
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
class _Gap:
    """An empty translation in ``lines[start:end]``, and the lines that it needs."""

    form: str | None
    start: int
    end: int
    segments: list[Segment]


def translate_po(text: str, name: str, translate: Translate) -> str:
    r"""Fill the empty translations of a PO file and mark them fuzzy.

    ``msgstr[0]`` gets the translation of the singular, and other plural forms that of the plural;
    so does the only form of a language with one. Messages are translated line by line and keep
    their line breaks. A message with an escape that polib does not know (``\a``, ``\x41``) is
    left as it is.

    Raises:
        NmtError: the file ``name`` has a syntax error (names the line), or its header says that
            it is not UTF-8.
    """
    lines = text.split("\n")
    messages = list(_messages(lines, name))
    segments = [each for _, _, gaps in messages for gap in gaps for each in gap.segments]
    results = iter(translate_segments(segments, translate))
    width = 0 if any(map(_UNWRAPPED.match, lines)) else WIDTH
    changed: dict[int, list[str]] = {}
    for start, fuzzy, gaps in messages:
        if gaps and not fuzzy:
            _mark_fuzzy(lines, start, changed)
        for gap in gaps:
            changed |= {number: [] for number in range(gap.start, gap.end)}
            value = "\n".join(next(results) for _ in gap.segments)
            changed[gap.start] = _written(gap.form, value, width)
    rows = []
    for number, line in enumerate(lines):
        end = "\r" if line.endswith("\r") else ""
        rows += [row + end for row in changed.get(number, [line.removesuffix("\r")])]
    return "\n".join(rows)


def _mark_fuzzy(lines: Sequence[str], start: int, changed: dict[int, list[str]]) -> None:
    """Add the flag to those before line ``start``, or a line for it where gettext has it."""
    first = start
    while first and lines[first - 1].startswith("#") and not lines[first - 1].startswith("#~"):
        first -= 1
    comments = [line.removesuffix("\r") for line in lines[first : start + 1]]
    at = next((at for at, line in enumerate(comments) if line.startswith("#,")), None)
    if at is not None:
        changed[first + at] = [f"#, fuzzy,{comments[at][2:]}"]
    else:
        previous = (at for at, line in enumerate(comments) if line.startswith("#|"))
        at = next(previous, start - first)
        changed[first + at] = ["#, fuzzy", comments[at]]


def _written(form: str | None, value: str, width: int) -> list[str]:
    """Write a translation, or a plural form of one, as gettext's tools do."""
    import polib

    entry = polib.POEntry(msgid="-", msgstr=value)
    if form:
        entry.msgstr_plural = {int(form): value}
    rows: list[str] = entry.__unicode__(width).rstrip("\n").split("\n")
    return rows[1:]  # without the msgid


def _messages(lines: Sequence[str], name: str) -> Iterator[tuple[int, bool, list[_Gap]]]:
    """Read the messages in order, without obsolete ones and the header.

    Returns:
        of each the number of the first line that is no comment, whether it is fuzzy, and its gaps.

    Raises:
        NmtError: as translate_po.
    """
    entries = sorted(_parsed(lines, name), key=lambda entry: entry.linenum)
    ends = [*(entry.linenum - 1 for entry in entries[1:]), len(lines)]
    for entry, end in zip(entries, ends, strict=False):
        if not entry.obsolete and entry.msgid:
            start = max(entry.linenum - 1, 0)
            while not lines[start].lstrip().startswith(("msgctxt", "msgid")):
                start += 1
            if not any(map(_MSGSTR.match, lines[start:end])):
                raise NmtError(
                    f"{name}, line {start + 1}: a msgid without msgstr", "complete the entry"
                )
            odd = any(map(_ODD_ESCAPE.search, lines[start:end]))
            yield (
                start,
                "fuzzy" in entry.flags,
                [] if odd else list(_gaps(entry, lines, start, end)),
            )


def _gaps(entry: Any, lines: Sequence[str], start: int, end: int) -> Iterator[_Gap]:
    """Find the empty translations of the entry in ``lines[start:end]``."""
    formats = {flag for flag in entry.flags if flag.endswith("-format")}
    formats -= {flag for flag in formats if flag.startswith("no-")}
    qt = bool(formats & {"qt-format", "qt-plural-format", "kde-format"})
    find = placeholders_finder(bool(formats) and not qt, qt)
    found = False
    for number in range(start, end):
        if found and lines[number].lstrip().startswith("msgid"):
            return  # the header, which polib removes, may follow other entries
        if match := _MSGSTR.match(lines[number]):
            found, form = True, match[1]
            if not (entry.msgstr_plural.get(int(form)) if form else entry.msgstr):
                after = number + 1
                while after < end and lines[after].lstrip().startswith('"'):
                    after += 1
                singular = not form or (form == "0" and len(entry.msgstr_plural) > 1)
                source = entry.msgid if singular else entry.msgid_plural or entry.msgid
                yield _Gap(
                    form, number, after, [Segment(each, find) for each in source.split("\n")]
                )


class _Text(str):
    """Text that polib takes for no file name, and splits at line feeds only.

    Lines come without comments, some of which polib does not understand.
    """

    def splitlines(self, keepends: bool = False) -> list[str]:
        lines = (line.removesuffix("\r") for line in self.removesuffix("\0").split("\n"))
        return [re.sub("^#,(?! )", "#, ", re.sub("^#[^,~].*|^#$", "", line)) for line in lines]


def _parsed(lines: Sequence[str], name: str) -> Any:
    """Parse a file with polib.

    Raises:
        NmtError: as translate_po.
    """
    import polib

    for number, line in enumerate(lines, 1):
        if _UNTERMINATED.match(line):
            raise _malformed(name, number, "unterminated string")
    try:
        # No file name contains a NUL.
        file = polib.pofile(_Text("\n".join(lines) + "\0"), encoding="utf-8")
    except OSError as error:
        found = re.search(r"\(line (\d+)\)(?:: (.*))?", str(error))
        raise _malformed(name, *((found[1], found[2]) if found else (1, None))) from None
    charset = re.search(r"charset=([\w.:-]+)", file.metadata.get("Content-Type", ""))
    if charset and charset[1].upper() not in ("UTF-8", "UTF8", "CHARSET"):
        raise NmtError(
            f"{name}: its header says charset={charset[1]}, and translations need UTF-8",
            "convert the file with msgconv --to-code=UTF-8",
        )
    return file


def _malformed(name: str, line: int | str, reason: str | None) -> NmtError:
    return NmtError(
        f"{name}, line {line}: not the syntax of a PO file" + (f" ({reason})" if reason else ""),
        "msgfmt --check shows what is wrong with it",
    )
