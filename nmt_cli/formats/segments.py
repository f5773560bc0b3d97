"""Translate text whose markup and placeholders must survive.

A segment is translated as a whole first. If its translation loses, repeats or reorders a span, each
span separates two texts; if even their translations add something that reads as a span, the source
is kept. So every span survives, whatever the model returns.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import NamedTuple

from nmt_cli.formats.placing import Translate, parsed, placed
from nmt_cli.formats.spans import Finder, Interval, Kind, Span, masked, pairs_of, replaced
from nmt_cli.search.lines import Line
from nmt_cli.search.placing import TooFewWordsError, visible_nodes

# Kinds of spans that may move. If words are aligned, markup goes with its words, nested as before.
_MOVING = {Kind.FREE}
_MOVING_WITH_WORDS = {Kind.FREE, Kind.OPEN, Kind.CLOSE, Kind.MARK}


@dataclass(frozen=True)
class Segment:
    """A text to translate, and the function that finds spans in it and its translations.
    ``where`` is its place in the document, for messages, such as ``line 12``."""

    text: str
    find: Finder
    where: str = ""


class _Part(NamedTuple):
    """A text between breaks, without white space and markup at its edges; the spans in it, counted
    from its start; and what the model reads of it."""

    interval: Interval
    spans: Sequence[Span]
    line: Line


def translate_segments(segments: Sequence[Segment], translate: Translate) -> list[str]:
    """Translate segments and keep every span.

    Text without a letter is not translated, and white space at the edges stays. ``translate`` is
    called at most twice, or three times if there are terms, with each text once.
    """
    spans = [segment.find(segment.text) for segment in segments]
    results, qualities = _translated(segments, spans, translate)
    moving = _MOVING_WITH_WORDS if translate.aligns else _MOVING
    broken = [
        index
        for index, (segment, result) in enumerate(zip(segments, results, strict=True))
        if not _keeps_spans(segment, result, moving)
    ]
    for with_terms in (True, False) if translate.has_terms else (True,):  # they may look like spans
        separate = [[replace(span, kind=Kind.BREAK) for span in spans[index]] for index in broken]
        parts = [segments[index] for index in broken]
        pieces = _translated(parts, separate, translate, with_terms)
        left = list[int]()
        for index, result, quality in zip(broken, *pieces, strict=True):
            results[index], qualities[index] = result, quality
            if not _keeps_spans(segments[index], result, _MOVING):
                results[index] = segments[index].text
                left.append(index)
        broken = left
    for segment, result, quality in zip(segments, results, qualities, strict=True):
        translate.record(segment.where, segment.text, result, quality)
    return results


def _translated(
    segments: Sequence[Segment],
    spans: Sequence[Sequence[Span]],
    translate: Translate,
    with_terms: bool = True,
) -> tuple[list[str], list[int | None]]:
    """Translate the texts between breaks; "" if an element would be empty.

    Also returns the lowest quality of each segment's texts.
    """
    parts = [
        list(_parts(segment, found, translate.aligns, with_terms))
        for segment, found in zip(segments, spans, strict=True)
    ]
    lines = list(dict.fromkeys(part.line for part in chain(*parts)))
    answers = dict(zip(lines, translate.lines(lines) if lines else [], strict=True))
    results, qualities = list[str](), list[int | None]()
    for segment, texts in zip(segments, parts, strict=True):
        text = segment.text
        known = (answers[part.line].quality for part in texts)
        qualities.append(min((quality for quality in known if quality is not None), default=None))
        try:
            edits = [
                (part.interval, placed(text[slice(*part.interval)], part.spans, answers[part.line]))
                for part in texts
            ]
            results.append(replaced(text, 0, len(text), edits))
        except TooFewWordsError:
            results.append("")
    return results, qualities


def _keeps_spans(segment: Segment, result: str, moving: set[Kind]) -> bool:
    """Whether a translation has the same spans; those that do not move in the same order."""
    sides = []
    for text in (result, segment.text):
        spans = [(span.kind, text[span.start : span.end]) for span in segment.find(text)]
        moved = sorted((kind.value, raw) for kind, raw in spans if kind in moving)
        sides.append((moved, [raw for kind, raw in spans if kind not in moving]))
    return sides[0] == sides[1]


def _parts(
    segment: Segment, spans: Sequence[Span], aligns: bool, with_terms: bool
) -> Iterator[_Part]:
    """Find the texts with letters between breaks."""
    start, inner = 0, list[Span]()
    for span in [*spans, Span(len(segment.text), len(segment.text), Kind.BREAK)]:
        if span.kind is not Kind.BREAK:
            inner.append(span)
            continue
        interval, inside = _without_edges(segment.text, start, span.start, inner)
        inside = [span.shifted(-interval[0]) for span in inside]
        text = segment.text[slice(*interval)]
        if any(map(str.isalpha, masked(text, inside))):
            shown = [(span.start, span.end) for span in inside]
            if aligns:
                text, nodes = parsed(text, inside)
                shown = [(node.start, node.end) for node in visible_nodes(nodes)]
            terms = () if with_terms else None
            line = Line(text, placeholders=tuple(shown), terms=terms, where=segment.where)
            yield _Part(interval, inside, line)
        start, inner = span.end, []


def _without_edges(
    text: str, start: int, end: int, spans: Sequence[Span]
) -> tuple[Interval, Sequence[Span]]:
    """``text[start:end]`` without white space, marks and enclosing pairs; the spans inside."""
    markup = (Kind.OPEN, Kind.CLOSE, Kind.MARK)
    others = {number: number for number, span in enumerate(spans) if span.kind in markup}
    others |= pairs_of(spans)
    first, last = 0, len(spans) - 1
    while True:
        start, end = _stripped(text, start, end)
        is_first = first <= last and spans[first].start == start
        is_last = first <= last and spans[last].end == end
        if is_first and others.get(first) == first:
            start, first = spans[first].end, first + 1
        elif is_last and others.get(last) == last:
            end, last = spans[last].start, last - 1
        elif is_first and is_last and others.get(first) == last:
            start, first, end, last = spans[first].end, first + 1, spans[last].start, last - 1
        else:
            return (start, end), spans[first : last + 1]


def _stripped(text: str, start: int, end: int) -> Interval:
    core = text[start:end].strip()
    begin = text.find(core, start)
    return begin, begin + len(core)


_SPACES = re.compile(r"[ \t]+")
# Scripts without spaces: CJK, kana and full-width forms, but no break before punctuation.
_WIDE = r"[\u2e80-\u2fff\u3040-\u9fff\uf900-\ufaff\uff00-\uff60]"
_NOT_FIRST = r"[、。，．,.！？!?：；:;）)」』】〉》〕”’ー…・]"
_WIDE_OR_SPACES = re.compile(
    rf"{_SPACES.pattern}|(?:(?<={_WIDE})|(?={_WIDE}))(?<![ \t])(?!{_NOT_FIRST}|[ \t])"
)


def breaks_of(text: str, spans: Sequence[Span], between_wide: bool = False) -> list[Interval]:
    """Find the white space outside of spans where a line may break.

    ``between_wide`` also breaks between Chinese and Japanese characters.
    """
    matches = (_WIDE_OR_SPACES if between_wide else _SPACES).finditer(masked(text, spans))
    return [match.span() for match in matches if match.start() > 0 and match.end() < len(text)]


def balanced(
    text: str, breaks: Sequence[Interval], weights: Sequence[int], hidden: Sequence[Span] = ()
) -> list[str]:
    """Split a text at some of its breaks into lines with lengths in proportion to ``weights``.

    There are as many lines as weights, or as the breaks allow. Hidden spans are not displayed
    and do not count as length.
    """
    if len(breaks) < len(weights) - 1:
        weights = [1] * (len(breaks) + 1)
    shown = bytearray(b"\1" * len(text))
    for span in hidden:
        shown[span.start : span.end] = bytes(span.end - span.start)
    lengths = [0, *accumulate(shown)]
    lines, start, first = list[str](), 0, 0
    for number, weight in enumerate(accumulate(weights[:-1]), 1):
        ideal = lengths[-1] * weight / sum(weights)
        last = len(breaks) - (len(weights) - number)
        index = bisect_left(breaks, ideal, first, last, key=lambda gap: lengths[gap[0]])
        nearest = range(index, max(first, index - 1) - 1, -1)
        index = min(nearest, key=lambda index: abs(lengths[breaks[index][0]] - ideal))
        lines.append(text[start : breaks[index][0]])
        start, first = breaks[index][1], index + 1
    return [*lines, text[start:]]
