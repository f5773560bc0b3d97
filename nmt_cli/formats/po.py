"""PO files of gettext: messages without a translation get one, all else stays.

The library ``polib`` reads the messages and says where they stand; only the lines of an empty
``msgstr`` are written anew, and a flag. Comments, references, the header, obsolete entries,
line wrapping and order stay byte for byte. A message that has a translation keeps it, also if
that is fuzzy.

What was filled in is marked ``fuzzy``, as gettext's own tools mark what no person has looked
at: a translator's editor lists it for review, and ``msgfmt`` leaves it out until then (or
takes it with ``--use-fuzzy``).
"""

import re
from collections.abc import Callable

from nmt_cli.formats.kept import Translate, translate_segments
from nmt_cli.formats.po_reading import read_messages

# Columns of a line that gettext's tools write, quotes included.
WIDTH = 79

# A line that gettext's tools would have wrapped, were they not told to leave lines long.
_UNWRAPPED = re.compile(r'(?=.{82})[^"#]*"[^ ]{1,70} [^ ]')


def translate_po(text: str, name: str, translate: Translate) -> str:
    """Fill the empty translations of a PO file and mark them fuzzy.

    Of plural forms, ``msgstr[0]`` is the translation of the singular and the others are that
    of the plural; where there is but one form, it is that of the plural. A message is
    translated line by line, so that it keeps its line breaks, also the first and the last.
    A message with an escape that polib does not know (``\\a``, ``\\x41``) is left alone.

    Args:
        text: of the file.
        name: of the file, for messages.
        translate: translations of texts, in order.

    Raises:
        NmtError: a syntax error (names the line), or a header that says the file is not UTF-8.
    """
    import polib

    lines = text.split("\n")
    messages = read_messages(lines, name)
    gaps = [gap for message in messages for gap in message.gaps]
    results = iter(translate_segments([each for gap in gaps for each in gap.segments], translate))
    width = 0 if any(map(_UNWRAPPED.match, lines)) else WIDTH
    changed: dict[int, list[str]] = {}
    for message in messages:
        if message.gaps and not message.fuzzy:
            _mark_fuzzy(lines, message.start, changed)
        for gap in message.gaps:
            end = "\r" if lines[gap.start].endswith("\r") else ""
            value = "\n".join(next(results) for _ in gap.segments)
            written = _written(gap.keyword, value, width, polib.escape)
            changed.update({number: [] for number in range(gap.start, gap.end)})
            changed[gap.start] = [line + end for line in written]
    return "\n".join(
        new for number, line in enumerate(lines) for new in changed.get(number, [line])
    )


def _mark_fuzzy(lines: list[str], start: int, changed: dict[int, list[str]]) -> None:
    """Add the flag to those before line ``start``, or a line for it where gettext has it."""
    first = start
    while first and lines[first - 1].startswith("#") and not lines[first - 1].startswith("#~"):
        first -= 1
    for number in range(first, start):
        if lines[number].startswith("#,"):
            changed[number] = ["#, fuzzy," + lines[number][2:]]
            return
    for number in range(first, start + 1):
        if number == start or lines[number].startswith("#|"):
            end = "\r" if lines[number].endswith("\r") else ""
            changed[number] = ["#, fuzzy" + end, lines[number]]
            return


def _written(keyword: str, value: str, width: int, escape: Callable[[str], str]) -> list[str]:
    """A message as gettext's tools write it: a line for each of its own, long ones wrapped."""
    parts = [each for each in re.split(r"(?<=\n)", value) if each]
    rows = [escape(part) for part in parts] or [""]
    if len(rows) == 1 and (not width or len(keyword) + len(rows[0]) + 3 <= width):
        return [f'{keyword} "{rows[0]}"']
    if width:
        rows = [row for part in parts for row in _wrapped(part, width - 2, escape)]
    return [f'{keyword} ""', *(f'"{row}"' for row in rows)]


def _wrapped(text: str, width: int, escape: Callable[[str], str]) -> list[str]:
    """Escaped rows of a text, parted after spaces."""
    rows = [""]
    for word in re.findall(r" *[^ ]+ *| +", text):
        escaped = escape(word)
        if rows[-1] and len(rows[-1]) + len(escaped.rstrip(" ")) > width:
            rows.append("")
        rows[-1] += escaped
    return rows
