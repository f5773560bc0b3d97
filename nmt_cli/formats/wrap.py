"""Parting a translation into as many lines as its source had."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from nmt_cli.formats.kept import Span

_SPACES = re.compile(r"[ \t]+")
# Scripts without spaces: CJK and kana, full-width forms; a line may begin with most of them.
_WIDE = r"[\u2e80-\u2fff\u3040-\u9fff\uf900-\ufaff\uff00-\uff60]"
_NOT_FIRST = r"[、。，．,.！？!?：；:;）)」』】〉》〕”’ー…・]"
_BETWEEN_WIDE = re.compile(rf"(?:(?<={_WIDE})|(?={_WIDE}))(?!{_NOT_FIRST})")


def breaks_of(
    text: str, spans: Sequence[Span], between_wide: bool = False
) -> list[tuple[int, int]]:
    """Where a line may be parted: what to drop there, from and to; outside of spans.

    Args:
        text: one line.
        spans: of the text, in order.
        between_wide: also between Chinese and Japanese characters.
    """
    found = [match.span() for match in _SPACES.finditer(text)]
    if between_wide:
        spaced = {place for span in found for place in span}
        found += [
            match.span() for match in _BETWEEN_WIDE.finditer(text) if match.start() not in spaced
        ]
        found.sort()
    ends = [span.end for span in spans]
    result = []
    for start, end in found:
        at = bisect_left(ends, start + 1)  # the first span that ends after the break starts
        inside = at < len(spans) and spans[at].start < end
        if start > 0 and end < len(text) and not inside:
            result.append((start, end))
    return result


def balanced(
    text: str,
    breaks: Sequence[tuple[int, int]],
    weights: Sequence[int],
    hidden: Sequence[Span] = (),
) -> list[str]:
    """Part a text at some of its breaks into lines whose lengths are as the weights.

    Args:
        text: one line.
        breaks: of the text, from :func:`breaks_of`.
        weights: one for each line.
        hidden: what of the text a reader will not see.

    Returns:
        as many lines as there are weights, or as its breaks allow.
    """
    if len(breaks) < len(weights) - 1:
        weights = [1] * (len(breaks) + 1)
    lengths = _visible_lengths([start for start, _ in breaks] + [len(text)], hidden)
    lines = []
    at = weight = used = 0
    for number in range(1, len(weights)):
        weight += weights[number - 1]
        ideal = lengths[-1] * weight / sum(weights)
        latest = len(breaks) - (len(weights) - 1 - number) - 1
        place = min(max(bisect_left(lengths, ideal), used), latest)
        if place > used and ideal - lengths[place - 1] < lengths[place] - ideal:
            place -= 1
        start, end = breaks[place]
        lines.append(text[at:start])
        at, used = end, place + 1
    return [*lines, text[at:]]


def _visible_lengths(places: Sequence[int], hidden: Sequence[Span]) -> list[int]:
    """How much of a text there is to see up to each place."""
    lengths = []
    at = unseen = 0
    for place in places:
        while at < len(hidden) and hidden[at].end <= place:
            unseen += hidden[at].end - hidden[at].start
            at += 1
        lengths.append(place - unseen)
    return lengths
