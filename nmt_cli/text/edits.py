"""Edits of lines and their translations, which keep track of where each character comes from.

Two of them are steps of the text path: lines in capitals, such as signs and headings, are
translated in lower case; code, addresses and long numbers, which a model may misspell, are repaired
in translations.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

# Signs of code, markup, placeholders, addresses and paths, whose case matters.
CODE = re.compile(r"[{}<>\[\]()%$\\/_@|#=`~^*&+]|\w[.:]\w|--")
# A shorter line in capitals is as likely to be an abbreviation.
MIN_LETTERS = 5

# What may be code, with its punctuation: text without spaces, quotation marks or brackets. Python
# and JavaScript disagree on the first few characters.
CODE_RUN = re.compile(r"""[^\x1c-\x1f\x85\ufeff\s"'`,;()<>\[\]“”‘’«»…!?]+""")
CODE_EDGES = re.compile(r"^\*+|[.:*-]+$")
# It is code if it is at least so long, has only ASCII and one of these marks.
MIN_CODE = 4
CODE_MARK = re.compile(
    r"[_={}\\]|[A-Za-z][.:]\w|\w[.:][A-Za-z]|::|->|[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z]\d"
    r"|[$%@#][A-Za-z]|--[a-z]|//|^/\w|\w/\w+/|^\d{4,}$"
)
# The share of the longer one's characters that code and its misspelling have at both ends: little,
# since a translation rarely contains code that its source lacks.
MIN_COMMON = 0.2
# All pairs are compared, so a line with more of either is left as it is.
MAX_PIECES = 100

Span = tuple[int, int]  # start and end of a part of a text, in characters; the end is exclusive


@dataclass(frozen=True)
class MappedText:
    """A text, and the span of the original text that each of its characters comes from.
    ``origins`` is None before any change."""

    text: str
    origins: Sequence[Span] | None = None

    def origin(self, start: int, end: int) -> Span:
        """Return the span of the original that ``text[start:end]`` comes from."""
        if self.origins is None:
            return start, end
        if start < end:
            return self.origins[start][0], self.origins[end - 1][1]
        before = self.origins[start - 1][1] if start else 0
        # Between characters that came from the same one, it is that one.
        return min([before, *(span[0] for span in self.origins[start : start + 1])]), before

    def current(self, start: int, end: int) -> Span:
        """Return the span of the text that came from ``[start:end]`` of the original."""
        if self.origins is None:
            return start, end
        first = bisect_right(self.origins, start, key=lambda span: span[1])
        last = bisect_left(self.origins, end, key=lambda span: span[0])
        return first, max(first, last)

    def replaced(self, edits: Iterable[tuple[int, int, str]]) -> "MappedText":
        """Replace parts, by start, end and new text of each, in order and without overlaps."""
        parts, origins, done = [], list[Span](), 0
        for start, end, new in edits:
            # What stays keeps its place.
            while start < end and new and self.text[start] == new[0]:
                start, new = start + 1, new[1:]
            while start < end and new and self.text[end - 1] == new[-1]:
                end, new = end - 1, new[:-1]
            parts += [self.text[done:start], new]
            origins += self._origins(done, start)
            origins += [self.origin(start, end)] * len(new)
            done = end
        if not parts:
            return self
        parts.append(self.text[done:])
        origins += self._origins(done, len(self.text))
        return MappedText("".join(parts), origins)

    def _origins(self, start: int, end: int) -> Sequence[Span]:
        return [self.origin(index, index + 1) for index in range(start, end)]

    def substituted(self, pattern: re.Pattern[str], replacement: str) -> "MappedText":
        """Replace all matches of a pattern, as ``re.sub`` does."""
        matches = pattern.finditer(self.text)
        return self.replaced((*match.span(), match.expand(replacement)) for match in matches)

    def cased(self, change: Callable[[str], str]) -> "MappedText":
        """Change the case: ``change`` is str.lower or str.upper, which may add characters."""
        characters = zip(self.text, self._origins(0, len(self.text)), strict=True)
        origins = [origin for character, origin in characters for _ in change(character)]
        return MappedText(change(self.text), origins)


Edit = Callable[[MappedText], MappedText]
# A line as the next step gets it, and what to do with its translation.
Edited = tuple[MappedText, Edit | None]
Step = Callable[[MappedText], Edited]


def fold_capitals(line: MappedText) -> Edited:
    """Lowercase a line in capitals for the model, and uppercase its translation.
    Such a line has at least five letters, no lower-case ones, and no code."""
    letters = sum(map(str.isalpha, line.text))
    if not line.text.isupper() or letters < MIN_LETTERS or CODE.search(line.text):
        return line, None
    return line.cased(str.lower), lambda translation: translation.cased(str.upper)


def repair_code(line: MappedText) -> Edited:
    """Repair the code of a line in its translation, unless an earlier step changed the line."""
    if line.origins is not None:
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
    for run in CODE_RUN.finditer(text):
        code = CODE_EDGES.sub("", run[0])
        if len(code) >= MIN_CODE and code.isascii() and CODE_MARK.search(code):
            yield code, run.start() + run[0].index(code)


def _common(one: str, other: str) -> float:
    """Return the share of the longer one's characters that both begin and end with."""
    start = _equal(one, other)
    end = _equal(one[start:][::-1], other[start:][::-1])
    return (start + end) / max(len(one), len(other))


def _equal(one: str, other: str) -> int:
    """Return how many characters are the same from the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
