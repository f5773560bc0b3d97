"""Texts that change and keep track of where each of their characters comes from."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Span = tuple[int, int]  # start and end of a part of a text, in characters; the end is exclusive


@dataclass(frozen=True)
class MappedText:
    """A text, and the span of the original text that each of its characters comes from.
    ``origins`` is None before any change; the text then begins at ``first`` of the original."""

    text: str
    origins: Sequence[Span] | None = None
    first: int = 0

    def origin(self, start: int, end: int) -> Span:
        """Return the span of the original that ``text[start:end]`` comes from."""
        if self.origins is None:
            return self.first + start, self.first + end
        if start < end:
            return self.origins[start][0], self.origins[end - 1][1]
        before = self.origins[start - 1][1] if start else self.first
        # Between characters that came from the same one, it is that one.
        return min([before, *(span[0] for span in self.origins[start : start + 1])]), before

    def current(self, start: int, end: int) -> Span:
        """Return the span of the text that came from ``[start:end]`` of the original."""
        if self.origins is None:
            return max(0, start - self.first), max(0, end - self.first)
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
        return MappedText("".join(parts), origins, self.first)

    def _origins(self, start: int, end: int) -> Sequence[Span]:
        return [self.origin(index, index + 1) for index in range(start, end)]

    def substituted(self, pattern: re.Pattern[str], replacement: str) -> "MappedText":
        """Replace all matches of a pattern, as ``re.sub`` does."""
        matches = pattern.finditer(self.text)
        return self.replaced((*match.span(), match.expand(replacement)) for match in matches)


Edit = Callable[[MappedText], MappedText]
