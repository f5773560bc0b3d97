"""Put markup around the translations of the words that it was around, by word alignments.

The model translates text without tags. Of an element, the translation is the run of target words
with the most words aligned to it (each other word counts against the run); it stays inside its
parent's. An element without one, and a tag that encloses nothing, follow the translation of the
source word before them. Placeholders, which the model sees, stay where it put them.

Similar: HTML.cpp of Bergamot (https://github.com/browsermt/bergamot-translator).
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nmt_cli.formats.spans import Interval, Kind, Span
from nmt_cli.search.translator import Translation

_SIGNS = ".,;:!?()[]\"'«»“”‘’…"
_HIDDEN = (Kind.OPEN, Kind.CLOSE, Kind.MARK)


@dataclass(frozen=True)
class Aligned:
    """A translation of a text, and its aligned words.

    Attributes:
        pairs: intervals of a source word in the text and of a target word in the translation, in
            target order. Each target word has one pair at most.
    """

    text: str
    pairs: Sequence[tuple[Interval, Interval]] = ()

    @classmethod
    def of(cls, translation: Translation) -> "Aligned":
        """Return a translation's text and its aligned words, if it has any."""
        pairs = [
            (translation.source_words[source], translation.target_words[target])
            for source, target in translation.alignment or []
        ]
        return cls(translation.text, pairs)


@dataclass(frozen=True)
class Translate:
    """Translates the lines of documents.

    Attributes:
        lines: returns the translations of lines, in order.
        aligns: whether they have alignments, by which markup is placed.
    """

    lines: Callable[[Sequence[str]], Iterable[Translation]]
    aligns: bool = False


@dataclass
class _Node:
    """Markup around ``[start:end]`` of the shown text; ``visible`` for a placeholder."""

    start: int
    end: int
    before: str
    after: str = ""
    visible: bool = False
    pinned: bool = False  # half of a pair: keeps its order among its like
    inner: "list[_Node]" = field(default_factory=list)


def parsed(text: str, spans: Sequence[Span]) -> tuple[str, list[_Node]]:
    """Return the text without tags and the spaces that they separated, and its markup."""
    plain, done, nodes = "", 0, list[_Node]()
    levels: list[list[_Node]] = [nodes]
    for span in [*spans, Span(len(text), len(text), Kind.MARK)]:
        between, raw = text[done : span.start], text[span.start : span.end]
        plain += between[1:] if plain.endswith(" ") and between.startswith(" ") else between
        done = span.end
        if span.kind not in _HIDDEN:
            levels[-1].append(_Node(len(plain), len(plain) + len(raw), raw, visible=True))
            plain += raw
        elif span.kind is Kind.OPEN:
            levels[-1].append(_Node(len(plain), -1, raw))
            levels.append(levels[-1][-1].inner)
        elif span.kind is Kind.CLOSE and len(levels) > 1:
            levels.pop()
            levels[-1][-1].end, levels[-1][-1].after = len(plain), raw
        elif raw:
            levels[-1].append(_Node(len(plain), len(plain), raw, pinned=span.kind is Kind.CLOSE))
    for level in reversed(levels[:-1]):  # never closed: what is inside follows
        opened = level[-1]
        opened.end, opened.pinned = opened.start, True
        level += opened.inner
        opened.inner = []
    return plain, nodes


def placed(text: str, spans: Sequence[Span], answer: Aligned) -> str:
    """Return the answer of the model to what it saw of the text, with the markup of the text."""
    if not (answer.pairs and spans):
        return answer.text
    source, nodes = parsed(text, spans)
    return _Placing(source, answer, nodes).written(nodes, (0, len(answer.pairs)), None)


