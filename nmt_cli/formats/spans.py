"""Spans of text that must survive translation, and patterns that find them."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

Interval = tuple[int, int]


class Kind(Enum):
    """How a span may move, and whether the model reads it."""

    FREE = auto()  # may move: a named placeholder, an address, code
    FIXED = auto()  # keeps its order among all spans that are not free: an unnamed %s
    MARK = auto()  # fixed; hidden from the model at the edge of a segment
    OPEN = auto()  # fixed; begins a pair; a pair that encloses a segment is hidden
    CLOSE = auto()  # fixed; ends a pair
    BREAK = auto()  # fixed; the text before and after it is translated separately


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


def replaced(text: str, start: int, end: int, edits: Iterable[tuple[Interval, str]]) -> str:
    """Return ``text[start:end]`` with parts of it replaced; the parts are in order."""
    parts = []
    for interval, new in edits:
        parts += [text[start : interval[0]], new]
        start = interval[1]
    return "".join([*parts, text[start:end]])


def masked(text: str, spans: Sequence[Span]) -> str:
    """Replace spans by backticks, which neither separate words nor continue an address."""
    characters = list(text)
    for span in spans:
        characters[span.start : span.end] = "`" * (span.end - span.start)
    return "".join(characters)


# Repeats are bounded, here and in the formats, so that search time grows with the text only.
CONTROL = (r"[\x00-\x09\x0b-\x1f\x7f\x85\u2028\u2029]+", r"\n+")
LINE_BREAK_TAG = r"<[bB][rR]\s{0,9}/?>"
TAG = r"</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>"
COMMENT = r"<!--.{0,999}?-->"
CODE_ELEMENT = r"<(?P<element>code|kbd|samp|var|script|style|tt)\b[^<>]*>.{0,999}?</(?P=element)>"
ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{0,31}|\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6});"
URLS = (
    r"<(?:https?|ftp|mailto):[^<>\s]*>",
    r"(?:(?:https?|ftp)://|(?<![\w.+-])www\.)[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}*_\\]",
)
E_MAIL = r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+"
ADDRESSES = (*URLS, E_MAIL)
IN_BRACES = r"(?:[^{}\s]|\{[^{}\s]*\})"
TEMPLATES = (
    r"\{\{.{0,999}?\}\}",
    r"\{%.{0,999}?%\}",
    rf"[$#%]?\{{(?![:!}}]){IN_BRACES}+\}}",
)
BRACES = rf"\{{(?:[:!]{IN_BRACES}*)?\}}"  # without a name
_CONVERSION = r"(?:hh?|ll?|[jztLq])?[diouxXeEfFgGaAcspnr@]"
NAMED_PRINTF = (
    r"%\([^()\s]+\)[-#0+ ]*\d*(?:\.\d+)?[A-Za-z]",
    r"%<\w+>[-+#0]*\d*(?:\.\d+)?[A-Za-z]",
    rf"%\d+\$[-+#0' ]*\d*(?:\.\d+)?{_CONVERSION}",
)
_FIELD = rf"(?:\d+|\*)?(?:\.(?:\d+|\*))?{_CONVERSION}"
PRINTF, SPACED_PRINTF = rf"%[-+#0']*{_FIELD}", rf"%[-+#0' ]*{_FIELD}"
VARIABLES = (r"(?<![\w$])\$[A-Za-z_]\w*", r"(?<!\w)%[A-Z][A-Z_]+%")


def spans_finder(
    breaks: Sequence[str] = (),
    marks: Sequence[str] = (),
    free: Sequence[str] = (),
    tags: Sequence[str] = (),
    fixed: Sequence[str] = (),
) -> Finder:
    """Make a function that finds what matches patterns, by the kind of span that it becomes.

    Where several match, the first in the order of the arguments counts. ``tags`` that match by
    name become pairs, and the others are fixed.
    """
    groups = {"BREAK": breaks, "MARK": marks, "FREE": free, "TAG": tags, "FIXED": fixed}
    pattern = re.compile(
        "|".join(f"(?P<{name}>{'|'.join(group)})" for name, group in groups.items() if group),
        re.DOTALL | re.MULTILINE,
    )

    def find(text: str) -> list[Span]:
        matches = [(str(match.lastgroup), match.span()) for match in pattern.finditer(text)]
        tags = [interval for group, interval in matches if group == "TAG"]
        paired = iter(pair_tags(text, tags))
        return [
            next(paired) if group == "TAG" else Span(*interval, Kind[group])
            for group, interval in matches
        ]

    return find


_TAG_NAME = re.compile(r"<(/?)([A-Za-z][\w:.-]*)")


def pair_tags(text: str, tags: Sequence[Interval]) -> list[Span]:
    """Make spans of tags: those that enclose something are a pair, the others are fixed."""
    names = [_TAG_NAME.match(text, start) for start, _ in tags]
    matches = match_tags(
        (number, name[2], bool(name[1]))
        for number, (name, interval) in enumerate(zip(names, tags, strict=True))
        if name and not text.endswith("/>", *interval)
    )
    spans = []
    for number, interval in enumerate(tags):
        match = matches.get(number, number)
        kind = Kind.OPEN if match > number else Kind.CLOSE if match < number else Kind.FIXED
        spans.append(Span(*interval, kind))
    return spans
