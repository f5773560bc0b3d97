"""Translate text whose markup and placeholders must survive.

A segment is translated as a whole first. If its translation loses, repeats or reorders a span,
the text between the spans is translated piece by piece; if even that adds something that reads
as a span, the source is kept. So every span survives, whatever the model returns.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from nmt_cli.formats.placing import Aligned, Aligning, placed, shown
from nmt_cli.formats.spans import Kind as Kind
from nmt_cli.formats.spans import Place as Place
from nmt_cli.formats.spans import Span as Span

Translate = Callable[[Sequence[str]], Sequence[str]] | Aligning


def masked(text: str, spans: Sequence[Span]) -> str:
    """Replace spans by backticks, which neither separate words nor continue an address."""
    characters = list(text)
    for span in spans:
        characters[span.start : span.end] = "`" * (span.end - span.start)
    return "".join(characters)


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
    known: dict[str, Aligned] = {}

    def learn(texts: Iterable[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        answers: Sequence[Aligned] = []
        if new and isinstance(translate, Aligning):
            answers = translate.translate(new)
        elif new:
            answers = [Aligned(answer) for answer in translate(new)]  # type: ignore[operator]
        for text, answer in zip(new, answers, strict=True):
            # An empty answer would lose the text, and with it a paragraph or a message.
            line = _LINE_BREAKS.sub(" ", answer.text).strip(" \t") or text
            known[text] = Aligned(line, answer.pairs if line == answer.text else ())

    texts = [segment.text for segment in segments]
    spans = [segment.find(segment.text) for segment in segments]
    wholes = [list(_wholes(*each)) for each in zip(texts, spans, strict=True)]
    aligns = isinstance(translate, Aligning)
    asked = [
        {
            (start, end): shown(text[start:end], _inside(found, start, end)) if aligns
            else text[start:end]
            for start, end in places
        }
        for text, found, places in zip(texts, spans, wholes, strict=True)
    ]  # fmt: skip
    learn(question for each in asked for question in each.values())
    results = []
    for text, found, questions in zip(texts, spans, asked, strict=True):
        answers = {}
        for (start, end), question in questions.items():
            answer, inside = known[question], _inside(found, start, end)
            answers[start, end] = (
                placed(text[start:end], inside, answer) if answer.pairs and inside else answer.text
            )
        results.append(_filled(text, answers))
    broken = [at for at, each in enumerate(segments) if not _keeps_spans(each, results[at], aligns)]
    runs = {at: list(_runs(texts[at], 0, len(texts[at]), spans[at])) for at in broken}
    learn(texts[at][start:end] for at, places in runs.items() for start, end in places)
    for at, places in runs.items():
        results[at] = _filled(
            texts[at], {each: known[texts[at][slice(*each)]].text for each in places}
        )
        if not _keeps_spans(segments[at], results[at]):
            results[at] = texts[at]
    return results


def _inside(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """The spans in ``[start:end]``, counted from there."""
    return [
        replace(each, start=each.start - start, end=each.end - start)
        for each in spans
        if start <= each.start and each.end <= end
    ]


def _filled(text: str, answers: Mapping[Place, str]) -> str:
    """Put answers in their places."""
    parts, at = [], 0
    for (start, end), answer in answers.items():
        parts += [text[at:start], answer]
        at = end
    return "".join([*parts, text[at:]])


def _keeps_spans(segment: Segment, result: str, aligned: bool = False) -> bool:
    """Whether a translation has the same spans; those that are not free in the same order.

    ``aligned`` markup may have another order: it went with its words, nested as before.
    """
    moving = {Kind.FREE, Kind.OPEN, Kind.CLOSE, Kind.MARK} if aligned else {Kind.FREE}
    found = []
    for text in (result, segment.text):
        spans = [(each.kind, text[each.start : each.end]) for each in segment.find(text)]
        free = sorted((kind.value, span) for kind, span in spans if kind in moving)
        found.append((free, [span for kind, span in spans if kind not in moving]))
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
