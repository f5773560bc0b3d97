"""Translating text that has spans in it which must come out as they went in.

A segment is translated whole first. Where a span got lost, was doubled or changed its turn,
the runs of text between the spans are translated one by one and put together again around
the spans; where even that brings up something that looks like a span, the source stays. So
whatever a model answers, the spans of every segment survive.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

Translate = Callable[[Sequence[str]], Sequence[str]]


class Kind(Enum):
    """What is asked of a span, beyond being there."""

    FREE = auto()  # may stand anywhere: a named placeholder, an address, code
    FIXED = auto()  # keeps its turn among all that are not free: an unnamed %s
    MARK = auto()  # as FIXED; at an edge of a segment, the model does not see it
    OPEN = auto()  # as FIXED; begins a pair: at both edges, the model does not see the pair
    CLOSE = auto()  # as FIXED; ends a pair
    BREAK = auto()  # as FIXED; what stands before it and after it is translated separately


@dataclass(frozen=True)
class Span:
    """A part of a text, from ``start`` to before ``end``, that must survive."""

    start: int
    end: int
    kind: Kind


Finder = Callable[[str], list[Span]]


@dataclass(frozen=True)
class Segment:
    """A text to translate, and what finds the spans of it and of its translations, in order."""

    text: str
    find: Finder


@dataclass(frozen=True)
class _Piece:
    """A part of a segment: either text for the model, or to be copied."""

    text: str
    is_text: bool


# What separates lines somewhere, and white space at it: a translation is one line.
_LINE_BREAKS = re.compile(r"[ \t]*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+[ \t]*")


class _Memory:
    """Translations so far, by text: each is asked for once, many at a time."""

    def __init__(self, translate: Translate) -> None:
        self._translate = translate
        self._known: dict[str, str] = {}

    def ask(self, pieces: Iterable[_Piece]) -> None:
        texts = dict.fromkeys(piece.text for piece in pieces if piece.is_text)
        new = [text for text in texts if text not in self._known]
        if not new:
            return
        for text, answer in zip(new, self._translate(new), strict=True):
            # An empty answer would lose the text, and with it a paragraph or a message.
            self._known[text] = _LINE_BREAKS.sub(" ", answer).strip(" \t") or text

    def answer(self, piece: _Piece) -> str:
        return self._known[piece.text] if piece.is_text else piece.text


def translate_segments(segments: Sequence[Segment], translate: Translate) -> list[str]:
    """Translations of segments, every span kept; ``translate`` is called twice at most.

    Text without a letter is not translated, white space at the edges stays.
    """
    memory = _Memory(translate)
    spans = [segment.find(segment.text) for segment in segments]
    wholes = [_wholes(each.text, found) for each, found in zip(segments, spans, strict=True)]
    memory.ask(piece for pieces in wholes for piece in pieces)
    results = ["".join(map(memory.answer, pieces)) for pieces in wholes]
    broken = [
        at
        for at, (segment, found) in enumerate(zip(segments, spans, strict=True))
        if results[at] != segment.text and not _keeps(segment, found, results[at])
    ]
    runs = {at: _runs(segments[at].text, spans[at]) for at in broken}
    memory.ask(piece for pieces in runs.values() for piece in pieces)
    for at, pieces in runs.items():
        results[at] = _joined(segments[at], spans[at], pieces, memory)
    return results


def _joined(
    segment: Segment, spans: Sequence[Span], pieces: Sequence[_Piece], memory: _Memory
) -> str:
    """Translated runs around the spans; where these bring up spans of their own, the source."""
    result = "".join(map(memory.answer, pieces))
    if _keeps(segment, spans, result):
        return result
    result = "".join(
        piece.text if segment.find(answer) else answer
        for piece, answer in zip(pieces, map(memory.answer, pieces), strict=True)
    )
    return result if _keeps(segment, spans, result) else segment.text


def _keeps(segment: Segment, spans: Sequence[Span], result: str) -> bool:
    """Whether a translation has the spans of its segment, as often, and in turn if need be."""
    found = segment.find(result)
    return _free(segment.text, spans) == _free(result, found) and _in_turn(
        segment.text, spans
    ) == _in_turn(result, found)


def _free(text: str, spans: Iterable[Span]) -> Counter[str]:
    return Counter(text[each.start : each.end] for each in spans if each.kind is Kind.FREE)


def _in_turn(text: str, spans: Iterable[Span]) -> list[str]:
    return [text[each.start : each.end] for each in spans if each.kind is not Kind.FREE]


def _runs(text: str, spans: Sequence[Span]) -> list[_Piece]:
    """A text as runs between spans, and the spans."""
    pieces = []
    at = 0
    for span in spans:
        pieces += _run(text[at : span.start])
        pieces.append(_Piece(text[span.start : span.end], False))
        at = span.end
    return pieces + _run(text[at:])


def _run(text: str) -> list[_Piece]:
    """A run, white space at its edges apart."""
    core = text.strip()
    if not _has_letter(core):
        return [_Piece(text, False)]
    start = text.index(core)
    return [
        _Piece(text[:start], False),
        _Piece(core, True),
        _Piece(text[start + len(core) :], False),
    ]


def _wholes(text: str, spans: Sequence[Span]) -> list[_Piece]:
    """A text as few long pieces: parted at breaks, without the markup at their edges."""
    mates = _mates(spans)
    pieces = []
    at = first = 0
    for place in [*(k for k, each in enumerate(spans) if each.kind is Kind.BREAK), len(spans)]:
        end = spans[place].start if place < len(spans) else len(text)
        start, stop = _inside(text, at, end, range(first, place), spans, mates)
        pieces.append(_Piece(text[at:start], False))
        if any(piece.is_text for piece in _runs_between(text, start, stop, spans[first:place])):
            pieces.append(_Piece(text[start:stop], True))
        else:
            pieces.append(_Piece(text[start:stop], False))
        at = spans[place].end if place < len(spans) else len(text)
        pieces.append(_Piece(text[stop:at], False))
        first = place + 1
    return pieces


def _runs_between(text: str, start: int, end: int, spans: Sequence[Span]) -> list[_Piece]:
    inner = [
        Span(each.start - start, each.end - start, each.kind)
        for each in spans
        if start <= each.start and each.end <= end
    ]
    return _runs(text[start:end], inner)


def _mates(spans: Sequence[Span]) -> dict[int, int]:
    """The other end of each pair, by number."""
    mates = {}
    stack = []
    for number, span in enumerate(spans):
        if span.kind is Kind.OPEN:
            stack.append(number)
        elif span.kind is Kind.CLOSE and stack:
            mates[number] = stack.pop()
            mates[mates[number]] = number
    return mates


_EDGE_KINDS = (Kind.MARK, Kind.OPEN, Kind.CLOSE)


def _inside(
    text: str, start: int, end: int, numbers: range, spans: Sequence[Span], mates: dict[int, int]
) -> tuple[int, int]:
    """The part of text[start:end] without white space and markup at its edges.

    One end of a pair is taken off only if the other is, or stands elsewhere.
    """
    first, last = numbers.start, numbers.stop
    at = start
    while first < last and spans[first].kind in _EDGE_KINDS:
        if text[at : spans[first].start].strip():
            break
        at = spans[first].end
        first += 1
    at = end
    while first < last and spans[last - 1].kind in _EDGE_KINDS:
        if text[spans[last - 1].end : at].strip():
            break
        at = spans[last - 1].start
        last -= 1
    while True:
        core = range(first, last)
        torn = [k for k in numbers if k not in core and mates.get(k, -1) in core]
        if not torn:
            break
        first = min([first, *(k for k in torn if k < first)])
        last = max([last, *(k + 1 for k in torn if k >= last)])
    start = spans[first - 1].end if first > numbers.start else start
    end = spans[last].start if last < numbers.stop else end
    core_text = text[start:end].strip()
    at = start + text[start:end].find(core_text)
    return at, at + len(core_text)


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))
