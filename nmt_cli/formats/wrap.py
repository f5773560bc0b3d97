"""Split a translation into as many lines as its source had."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from nmt_cli.formats.segments import Place, Span, masked

_SPACES = re.compile(r"[ \t]+")
# Scripts without spaces: CJK, kana and full-width forms, but no break before punctuation.
_WIDE = r"[\u2e80-\u2fff\u3040-\u9fff\uf900-\ufaff\uff00-\uff60]"
_NOT_FIRST = r"[、。，．,.！？!?：；:;）)」』】〉》〕”’ー…・]"
_WIDE_OR_SPACES = re.compile(
    rf"{_SPACES.pattern}|(?:(?<={_WIDE})|(?={_WIDE}))(?<![ \t])(?!{_NOT_FIRST}|[ \t])"
)


def breaks_of(text: str, spans: Sequence[Span], between_wide: bool = False) -> list[Place]:
    """Find where a line may break outside of spans: what to drop there, from and to.

    ``between_wide`` also breaks between Chinese and Japanese characters.
    """
    found = (_WIDE_OR_SPACES if between_wide else _SPACES).finditer(masked(text, spans))
    return [each.span() for each in found if each.start() > 0 and each.end() < len(text)]


def balanced(
    text: str, breaks: Sequence[Place], weights: Sequence[int], hidden: Sequence[Span] = ()
) -> list[str]:
    """Split a text at some of its breaks into lines with lengths in proportion to ``weights``.

    There are as many lines as weights, or as the breaks allow. Hidden spans are not displayed
    and do not count as length.
    """
    if len(breaks) < len(weights) - 1:
        weights = [1] * (len(breaks) + 1)
    hidden_ends = [span.end for span in hidden]
    hidden_lengths = [0, *accumulate(span.end - span.start for span in hidden)]
    places = [*(start for start, _ in breaks), len(text)]
    lengths = [place - hidden_lengths[bisect_right(hidden_ends, place)] for place in places]
    lines = []
    at = used = 0
    for number, weight in enumerate(accumulate(weights[:-1]), 1):
        ideal = lengths[-1] * weight / sum(weights)
        latest = len(breaks) - (len(weights) - number)
        place = min(max(bisect_left(lengths, ideal), used), latest)
        if place > used and ideal - lengths[place - 1] < lengths[place] - ideal:
            place -= 1
        start, end = breaks[place]
        lines.append(text[at:start])
        at, used = end, place + 1
    return [*lines, text[at:]]
