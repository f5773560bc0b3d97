"""Translate text whose markup and placeholders must survive.

A segment is translated as a whole first. If its translation loses, repeats or reorders a span,
the text between the spans is translated piece by piece; if even that adds something that reads
as a span, the source is kept. So every span survives, whatever the model returns.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

Translate = Callable[[Sequence[str]], Sequence[str]]


class Kind(Enum):
    """How a span may move, and whether the model sees it."""

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


def masked(text: str, spans: Sequence[Span]) -> str:
    """Replace spans by backticks, which neither separate words nor continue an address."""
    characters = list(text)
    for span in spans:
        characters[span.start : span.end] = "`" * (span.end - span.start)
    return "".join(characters)


Place = tuple[int, int]
Finder = Callable[[str], list[Span]]


@dataclass(frozen=True)
class Segment:
    """A text to translate, and the function that finds spans in it and its translations."""

    text: str
    find: Finder


# A translation is one line: these become a space.
_LINE_BREAKS = re.compile(r"[ \t]*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+[ \t]*")


def translate_segments(segments: Sequence[Segment], translate: Translate) -> list[str]:
    """Translate segments and keep every span.

    Text without a letter is not translated, and white space at the edges stays. ``translate`` is
    called at most twice, with each text once.
    """
    known: dict[str, str] = {}

    def learn(texts: Iterable[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        for text, answer in zip(new, translate(new) if new else [], strict=True):
            # An empty answer would lose the text, and with it a paragraph or a message.
            known[text] = _LINE_BREAKS.sub(" ", answer).strip(" \t") or text

    texts = [segment.text for segment in segments]
    spans = [segment.find(segment.text) for segment in segments]
    wholes = [list(_wholes(*each)) for each in zip(texts, spans, strict=True)]
    learn(texts[at][start:end] for at, places in enumerate(wholes) for start, end in places)
    results = [_filled(*each, known) for each in zip(texts, wholes, strict=True)]
    broken = [at for at, each in enumerate(segments) if not _keeps_spans(each, results[at])]
    runs = {at: list(_runs(texts[at], 0, len(texts[at]), spans[at])) for at in broken}
    learn(texts[at][start:end] for at, places in runs.items() for start, end in places)
    for at, places in runs.items():
        results[at] = _filled(texts[at], places, known)
        if not _keeps_spans(segments[at], results[at]):
            results[at] = texts[at]
    return results


def _filled(text: str, places: Sequence[Place], answers: Mapping[str, str]) -> str:
    """Replace what is at ``places`` by its answer."""
    parts, at = [], 0
    for start, end in places:
        parts += [text[at:start], answers[text[start:end]]]
        at = end
    return "".join([*parts, text[at:]])


def _keeps_spans(segment: Segment, result: str) -> bool:
    """Whether a translation has the same spans; those that are not free in the same order."""
    found = []
    for text in (result, segment.text):
        spans = [(each.kind, text[each.start : each.end]) for each in segment.find(text)]
        free = sorted(span for kind, span in spans if kind is Kind.FREE)
        found.append((free, [span for kind, span in spans if kind is not Kind.FREE]))
    return found[0] == found[1]


def _runs(text: str, start: int, end: int, spans: Sequence[Span]) -> Iterator[Place]:
    """Find the text with letters between spans."""
    for span in [*spans, Span(end, end, Kind.FIXED)]:
        place = _stripped(text, start, span.start)
        if any(map(str.isalpha, text[slice(*place)])):
            yield place
        start = span.end


def _wholes(text: str, spans: Sequence[Span]) -> Iterator[Place]:
    """Find the text between breaks, without markup at its edges."""
    start, inner = 0, list[Span]()
    for span in [*spans, Span(len(text), len(text), Kind.BREAK)]:
        if span.kind is Kind.BREAK:
            place, shown = _without_edges(text, start, span.start, inner)
            if any(_runs(text, *place, shown)):
                yield place
            start, inner = span.end, []
        else:
            inner.append(span)


def _without_edges(
    text: str, start: int, end: int, spans: Sequence[Span]
) -> tuple[Place, Sequence[Span]]:
    """``text[start:end]`` without white space, marks and enclosing pairs; the spans inside."""
    mates = _mates(spans)
    first, last = 0, len(spans) - 1
    start, end = _stripped(text, start, end)
    while first <= last:
        at_start, at_end = spans[first].start == start, spans[last].end == end
        if at_start and mates.get(first) == first:
            start, first = spans[first].end, first + 1
        elif at_end and mates.get(last) == last:
            end, last = spans[last].start, last - 1
        elif at_start and at_end and mates.get(first) == last:
            start, first, end, last = spans[first].end, first + 1, spans[last].start, last - 1
        else:
            break
        start, end = _stripped(text, start, end)
    return (start, end), spans[first : last + 1]


def _mates(spans: Sequence[Span]) -> dict[int, int]:
    """The number of each opening span's end; of marks and spans without a mate, their own."""
    mates: dict[int, int] = {}
    opened = []
    for number, span in enumerate(spans):
        if span.kind is Kind.OPEN:
            opened.append(number)
        elif span.kind is Kind.CLOSE and opened:
            mates[opened.pop()] = number
        elif span.kind in (Kind.CLOSE, Kind.MARK):
            mates[number] = number
    return mates | {number: number for number in opened}


def _stripped(text: str, start: int, end: int) -> Place:
    core = text[start:end].strip()
    at = text.find(core, start)
    return at, at + len(core)
