"""Translate text whose markup and placeholders must survive.

A segment is translated as a whole first. If its translation loses, repeats or reorders a span,
the text between the spans is translated piece by piece; if even that adds something that reads
as a span, the source is kept. So every span survives, whatever the model returns.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from nmt_cli.formats.placing import Aligned, Translate, parsed, placed
from nmt_cli.formats.spans import Finder, Interval, Kind, Span, masked, match_tags, replaced

# A translation is one line: these become a space.
_LINE_BREAKS = re.compile(r"[ \t]*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+[ \t]*")
# Kinds of spans that may move. If words are aligned, markup goes with its words, nested as before.
_MOVING = {Kind.FREE}
_MOVING_WITH_WORDS = {Kind.FREE, Kind.OPEN, Kind.CLOSE, Kind.MARK}


@dataclass(frozen=True)
class Segment:
    """A text to translate, and the function that finds spans in it and its translations."""

    text: str
    find: Finder


def translate_segments(segments: Sequence[Segment], translate: Translate) -> list[str]:
    """Translate segments and keep every span.

    Text without a letter is not translated, and white space at the edges stays. ``translate`` is
    called at most twice, with each text once.
    """
    known: dict[str, Aligned] = {}
    spans = [segment.find(segment.text) for segment in segments]
    lines = [
        dict(_lines(segment.text, found, translate.aligns))
        for segment, found in zip(segments, spans, strict=True)
    ]
    _learn(known, (line for parts in lines for line in parts.values()), translate)
    results = []
    for segment, found, parts in zip(segments, spans, lines, strict=True):
        text = segment.text
        edits = (
            (part, placed(text[slice(*part)], _inside(found, *part), known[line]))
            for part, line in parts.items()
        )
        results.append(replaced(text, 0, len(text), edits))
    moving = _MOVING_WITH_WORDS if translate.aligns else _MOVING
    broken = {
        index: list(_runs(segment.text, 0, len(segment.text), spans[index]))
        for index, segment in enumerate(segments)
        if not _keeps_spans(segment, results[index], moving)
    }
    texts = (segments[index].text[slice(*run)] for index, runs in broken.items() for run in runs)
    _learn(known, texts, translate)
    for index, runs in broken.items():
        text = segments[index].text
        edits = ((run, known[text[slice(*run)]].text) for run in runs)
        results[index] = replaced(text, 0, len(text), edits)
        if not _keeps_spans(segments[index], results[index], _MOVING):
            results[index] = text
    return results


def _learn(known: dict[str, Aligned], texts: Iterable[str], translate: Translate) -> None:
    """Add the translations of texts that are not known yet."""
    new = [text for text in dict.fromkeys(texts) if text not in known]
    answers = map(Aligned.of, translate.lines(new) if new else [])
    for text, answer in zip(new, answers, strict=True):
        # An empty answer would lose the text, and with it a paragraph or a message.
        line = _LINE_BREAKS.sub(" ", answer.text).strip(" \t") or text
        known[text] = Aligned(line, answer.pairs if line == answer.text else ())


def _lines(text: str, spans: Sequence[Span], aligns: bool) -> Iterator[tuple[Interval, str]]:
    """Find the text between breaks, without markup at its edges, and what the model reads of it."""
    start, inner = 0, list[Span]()
    for span in [*spans, Span(len(text), len(text), Kind.BREAK)]:
        if span.kind is not Kind.BREAK:
            inner.append(span)
            continue
        part, remaining = _without_edges(text, start, span.start, inner)
        if any(_runs(text, *part, remaining)):
            line = text[slice(*part)]
            yield part, parsed(line, _inside(spans, *part))[0] if aligns else line
        start, inner = span.end, []


def _inside(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """Return the spans in ``[start:end]``, counted from there."""
    return [span.shifted(-start) for span in spans if start <= span.start and span.end <= end]


def _keeps_spans(segment: Segment, result: str, moving: set[Kind]) -> bool:
    """Whether a translation has the same spans; those that do not move in the same order."""
    sides = []
    for text in (result, segment.text):
        spans = [(span.kind, text[span.start : span.end]) for span in segment.find(text)]
        moved = sorted((kind.value, raw) for kind, raw in spans if kind in moving)
        sides.append((moved, [raw for kind, raw in spans if kind not in moving]))
    return sides[0] == sides[1]


def _runs(text: str, start: int, end: int, spans: Sequence[Span]) -> Iterator[Interval]:
    """Find the text with letters between spans."""
    for span in [*spans, Span(end, end, Kind.FIXED)]:
        run = _stripped(text, start, span.start)
        if any(map(str.isalpha, text[slice(*run)])):
            yield run
        start = span.end


def _without_edges(
    text: str, start: int, end: int, spans: Sequence[Span]
) -> tuple[Interval, Sequence[Span]]:
    """``text[start:end]`` without white space, marks and enclosing pairs; the spans inside."""
    pairs = match_tags(
        (number, "", span.kind is Kind.CLOSE)
        for number, span in enumerate(spans)
        if span.kind in (Kind.OPEN, Kind.CLOSE)
    )
    single = {
        number
        for number, span in enumerate(spans)
        if span.kind in (Kind.OPEN, Kind.CLOSE, Kind.MARK) and number not in pairs
    }
    first, last = 0, len(spans) - 1
    start, end = _stripped(text, start, end)
    while first <= last:
        at_start, at_end = spans[first].start == start, spans[last].end == end
        if at_start and first in single:
            start, first = spans[first].end, first + 1
        elif at_end and last in single:
            end, last = spans[last].start, last - 1
        elif at_start and at_end and pairs.get(first) == last:
            start, first, end, last = spans[first].end, first + 1, spans[last].start, last - 1
        else:
            break
        start, end = _stripped(text, start, end)
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
    hidden_ends = [span.end for span in hidden]
    hidden_lengths = [0, *accumulate(span.end - span.start for span in hidden)]
    ends = [*(start for start, _ in breaks), len(text)]
    lengths = [end - hidden_lengths[bisect_right(hidden_ends, end)] for end in ends]
    lines = []
    line_start = used = 0
    for number, weight in enumerate(accumulate(weights[:-1]), 1):
        ideal = lengths[-1] * weight / sum(weights)
        latest = len(breaks) - (len(weights) - number)
        chosen = min(max(bisect_left(lengths, ideal), used), latest)
        if chosen > used and ideal - lengths[chosen - 1] < lengths[chosen] - ideal:
            chosen -= 1
        start, end = breaks[chosen]
        lines.append(text[line_start:start])
        line_start, used = end, chosen + 1
    return [*lines, text[line_start:]]