class _Placing:
    """The words of one translation, and the placeholders that the model kept."""

    def __init__(self, source: str, answer: Aligned, nodes: Sequence[_Node]) -> None:
        self.source, self.target = source, answer.text
        self.sources: list[Interval] = [pair[0] for pair in answer.pairs]
        self.targets: list[Interval] = [pair[1] for pair in answer.pairs]
        self._anchor()
        self.exact: dict[Interval, Interval] = {}  # of placeholders that the model kept
        for node in _visible(nodes):
            pattern = rf"(?<!\w){re.escape(node.before)}(?!\w)"
            copies = {match.span() for match in re.finditer(pattern, self.target)}
            copies -= set(self.exact.values())
            if copies:
                copy = max(copies, key=lambda copy: (self._aligned(node, copy), -copy[0]))
                self.exact[node.start, node.end] = copy
                for word in self._overlapping(copy):
                    self.sources[word] = (node.start, node.end)

    def _anchor(self) -> None:
        """Align names and numbers that occur once on each side; short words are often others."""
        sides = []
        for text in (self.source, self.target):
            words: dict[str, list[Interval]] = {}
            for match in re.finditer(r"\w+(?:[.-]\w+)*", text):
                if len(match[0]) < 4 and match[0].isalpha():
                    continue
                words.setdefault(match[0].casefold(), []).append(match.span())
            sides.append({word: spans[0] for word, spans in words.items() if len(spans) == 1})
        for word in sides[0].keys() & sides[1].keys():
            for index in self._overlapping(sides[1][word]):
                if self.target[slice(*self.targets[index])].casefold().strip(_SIGNS) == word:
                    self.sources[index] = sides[0][word]

    def _aligned(self, node: _Node, interval: Interval) -> int:
        """Count the target words in an interval that are aligned to words of a node."""
        return sum(self._covers(node, self.sources[word]) for word in self._overlapping(interval))

    def _overlapping(self, interval: Interval) -> list[int]:
        """Return the target words that overlap an interval."""
        return [
            word
            for word, (start, end) in enumerate(self.targets)
            if start < interval[1] and interval[0] < end
        ]

    def written(self, nodes: Sequence[_Node], words: Interval, within: Interval | None) -> str:
        """Return part of the target text, or all of it, with the nodes of its words in it."""
        start, end = within or (0, len(self.target))
        runs, taken = list[Interval](), set[int]()
        items: list[tuple[int, int, str]] = []
        pending: list[_Node] = []
        for node in nodes:
            exact = self.exact.get((node.start, node.end))
            run = None if node.start == node.end else self._run(node, words, taken)
            if node.visible and exact:
                continue
            if run is None:
                pending.append(node)
                continue
            runs.append(run)
            taken.update(range(*run))
            edges = exact or self._edges(node, run)
            edges = max(start, edges[0]), min(end, edges[1])
            inner = "" if node.visible else self.written(node.inner, run, edges)
            items.append((*edges, node.before + inner + node.after))
        after, latest = words[0], start
        for node in pending:
            word = self._follows(node, words)
            word = max(word, after) if node.pinned else word
            word = max([word, *(last for first, last in runs if first < word < last)])
            after = word if node.pinned else after
            position, raw = self._gap(node, word, words, start)
            if node.pinned:
                position = latest = max(position, latest)
            items.append((position, position, raw))
        parts, done = [], start
        for first, last, raw in sorted(items, key=lambda item: item[:2]):
            parts += [self.target[done : max(done, min(first, end))], raw]
            done = max(done, min(last, end))
        return "".join([*parts, self.target[done:end]])

    def _run(self, node: _Node, words: Interval, taken: Collection[int]) -> Interval | None:
        """Return the run of target words with the most words of a node; the longest of several."""
        best, score, first = (0, 0, 0), 0, words[0]
        for word in range(*words):
            if word in taken:
                score, first = 0, word + 1
                continue
            if score < 0:
                score, first = 0, word
            score += 1 if self._covers(node, self.sources[word]) else -1
            if score > 0:
                best = max(best, (score, word + 1 - first, -first))
        return (-best[2], best[1] - best[2]) if best[0] else None

    def _covers(self, node: _Node, word: Interval) -> bool:
        """Whether a node is around letters of a source word, or around part of its signs."""
        part = self.source[max(node.start, word[0]) : min(node.end, word[1])]
        return bool(_letters(part) or (part and not _letters(self.source[slice(*word)])))

    def _edges(self, node: _Node, run: Interval) -> Interval:
        """Return where a run begins and ends, without the signs around the node's words."""
        start, end = self.targets[run[0]][0], self.targets[run[1] - 1][1]
        text, inside = self.target[start:end], self.source[node.start : node.end].strip()
        if not _letters(text) or not inside:
            return start, end
        before = _signs_before(text) if inside[0].isalnum() else 0
        after = _signs_before(text[::-1]) if inside[-1].isalnum() else 0
        return start + before, end - after

    def _follows(self, node: _Node, words: Interval) -> int:
        """Return the target word that a node without aligned words precedes."""
        known = [
            (self.sources[word], word + 1)
            for word in range(*words)
            if self.sources[word][0] < node.start
        ]
        return max(known)[1] if known else words[0]

    def _gap(self, node: _Node, word: int, words: Interval, start: int) -> tuple[int, str]:
        """Return where a node goes after a word, and its markup with the spaces around it."""
        raw = _raw(node)
        before = self.source[node.start - 1 : node.start] == " "
        after = self.source[node.end : node.end + 1]
        if word == words[0]:
            spaced = before or after == " "
            return start, raw + " " * (spaced and self.target[start : start + 1] != " ")
        first, position = self.targets[word - 1]
        if not before and after and not after.isalnum() and after != " ":
            while position > first and not self.target[position - 1].isalnum():
                position -= 1
        if before and self.target[position : position + 1] == " ":
            return position, " " + raw
        return position, " " * before + raw


def _letters(text: str) -> bool:
    return any(map(str.isalnum, text))


def _signs_before(text: str) -> int:
    """Count the characters before the first letter or digit of a text that has one."""
    return next(index for index, character in enumerate(text) if character.isalnum())


def _raw(node: _Node) -> str:
    return node.before + "".join(map(_raw, node.inner)) + node.after


def _visible(nodes: Sequence[_Node]) -> Iterator[_Node]:
    for node in nodes:
        yield from [node] if node.visible else _visible(node.inner)
