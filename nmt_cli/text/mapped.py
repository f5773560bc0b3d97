"""Texts that steps change, and where each of their characters comes from."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Span = tuple[int, int]
"""Start and end of a part of a text, in characters; the end is exclusive."""


@dataclass(frozen=True)
class MappedText:
    """A text, and the span of the original text that each of its characters comes from.

    ``origins`` is None before any change.
    """

    text: str
    origins: Sequence[Span] | None = None

    @property
    def is_changed(self) -> bool:
        """Whether it may differ from the original."""
        return self.origins is not None

    def origin(self, start: int, end: int) -> Span:
        """Return the span of the original that ``text[start:end]`` comes from."""
        origins = self.origins
        if origins is None:
            return start, end
        if start < end:
            return origins[start][0], origins[end - 1][1]
        before = origins[start - 1][1] if start else 0
        # Between characters that came from the same one, it is that one.
        return min([before, *(span[0] for span in origins[start : start + 1])]), before

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
        if self.origins is None:
            return [(index, index + 1) for index in range(start, end)]
        return self.origins[start:end]

    def substituted(self, pattern: re.Pattern[str], replacement: str) -> "MappedText":
        """Replace all matches of a pattern, as ``re.sub`` does."""
        matches = pattern.finditer(self.text)
        return self.replaced((*match.span(), match.expand(replacement)) for match in matches)

    def cased(self, change: Callable[[str], str]) -> "MappedText":
        """Change the case: ``change`` is str.lower or str.upper, which may add characters."""
        origins = [
            self.origin(index, index + 1)
            for index, character in enumerate(self.text)
            for _ in change(character)
        ]
        return MappedText(change(self.text), origins)

    def stripped(self) -> "MappedText":
        """Remove white space at both ends."""
        start = len(self.text) - len(self.text.lstrip())
        return self.replaced([(0, start, ""), (len(self.text.rstrip()), len(self.text), "")])


Edit = Callable[[MappedText], MappedText]
# A line as the next step gets it, and what to do with its translation.
Edited = tuple[MappedText, Edit | None]
Step = Callable[[MappedText], Edited]
