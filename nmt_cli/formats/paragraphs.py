"""Plain text by paragraphs: hard-wrapped lines are joined, translated and wrapped again.

The width is that of the paragraph. Short lines (headings, addresses, verse) and lines with columns
stay lines of their own. Blank lines, indentation, bullets and the signs of quotes stay.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from nmt_cli.formats import spans
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment, breaks_of, translate_segments
from nmt_cli.text.kept import ADDRESSES, TEMPLATES, VARIABLES

# Two spaces may also end a sentence, or justify a line.
_COLUMNS = r"[ \t]{3,}|\t+"
_find_spans = spans.spans_finder(
    breaks=[_COLUMNS, r"(?<=[.!?:]) {2,}", *spans.CONTROL],
    free=[*ADDRESSES, *TEMPLATES, *VARIABLES],
)
_BULLET = r"(?:[-*+•‣·–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))[ \t]+"
# Signs of quotes, indentation, a bullet, the text, and the end with the white space before it.
_LINE = re.compile(
    rf"((?:[ \t]*+>)*+)([ \t]*+)((?:{_BULLET})?)((?:[ \t]*+[^ \t\r\n]++)*+)"
    r"([ \t]*+(?:\r\n|\r|\n|\Z))"
)
_MARK = re.compile(rf">|{_BULLET}")
_QUOTES = "\"'“‘«([¿¡"

# A line of less than this share of the width, with the next word, does not continue.
_SHARE = 0.75
# Narrower lines are verse or addresses, wider ones are not wrapped.
_MIN_WIDTH, _MAX_WIDTH = 50, 120
# Lines from this number on that all begin with a capital are verse or a list.
_VERSE = 3


class _Line(NamedTuple):
    """A line in parts, with its end."""

    quote: str
    indent: str
    bullet: str
    text: str
    end: str

    @property
    def prefix(self) -> str:
        return self.quote + self.indent + self.bullet

    @property
    def width(self) -> int:
        return len(self.prefix + self.text)


def translate_paragraphs(text: str, name: str, translate: Translate) -> str:
    """Translate plain text; no message needs the ``name`` of the file."""
    groups = list(_groups([_Line(*match.groups()) for match in _LINE.finditer(text)]))
    segments, number = list[Segment](), 1
    for lines in groups:
        joined = " ".join(line.text for line in lines)
        segments.append(Segment(joined, _find_spans, f"line {number}"))
        number += len(lines)
    results, parts = translate_segments(segments, translate), list[str]()
    for lines, segment, result in zip(groups, segments, results, strict=True):
        is_changed = result != segment.text
        parts += _wrapped(result, lines) if is_changed else ["".join(line) for line in lines]
    return "".join(parts)


def _groups(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Group the lines that are one text."""
    for (_, has_text), block in groupby(
        lines, key=lambda line: (line.quote.count(">"), bool(line.text))
    ):
        first, *others = rows = list(block)
        # An address may be of any length.
        width = max([_MIN_WIDTH, *(line.width for line in rows if "://" not in line.text)])
        capitals = [line.text.lstrip(_QUOTES)[:1].isupper() and not line.bullet for line in rows]
        is_verse = len(rows) >= _VERSE and all(capitals)
        is_wrapped = has_text and width <= _MAX_WIDTH and not is_verse
        group = [first]
        for line in others:
            if is_wrapped and _continues(group, line, width):
                group.append(line)
            else:
                yield group
                group = [line]
        yield group


def _continues(group: Sequence[_Line], line: _Line, width: int) -> bool:
    """Whether a line continues the lines of a paragraph."""
    last = group[-1]
    is_full = last.width + 1 + len(line.text.partition(" ")[0]) > _SHARE * width
    is_below_bullet = len(group) == 1 and bool(last.bullet)
    is_inside = not line.bullet and (len(line.indent) <= len(last.indent) or is_below_bullet)
    are_prose = all(
        any(map(str.isalpha, text)) and not re.search(_COLUMNS, text)
        for text in (last.text, line.text)
    )
    return is_full and is_inside and are_prose


def _wrapped(text: str, lines: Sequence[_Line]) -> list[str]:
    """Wrap a translation to the width of its lines; a single line stays one."""
    prefix, width = lines[0].prefix, max(line.width for line in lines)
    rows, start, last = list[str](), 0, (0, 0)
    breaks = breaks_of(text, _find_spans(text), between_wide=True) if len(lines) > 1 else []
    for position in [*breaks, (len(text), len(text))]:
        if len(prefix) + position[0] - start > width and last[0] > start:
            rows.append(prefix + text[start : last[0]] + lines[0].end.lstrip(" \t"))
            start, prefix = last[1], lines[-1].prefix
        if not _MARK.match(text, position[1]):
            last = position
    return [*rows, prefix + text[start:] + lines[-1].end]
