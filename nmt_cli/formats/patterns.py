"""Patterns of text that must survive translation."""

import re
from collections.abc import Sequence

from nmt_cli.formats.segments import Finder, Kind, Place, Span

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
        "|".join(f"(?P<{name}>{'|'.join(each)})" for name, each in groups.items() if each),
        re.DOTALL | re.MULTILINE,
    )

    def find(text: str) -> list[Span]:
        found = [(str(each.lastgroup), each.span()) for each in pattern.finditer(text)]
        paired = iter(pair_tags(text, [place for group, place in found if group == "TAG"]))
        return [
            next(paired) if group == "TAG" else Span(*place, Kind[group]) for group, place in found
        ]

    return find


_TAG_NAME = re.compile(r"<(/?)([A-Za-z][\w:.-]*)")


def pair_tags(text: str, places: Sequence[Place]) -> list[Span]:
    """Make spans of the tags at ``places``: those that enclose something are a pair."""
    kinds = [Kind.FIXED] * len(places)
    opened: list[tuple[str, int]] = []
    for number, (start, end) in enumerate(places):
        match = _TAG_NAME.match(text, start)
        if not match or text.endswith("/>", start, end):
            continue
        if not match[1]:
            opened.append((match[2], number))
            continue
        # Nobody nests tags deeper; searching all would take long where none is closed.
        for at in range(len(opened) - 1, max(len(opened) - 64, 0) - 1, -1):
            if opened[at][0] == match[2]:
                kinds[opened[at][1]], kinds[number] = Kind.OPEN, Kind.CLOSE
                del opened[at:]  # tags opened inside and not closed there are no pair
                break
    return [Span(*place, kind) for place, kind in zip(places, kinds, strict=True)]
