"""Code, addresses and long numbers: what a translation keeps, and a model may misspell."""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import takewhile

from nmt_cli.text.mapped import Edited, MappedText

# What may be code, with its punctuation: text without spaces, quotation marks or brackets. Python
# and JavaScript disagree on the first few characters.
RUN = re.compile(r"""[^\x1c-\x1f\x85\ufeff\s"'`,;()<>\[\]“”‘’«»…!?]+""")
EDGES = re.compile(r"^\*+|[.:*-]+$")
# It is code if it is at least so long, has only ASCII and one of these marks.
MIN_CHARACTERS = 4
MARK = re.compile(
    r"[_={}\\]|[A-Za-z][.:]\w|\w[.:][A-Za-z]|::|->|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d"
    r"|[$%@#][A-Za-z]|--[a-z]|//|^/\w|\w/\w+/|^\d{4,}$"
)
# The share of the longer one's characters that code and its misspelling have at both ends: little,
# since a translation rarely contains code that its source lacks.
MIN_COMMON = 0.2
# All pairs are compared, so a line with more of either is left as it is.
MAX_PIECES = 100


def keep(line: MappedText) -> Edited:
    """Repair the code of a line in its translation, unless an earlier step changed the line."""
    if line.is_changed:
        return line, None
    return line, partial(repair, line.text)


def repair(source: str, translation: MappedText) -> MappedText:
    """Put the code of the source in place of similar code of the translation.

    Code that the translation contains is not copied, nor is code of the source replaced; the most
    similar pairs come first.
    """
    known = dict.fromkeys(code for code, _ in _code(source))
    pieces = list(_code(translation.text))
    written = {code for code, _ in pieces}
    lost = [code for code in known if code not in written]
    wrong = [(code, start) for code, start in pieces if code not in known]
    if max(len(lost), len(wrong)) > MAX_PIECES:
        return translation
    # It may still be a part of longer code of the translation.
    missing = [code for code in lost if code not in translation.text]
    pairs = [
        (_common(right, code), right, code, start) for right in missing for code, start in wrong
    ]
    used = set[str]()
    edits: dict[int, tuple[int, int, str]] = {}
    for share, right, code, start in sorted(pairs, key=lambda pair: -pair[0]):
        if share >= MIN_COMMON and right not in used and start not in edits:
            used.add(right)
            edits[start] = start, start + len(code), right
    return translation.replaced(edits[start] for start in sorted(edits))


def _code(text: str) -> Iterator[tuple[str, int]]:
    """Find each piece of code and where it starts."""
    for run in RUN.finditer(text):
        code = EDGES.sub("", run[0])
        if len(code) >= MIN_CHARACTERS and code.isascii() and MARK.search(code):
            yield code, run.start() + run[0].index(code)


def _common(one: str, other: str) -> float:
    """Return the share of the longer one's characters that both begin and end with."""
    start = _equal(one, other)
    end = _equal(reversed(one[start:]), reversed(other[start:]))
    return (start + end) / max(len(one), len(other))


def _equal(one: Iterable[str], other: Iterable[str]) -> int:
    """Return how many characters are the same from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
