"""Put markup around the translations of the words that it was around, by word alignments.

The model translates text without tags. Of an element, the translation is the run of target words
with the most words aligned to it (each other word counts against the run); it stays inside its
parent's. An element without one, and a tag that encloses nothing, follow the translation of the
source word before them. Placeholders, which the model sees, stay where it put them.

Similar: HTML.cpp of Bergamot (https://github.com/browsermt/bergamot-translator).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nmt_cli.formats.spans import Kind, Place, Span

_SIGNS = ".,;:!?()[]\"'«»“”‘’…"
_HIDDEN = (Kind.OPEN, Kind.CLOSE, Kind.MARK)


@dataclass(frozen=True)
class Aligned:
    """A translation of one line, and pairs of places of a source word and a target word in it.

    Each target word has one pair at most; pairs are in target order.
    """

    text: str
    pairs: Sequence[tuple[Place, Place]] = ()


@dataclass(frozen=True)
class Aligning:
    """Translates as a Translate does, and aligns words."""

    translate: Callable[[Sequence[str]], Sequence[Aligned]]


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


def shown(text: str, spans: Sequence[Span]) -> str:
    """Return the text as the model sees it, without tags and the spaces that they separated."""
    return _parsed(text, spans)[0]


def _parsed(text: str, spans: Sequence[Span]) -> tuple[str, list[_Node]]:
    """The shown text, and the markup at its places."""
    plain, at, nodes = "", 0, list[_Node]()
    levels: list[list[_Node]] = [nodes]
    for span in [*spans, Span(len(text), len(text), Kind.MARK)]:
        between, raw = text[at : span.start], text[span.start : span.end]
        plain += between[1:] if plain.endswith(" ") and between.startswith(" ") else between
        at = span.end
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
    """Return the translation of ``shown(text, spans)`` with the markup of the text."""
    source, nodes = _parsed(text, spans)
    return _Placing(source, answer, nodes).written(nodes, (0, len(answer.pairs)), None)


class _Placing:
    """The places of one translation's words."""

    def __init__(self, source: str, answer: Aligned, nodes: Sequence[_Node]) -> None:
        self.source, self.target = source, answer.text
        self.sources: list[Place] = [pair[0] for pair in answer.pairs]
        self.targets: list[Place] = [pair[1] for pair in answer.pairs]
        self._anchor()
        self.exact: dict[Place, Place] = {}  # of placeholders that the model kept
        for node in _visible(nodes):
            pattern = rf"(?<!\w){re.escape(node.before)}(?!\w)"
            places = {each.span() for each in re.finditer(pattern, self.target)}
            places -= set(self.exact.values())
            if not places:
                continue

            def aligned(place: Place, node: _Node = node) -> tuple[int, int]:
                words = self._touched(place)
                return sum(self._covers(node, self.sources[word]) for word in words), -place[0]

            place = max(places, key=aligned)
            self.exact[node.start, node.end] = place
            for word in self._touched(place):
                self.sources[word] = (node.start, node.end)

    def _anchor(self) -> None:
        """Align names and numbers that occur once on each side; short words are often others."""
        sides = []
        for text in (self.source, self.target):
            words: dict[str, list[Place]] = {}
            for match in re.finditer(r"\w+(?:[.-]\w+)*", text):
                if len(match[0]) < 4 and match[0].isalpha():
                    continue
                words.setdefault(match[0].casefold(), []).append(match.span())
            sides.append({word: found[0] for word, found in words.items() if len(found) == 1})
        for word in sides[0].keys() & sides[1].keys():
            for at in self._touched(sides[1][word]):
                if self.target[slice(*self.targets[at])].casefold().strip(_SIGNS) == word:
                    self.sources[at] = sides[0][word]

    def _touched(self, place: Place) -> list[int]:
        """The target words that overlap a place."""
        return [
            word
            for word, (start, end) in enumerate(self.targets)
            if start < place[1] and place[0] < end
        ]

    def written(self, nodes: Sequence[_Node], words: Place, place: Place | None) -> str:
        """Write the target words ``[words[0]:words[1]]`` at ``place`` with the nodes in them."""
        start, end = place or (0, len(self.target))
        taken: list[Place] = []
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
            taken.append(run)
            edges = exact or self._edges(node, run)
            edges = max(start, edges[0]), min(end, edges[1])
            inner = "" if node.visible else self.written(node.inner, run, edges)
            items.append((*edges, node.before + inner + node.after))
        after, latest = words[0], start
        for node in pending:
            word = self._follows(node, words)
            word = max(word, after) if node.pinned else word
            word = max([word, *(last for first, last in taken if first < word < last)])
            after = word if node.pinned else after
            at, raw = self._gap(node, word, words, start)
            if node.pinned:
                at = latest = max(at, latest)
            items.append((at, at, raw))
        parts, at = [], start
        for first, last, raw in sorted(items, key=lambda item: item[:2]):
            parts += [self.target[at : max(at, min(first, end))], raw]
            at = max(at, min(last, end))
        return "".join([*parts, self.target[at:end]])

    def _run(self, node: _Node, words: Place, taken: Sequence[Place]) -> Place | None:
        """The run of target words with the most words of a node; the longest of several."""
        best, score, first = (0, 0, 0), 0, words[0]
        for word in range(*words):
            if any(start <= word < end for start, end in taken):
                score, first = 0, word + 1
                continue
            if score < 0:
                score, first = 0, word
            score += 1 if self._covers(node, self.sources[word]) else -1
            if score > 0:
                best = max(best, (score, word + 1 - first, -first))
        return (-best[2], best[1] - best[2]) if best[0] else None

    def _covers(self, node: _Node, word: Place) -> bool:
        """Whether a node is around letters of a source word, or around part of its signs."""
        part = self.source[max(node.start, word[0]) : min(node.end, word[1])]
        return bool(_letters(part) or (part and not _letters(self.source[slice(*word)])))

    def _edges(self, node: _Node, run: Place) -> Place:
        """Where a run begins and ends, without signs that are not the node's in the source."""
        start, end = self.targets[run[0]][0], self.targets[run[1] - 1][1]
        text, inside = self.target[start:end], self.source[node.start : node.end].strip()
        if not _letters(text) or not inside:
            return start, end
        first = 0 if not inside[0].isalnum() else next(
            at for at, each in enumerate(text) if each.isalnum()
        )  # fmt: skip
        back = 0 if not inside[-1].isalnum() else next(
            at for at, each in enumerate(reversed(text)) if each.isalnum()
        )  # fmt: skip
        return start + first, end - back

    def _follows(self, node: _Node, words: Place) -> int:
        """The target word before which a node is that no word is aligned to."""
        known = [
            (self.sources[word], word + 1)
            for word in range(*words)
            if self.sources[word][0] < node.start
        ]
        return max(known)[1] if known else words[0]

    def _gap(self, node: _Node, word: int, words: Place, start: int) -> tuple[int, str]:
        """Where a node goes after a word, and its markup with the spaces around it."""
        raw = node.before + "".join(_raw(each) for each in node.inner) + node.after
        before = self.source[node.start - 1 : node.start] == " "
        after = self.source[node.end : node.end + 1]
        if word == words[0]:
            spaced = before or after == " "
            return start, raw + " " * (spaced and self.target[start : start + 1] != " ")
        at = self.targets[word - 1][1]
        if not before and after and not after.isalnum() and after != " ":
            while at > self.targets[word - 1][0] and not self.target[at - 1].isalnum():
                at -= 1
        if before and self.target[at : at + 1] == " ":
            return at, " " + raw
        return at, " " * before + raw


def _letters(text: str) -> bool:
    return any(map(str.isalnum, text))


def _raw(node: _Node) -> str:
    return node.before + "".join(map(_raw, node.inner)) + node.after


def _visible(nodes: Sequence[_Node]) -> list[_Node]:
    found = []
    for node in nodes:
        found += [node] if node.visible else _visible(node.inner)
    return found
