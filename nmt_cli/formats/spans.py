"""Spans of text that must survive translation, and patterns that find them."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from nmt_cli.text.kept import IN_BRACES

Interval = tuple[int, int]


class Kind(Enum):
    """How a span may move, and whether the model reads it; in order of precedence."""

    BREAK = auto()  # fixed; the text before and after it is translated separately
    MARK = auto()  # fixed; hidden from the model at the edge of a segment
    FREE = auto()  # may move: a named placeholder, an address, code
    OPEN = auto()  # fixed; begins a pair; a pair that encloses a segment is hidden
    CLOSE = auto()  # fixed; ends a pair
    FIXED = auto()  # keeps its order among all spans that are not free: an unnamed %s


@dataclass(frozen=True)
class Span:
    """The part ``text[start:end]`` that must survive."""

    start: int
    end: int
    kind: Kind

    def shifted(self, offset: int) -> "Span":
        """Return the span in a text that has ``offset`` more characters before it."""
        return Span(self.start + offset, self.end + offset, self.kind)


Finder = Callable[[str], list[Span]]

# A start tag is searched for among this many open ones: unclosed tags would make it quadratic.
_MAX_DEPTH = 256


def match_tags(tags: Iterable[tuple[int, str, bool]]) -> dict[int, int]:
    """Match start tags and end tags of the same name; misnested tags have no match.

    Args:
        tags: the number and the name of each tag, and whether it is an end tag, in order.

    Returns:
        The number of each start tag's end tag, and the reverse.
    """
    matches: dict[int, int] = {}
    opened: list[tuple[int, str]] = []
    for number, name, closes in tags:
        if not closes:
            opened.append((number, name))
            continue
        for index in range(len(opened) - 1, max(len(opened) - _MAX_DEPTH, 0) - 1, -1):
            if opened[index][1] == name:
                start = opened[index][0]
                matches |= {start: number, number: start}
                del opened[index:]  # tags opened inside and not closed there have no match
                break
    return matches


def pairs_of(spans: Sequence[Span]) -> dict[int, int]:
    """Match the halves of pairs among spans, by their numbers; see :func:`match_tags`."""
    return match_tags(
        (number, "", span.kind is Kind.CLOSE)
        for number, span in enumerate(spans)
        if span.kind in (Kind.OPEN, Kind.CLOSE)
    )


def replaced(text: str, start: int, end: int, edits: Iterable[tuple[Interval, str]]) -> str:
    """Return ``text[start:end]`` with parts of it replaced; the parts are in order."""
    parts = []
    for interval, new in edits:
        parts += [text[start : interval[0]], new]
        start = interval[1]
    return "".join([*parts, text[start:end]])


def line_finder(text: str) -> Callable[[int], int]:
    """Make a function that returns the line number of a position in a text."""
    ends = [match.start() for match in re.finditer("\n", text)]
    return lambda position: bisect_left(ends, position) + 1


def masked(text: str, spans: Iterable[Span], sign: str = "`") -> str:
    """Replace spans by backticks, which neither separate words nor continue an address."""
    characters = list(text)
    for span in spans:
        characters[span.start : span.end] = sign * (span.end - span.start)
    return "".join(characters)


# Repeats are bounded, here and in the formats, so that search time grows with the text only.
CONTROL = (r"[\x00-\x09\x0b-\x1f\x7f\x85\u2028\u2029]+", r"\n+")
LINE_BREAK_TAG = r"<[bB][rR]\s{0,9}/?>"
TAG = r"</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>"
COMMENT = r"<!--.{0,999}?-->"
CODE_ELEMENT = r"<(?P<element>code|kbd|samp|var|script|style|tt)\b[^<>]*>.{0,999}?</(?P=element)>"
ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{0,31}|\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6});"
BRACES = rf"\{{(?:[:!]{IN_BRACES}*)?\}}"  # without a name


def spans_finder(
    breaks: Sequence[str] = (),
    marks: Sequence[str] = (),
    free: Sequence[str] = (),
    opening: Sequence[str] = (),
    closing: Sequence[str] = (),
    fixed: Sequence[str] = (),
) -> Finder:
    """Make a function that finds what matches patterns, by the kind of span that it becomes.

    Where several match, the first in the order of the arguments counts. Fixed spans that are the
    tags of an element become a pair.
    """
    kinds = zip(Kind, (breaks, marks, free, opening, closing, fixed), strict=True)
    pattern = re.compile(
        "|".join(f"(?P<{kind.name}>{'|'.join(group)})" for kind, group in kinds if group),
        re.DOTALL | re.MULTILINE,
    )

    def find(text: str) -> list[Span]:
        matches = pattern.finditer(text)
        return paired(text, [Span(*match.span(), Kind[str(match.lastgroup)]) for match in matches])

    return find


_TAG_NAME = re.compile(r"(?:<|&lt;)(/?)([A-Za-z][\w:.-]*)")


def paired(text: str, spans: Sequence[Span], tag: re.Pattern[str] = _TAG_NAME) -> list[Span]:
    """Make pairs of spans that are the tags of an element: an end, or not, and a name."""
    tags = [
        (number, match[2].lower(), bool(match[1]))
        for number, span in enumerate(spans)
        if span.kind in (Kind.FIXED, Kind.MARK) and not text.endswith("/>", span.start, span.end)
        if (match := tag.match(text, span.start, span.end))
    ]
    pairs = list(spans)
    for number, other in match_tags(tags).items():
        kind = Kind.OPEN if number < other else Kind.CLOSE
        pairs[number] = replace(spans[number], kind=kind)
    return pairs


_MAX_MARK = 64  # spans in it
# A number after these and tags, or in these, is the mark of a note: "Recife[1]", "Recife.1".
_BEFORE_NOTE = re.compile(r"(?:[^\W\d_][.,;:!?)»”\"']{0,2}|\d)`{0,2}$")
_NOTE = re.compile(r"\W{0,64}[\[(*†‡§¶]")


def marks_of(text: str, spans: Sequence[Span]) -> list[Interval]:
    """Find elements without letters; with a number, only those that are the mark of a note."""
    marks, shown = list[Interval](), masked(text, spans)
    for first, last in sorted(pairs_of(spans).items()):
        start, end = spans[first].start, spans[last].end
        is_new = not marks or marks[-1][1] <= start
        if not (first < last < first + _MAX_MARK and is_new):
            continue
        others = any(span.kind in (Kind.BREAK, Kind.FREE, Kind.FIXED) for span in spans[first:last])
        is_number = any(map(str.isalnum, shown[start:end])) and not _NOTE.match(shown, start, end)
        is_mark = not is_number or _BEFORE_NOTE.search(shown[max(start - 5, 0) : start])
        if is_mark and not others and not any(map(str.isalpha, shown[start:end])):
            marks.append((start, end))
    return marks


def separated(text: str, spans: Sequence[Span]) -> list[Span]:
    """Add breaks between elements that have no letters beside them: menus, labels, lists of tags.

    The breaks are the signs between the elements, or are empty.
    """
    matches = pairs_of(spans)
    breaks, outer = list[Span](), list[tuple[list[Span], int, bool]]()
    gaps, elements, has_text, start = list[Span](), 0, False, 0
    for number, span in enumerate([*spans, Span(len(text), len(text), Kind.BREAK)]):
        gap, match = text[start : span.start], matches.get(number, number)
        first = span.start - len(gap.lstrip())
        gaps.append(Span(first, max(first, start + len(gap.rstrip())), Kind.BREAK))
        has_text |= span.kind in (Kind.FREE, Kind.FIXED) or any(map(str.isalpha, gap))
        if match > number:
            outer.append((gaps, elements + 1, has_text))
            gaps, elements, has_text = [], 0, False
        elif match < number or span.kind is Kind.BREAK:
            breaks += gaps if elements > 1 and not has_text else ()
            gaps, elements, has_text = outer.pop() if match < number else ([], 0, False)
        start = span.end
    return sorted([*spans, *breaks], key=lambda span: (span.start, span.end))
