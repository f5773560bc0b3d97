"""PO files of gettext: messages without a translation get one, everything else stays.

The library ``polib`` reads the messages. Only the lines of an empty ``msgstr`` and a flag are
written; comments, the header, obsolete entries, line wrapping and order stay byte for byte.

New translations are marked ``fuzzy``, as gettext's own tools do for what nobody has reviewed:
editors list them, and ``msgfmt`` omits them without ``--use-fuzzy``.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import polib

from nmt_cli.errors import InputError
from nmt_cli.formats import spans
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment, translate_segments
from nmt_cli.formats.spans import Finder

WIDTH = 78  # columns of a line, as gettext's tools and polib write it

# A line that these tools would have wrapped, without --no-wrap.
_UNWRAPPED = re.compile(r'(?=.{82})[^"#]*"[^ ]{1,70} [^ ]')
_UNTERMINATED = re.compile(r'\s*(?:msg\w+(?:\[\d+\])?)?\s*"(?:[^"\\]|\\.)*$')
# gettext's escapes that polib neither reads nor writes.
_ODD_ESCAPE = re.compile(r'(?<!\\)(?:\\\\)*\\[^\\ntrvbf"]')


@cache
def placeholders_finder(printf: bool, qt: bool) -> Finder:
    """Make a function that finds placeholders, options, tags and addresses.

    With a format flag, "100% of" contains a placeholder; with one of Qt or KDE, %1 is one.
    """
    return spans.spans_finder(
        breaks=[*spans.CONTROL, spans.LINE_BREAK_TAG],
        free=[
            spans.CODE_ELEMENT,
            spans.COMMENT,
            spans.ENTITY,
            *spans.ADDRESSES,
            *spans.TEMPLATES,
            r"%%",
            *spans.NAMED_PRINTF,
            *spans.VARIABLES,
            r"``[^`]{1,999}``|:[a-z]{1,32}:`[^`]{1,999}`",  # reStructuredText, of Sphinx
            r"(?<![\w-])--[A-Za-z][\w-]*",
            *([r"%L?\d{1,2}"] if qt else []),
        ],
        tags=[spans.TAG],
        fixed=[spans.SPACED_PRINTF if printf else spans.PRINTF, spans.BRACES],
    )


class _Gap(NamedTuple):
    """An empty translation in ``lines[start:end]``, and the lines of its source."""

    start: int
    end: int
    segments: list[Segment]
    form: str | None  # number of the plural form
    message: int | None  # first line of the message; None if that is fuzzy already


def translate_po(text: str, name: str, translate: Translate) -> str:
    r"""Fill the empty translations of a PO file and mark them fuzzy.

    ``msgstr[0]`` gets the translation of the singular, and other plural forms that of the plural;
    so does the only form of a language with one. Messages are translated line by line and keep
    their line breaks. A message with an escape that polib does not know (``\a``, ``\x41``) is
    left as it is.
    """
    lines = text.split("\n")
    gaps = list(_gaps(lines, name))
    results = iter(translate_segments([part for gap in gaps for part in gap.segments], translate))
    width = 0 if any(map(_UNWRAPPED.match, lines)) else WIDTH
    changed: dict[int, list[str]] = {}
    for gap in gaps:
        if gap.message is not None:
            _mark_fuzzy(lines, gap.message, changed)
        entry = polib.POEntry(msgid="-", msgstr="\n".join(next(results) for _ in gap.segments))
        if gap.form:
            entry.msgstr_plural = {int(gap.form): entry.msgstr}
        changed |= {number: [] for number in range(gap.start, gap.end)}
        changed[gap.start] = entry.__unicode__(width).rstrip("\n").split("\n")[1:]  # no msgid
    rows = []
    for number, line in enumerate(lines):
        end = "\r" * line.endswith("\r")
        rows += [row + end for row in changed.get(number, [line.removesuffix("\r")])]
    return "\n".join(rows)


def _mark_fuzzy(lines: Sequence[str], start: int, changed: dict[int, list[str]]) -> None:
    """Add the flag to those before line ``start``, or a line for it where gettext has it."""
    first = start
    while first and lines[first - 1].startswith("#") and not lines[first - 1].startswith("#~"):
        first -= 1
    comments = [line.removesuffix("\r") for line in lines[first : start + 1]]
    for index, comment in enumerate(comments):
        if comment.startswith("#,"):
            changed[first + index] = [f"#, fuzzy,{comment[2:]}"]
            return
    previous = (index for index, line in enumerate(comments) if line.startswith("#|"))
    index = next(previous, start - first)
    changed[first + index] = ["#, fuzzy", comments[index]]


def _gaps(lines: Sequence[str], name: str) -> Iterator[_Gap]:
    """Find the empty translations, in order; not in obsolete messages and the header."""
    heads = [line.lstrip() for line in lines]
    entries = sorted(_parsed(lines, name), key=lambda entry: entry.linenum)
    ends = [*(entry.linenum - 1 for entry in entries[1:]), len(lines)]
    for entry, end in zip(entries, ends, strict=False):
        if entry.obsolete or not entry.msgid:
            continue
        start = max(entry.linenum - 1, 0)
        while not heads[start].startswith(("msgctxt", "msgid")):
            start += 1
        rows = [row for row in range(start, end) if heads[row].startswith("msgstr")]
        if not rows:
            problem = f"{name}, line {start + 1}: a msgid without msgstr"
            raise InputError(problem, "complete the entry")
        if any(map(_ODD_ESCAPE.search, lines[start:end])):
            continue
        # The header, which polib removes, may follow other entries.
        end = next((row for row in range(rows[0], end) if heads[row].startswith("msgid")), end)
        flags = {flag for flag in entry.flags if flag.endswith("-format") and flag[:3] != "no-"}
        qt = bool(flags & {"qt-format", "qt-plural-format", "kde-format"})
        find = placeholders_finder(bool(flags) and not qt, qt)
        for row in rows:
            form = heads[row][7] if heads[row][6] == "[" else None
            if row >= end or (entry.msgstr_plural.get(int(form)) if form else entry.msgstr):
                continue
            after = row + 1
            while after < end and heads[after].startswith('"'):
                after += 1
            singular = not form or (form == "0" and len(entry.msgstr_plural) > 1)
            source = entry.msgid if singular else entry.msgid_plural or entry.msgid
            segments = [Segment(line, find) for line in source.split("\n")]
            yield _Gap(row, after, segments, form, None if "fuzzy" in entry.flags else start)


class _Text(str):
    """Text that polib does not mistake for a file name, and splits at line feeds only.

    Lines come without comments, some of which polib does not understand.
    """

    def splitlines(self, keepends: bool = False) -> list[str]:
        lines = (line.removesuffix("\r") for line in self.removesuffix("\0").split("\n"))
        return [re.sub("^#,(?! )", "#, ", re.sub("^#[^,~].*|^#$", "", line)) for line in lines]


def _parsed(lines: Sequence[str], name: str) -> Any:
    """Parse a file with polib."""
    try:
        # polib ignores unterminated strings. No file name contains a NUL.
        for number, line in enumerate(lines, 1):
            if _UNTERMINATED.match(line):
                raise OSError(f"(line {number}): unterminated string")
        file = polib.pofile(_Text("\n".join(lines) + "\0"), encoding="utf-8")
    except OSError as error:
        match = re.search(r"\(line (\d+)\)(?:: (.*))?", str(error))
        detail = f" ({match[2]})" if match and match[2] else ""
        where = f"{name}, line {match[1] if match else 1}"
        reason = f"{where}: not the syntax of a PO file{detail}"
        raise InputError(reason, "msgfmt --check shows what is wrong with it") from None
    charset = re.search(r"charset=([\w.:-]+)", file.metadata.get("Content-Type", ""))
    if charset and charset[1].upper() not in ("UTF-8", "UTF8", "CHARSET"):
        reason = f"{name}: its header says charset={charset[1]}, and translations need UTF-8"
        raise InputError(reason, "convert the file with msgconv --to-code=UTF-8")
    return file
