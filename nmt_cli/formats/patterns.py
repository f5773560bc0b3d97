"""Patterns of spans that must survive, and what makes finders of them."""

import re
from collections.abc import Sequence

from nmt_cli.formats.kept import Finder, Kind, Span

# Bounded, here and below, so that no text takes time beyond its length to search.
CONTROL = (r"[\x00-\x09\x0b-\x1f\x7f\x85\u2028\u2029]+", r"\n+")
LINE_BREAK_TAG = r"<[bB][rR]\s{0,9}/?>"
TAG = r"</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>"
COMMENT = r"<!--.{0,999}?-->"
CODE_ELEMENT = r"<(?P<code>code|kbd|samp|var|script|style|tt)\b[^<>]*>.{0,999}?</(?P=code)>"
ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{0,31}|\#\d{1,7}|\#[xX][0-9A-Fa-f]{1,6});"
ADDRESSES = (
    r"<(?:https?|ftp|mailto):[^<>\s]*>",
    r"(?:https?|ftp)://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}*_]",
    r"(?<![\w.+-])www\.[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}*_]",
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+",
)
IN_BRACES = r"(?:[^{}\s]|\{[^{}\s]*\})"
TEMPLATES = (
    r"\{\{.{0,999}?\}\}",
    r"\{%.{0,999}?%\}",
    rf"[$#%]?\{{(?![:!}}]){IN_BRACES}+\}}",
)
VARIABLES = (r"(?<![\w$])\$[A-Za-z_]\w*", r"(?<!\w)%[A-Z][A-Z_]+%")


def spans_finder(
    breaks: Sequence[str] = (),
    marks: Sequence[str] = (),
    free: Sequence[str] = (),
    tags: Sequence[str] = (),
    fixed: Sequence[str] = (),
) -> Finder:
    """What finds the spans that match patterns; of those at one place, the first given.

    Args:
        breaks: patterns of breaks.
        marks: of marks.
        free: of what may move.
        tags: of tags; those that match by name become pairs, the others are fixed.
        fixed: of what may not move.
    """
    groups = {"BREAK": breaks, "MARK": marks, "FREE": free, "TAG": tags, "FIXED": fixed}
    pattern = re.compile(
        "|".join(f"(?P<{name}>{'|'.join(each)})" for name, each in groups.items() if each),
        re.DOTALL | re.MULTILINE,
    )

    def find(text: str) -> list[Span]:
        matches = list(pattern.finditer(text))
        places = [each.span() for each in matches if each.lastgroup == "TAG"]
        tag_spans = {each.start: each for each in pair_tags(text, places)}
        return [
            tag_spans[each.start()]
            if each.lastgroup == "TAG"
            else Span(each.start(), each.end(), Kind[each.lastgroup or ""])
            for each in matches
        ]

    return find


_TAG_NAME = re.compile(r"<(/?)([A-Za-z][\w:.-]*)")


def pair_tags(text: str, places: Sequence[tuple[int, int]]) -> list[Span]:
    """Spans of the tags at ``places``: those that enclose something are a pair."""
    kinds = [Kind.FIXED] * len(places)
    opened: list[tuple[str, int]] = []
    for number, (start, end) in enumerate(places):
        match = _TAG_NAME.match(text, start)
        if not match or text.endswith("/>", start, end):
            continue
        if not match[1]:
            opened.append((match[2], number))
        elif (at := _last(opened, match[2])) is not None:
            kinds[opened[at][1]], kinds[number] = Kind.OPEN, Kind.CLOSE
            # What was opened within and not closed there is no pair.
            del opened[at:]
    return [Span(*place, kind) for place, kind in zip(places, kinds, strict=True)]


def _last(opened: Sequence[tuple[str, int]], name: str) -> int | None:
    # Nobody nests tags deeper than this; looking through all would take long where none close.
    for at in range(len(opened) - 1, max(len(opened) - 64, 0) - 1, -1):
        if opened[at][0] == name:
            return at
    return None
