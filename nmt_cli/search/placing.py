"""Put markup around the translations of the words that it was around, by word alignments.

The model translates text without markup. Of an element, the translation is the run of target words
with the largest weight on its words, less what they attend to elsewhere; it stays inside its
parent's. An element with letters always gets a word. What encloses nothing follows the translation
of the source word before it. Placeholders, which the model sees, stay where it put them.

Similar: HTML.cpp of Bergamot (https://github.com/browsermt/bergamot-translator).
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from nmt_cli.text.edits import MappedText, Span
from nmt_cli.text.reading import Pair

_SIGNS = ".,;:!?()[]\"'«»“”‘’…"
# A target word belongs to an element if it has more than this share of the word's attention.
_HALF = 0.5
# The first and last word of an element have at least this share of the largest attention in it.
_STRONG = 0.75
# Names and numbers that occur once on each side are aligned; short words are often others.
_MIN_NAME = 4

Link = tuple[Span, Span, float]
"""A source word, a target word, and the attention of the target word to it, from 0 to 1."""


@dataclass
class Node:
    """Markup around ``[start:end]`` of the text that the model reads.

    Attributes:
        before, after: what encloses the text.
        visible: whether it is a placeholder, which the model reads.
        pinned: whether it is half of a pair, which keeps its order among such halves.
        joined: whether no space separates it, if it encloses nothing, from the text after it.
        inner: the markup inside.
    """

    start: int
    end: int
    before: str
    after: str = ""
    visible: bool = False
    pinned: bool = False
    joined: bool = False
    inner: "list[Node]" = field(default_factory=list)

    @property
    def raw(self) -> str:
        """All its markup."""
        return self.before + "".join(node.raw for node in self.inner) + self.after


class Placing:
    """The words of a translation, where nodes can be placed."""

    def __init__(
        self, source: str, target: str, links: Sequence[Link], nodes: Sequence[Node]
    ) -> None:
        self.source, self.target = source, target
        self.targets = sorted({link[1] for link in links})
        self._all_words, self._whole = (0, len(self.targets)), (0, len(target))
        self._starts = [start for start, _ in self.targets]
        numbers = {span: number for number, span in enumerate(self.targets)}
        self._weights: list[dict[Span, float]] = [{} for _ in self.targets]
        for word, target_word, weight in links:
            self._weights[numbers[target_word]][word] = weight
        self._align_names()
        # The copies of placeholders that the model kept.
        self.copies: dict[Span, Span] = {}
        self._find_copies(nodes)
        self._words = sorted({word for weights in self._weights for word in weights})
        self._linked: dict[Span, list[tuple[int, float]]] = defaultdict(list)
        for number, weights in enumerate(self._weights):
            for word, weight in weights.items():
                self._linked[word].append((number, weight))

    def _align_names(self) -> None:
        sides = []
        for text in (self.source, self.target):
            words: dict[str, list[Span]] = defaultdict(list)
            for match in re.finditer(r"\w+(?:[.-]\w+)*", text):
                if len(match[0]) >= _MIN_NAME or not match[0].isalpha():
                    words[match[0].casefold()].append(match.span())
            sides.append({word: spans[0] for word, spans in words.items() if len(spans) == 1})
        for word in sides[0].keys() & sides[1].keys():
            for number in self._overlapping(sides[1][word]):
                if self.target[slice(*self.targets[number])].casefold().strip(_SIGNS) == word:
                    self._weights[number] = {sides[0][word]: 1.0}

    def _find_copies(self, nodes: Sequence[Node]) -> None:
        """Find the copies of placeholders: those of the same one keep their order."""
        ends: dict[str, int] = {}
        for node in visible_nodes(nodes):
            start = self.target.find(node.before, ends.get(node.before, 0))
            if start >= 0:
                ends[node.before] = start + len(node.before)
                self.copies[node.start, node.end] = start, ends[node.before]
                for number in self._overlapping((start, ends[node.before])):
                    self._weights[number] = {(node.start, node.end): 1.0}

    def _overlapping(self, span: Span) -> range:
        """Return the numbers of the target words that overlap a part of the translation."""
        first = max(0, bisect_right(self._starts, span[0]) - 1)
        first += first < len(self.targets) and self.targets[first][1] <= span[0]
        return range(first, bisect_left(self._starts, span[1]))

    def written(
        self, nodes: Sequence[Node], words: Span | None = None, within: Span | None = None
    ) -> str:
        """Return the translation with the nodes in it, or part of it: its words, and its edges.

        Raises:
            TooFewWordsError: there are fewer words than elements with letters.
        """
        words, (start, end) = words or self._all_words, within or self._whole
        items: list[tuple[int, int, str]] = []
        pending = {id(node): node for node in nodes if not self._is_copied(node)}
        run_ends: dict[int, int] = {}  # of the words in a run, but for its first
        for node, run, edges in self._around(pending.values(), words, (start, end)):
            del pending[id(node)]
            run_ends |= dict.fromkeys(range(run[0] + 1, run[1]), run[1])
            inner = "" if node.visible else self.written(node.inner, run, edges)
            items.append((*edges, node.before + inner + node.after))
        after, latest = words[0], start
        for node in pending.values():
            word = self._after(node, words)
            word = max(word, after) if node.pinned else word
            word = run_ends.get(word, word)
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

    def enclosing(
        self, nodes: Sequence[Node], words: Span | None = None, within: Span | None = None
    ) -> Iterator[tuple[Node, Span]]:
        """Yield the nodes that enclose something, outer ones first, and their edges."""
        around = self._around(nodes, words or self._all_words, within or self._whole)
        for node, run, edges in around:
            yield node, edges
            yield from self.enclosing(node.inner, run, edges)

    def _is_copied(self, node: Node) -> bool:
        return node.visible and (node.start, node.end) in self.copies

    def _after(self, node: Node, words: Span) -> int:
        """Return the target word after the translation of the source word before a node.

        Conjunctions and articles after a word often attend to it too, but less.
        """
        linked: list[tuple[int, float]] = []
        index, start = bisect_left(self._words, (node.start,)) - 1, 0
        # A name is a word, and it with its signs is another one.
        while index >= 0 and not (linked and self._words[index][0] < start):
            start = self._words[index][0]
            links = self._linked[self._words[index]]
            linked += [link for link in links if words[0] <= link[0] < words[1]]
            index -= 1
        return max(linked, key=lambda link: link[1])[0] + 1 if linked else words[0]

    def _around(
        self, nodes: Iterable[Node], words: Span, within: Span
    ) -> list[tuple[Node, Span, Span]]:
        """Find the target words of each node that encloses something, and its edges."""
        placed = []
        around = [node for node in nodes if node.start < node.end]
        shares = {id(node): self._shares(node, words) for node in around}
        # Those first that are the most certain.
        around.sort(key=lambda node: -max(shares[id(node)].values(), default=0))
        taken = bytearray(len(self.targets))
        is_eager = [_has_letters(self.source[node.start : node.end]) for node in around]
        waiting, free = sum(is_eager), self._count(words)
        if free < waiting:
            raise TooFewWordsError
        for node, eager in zip(around, is_eager, strict=True):
            run = self._best_run(shares[id(node)], taken)
            waiting -= eager
            if eager and (run is None or not self._count(run)):
                run = self._nearest(node, shares[id(node)], words, taken)
            if run is None:
                continue
            while free - self._count(run) < waiting and run[1] - run[0] > 1:
                run = run[0], run[1] - 1
            free -= self._count(run)
            taken[slice(*run)] = b"\1" * (run[1] - run[0])
            start, end = self._edges(node, run)
            placed.append((node, run, (max(within[0], start), min(within[1], end))))
        return placed

    def _count(self, words: Span) -> int:
        """Return the number of target words with letters."""
        return sum(self._is_word(word) for word in range(*words))

    def _is_word(self, word: int) -> bool:
        return _has_letters(self.target[slice(*self.targets[word])])

    def _shares(self, node: Node, words: Span) -> dict[int, float]:
        """Return how much of the attention of target words is on a node."""
        shares: dict[int, float] = defaultdict(float)
        first = max(0, bisect_right(self._words, (node.start, node.start)) - 1)
        for source in self._words[first : bisect_left(self._words, (node.end,))]:
            if self._covers(node, source):
                for word, weight in self._linked[source]:
                    if words[0] <= word < words[1]:
                        shares[word] += weight
        return shares

    def _best_run(self, shares: dict[int, float], taken: bytearray) -> Span | None:
        """Return the run of free words with the most attention, less what is elsewhere."""
        best, score, first, last = (0.0, 0, 0), 0.0, 0, -1
        for word in sorted(shares):
            if taken[word]:
                continue
            score -= _HALF * (word - last - 1)
            if score <= 0 or taken.find(1, last + 1, word) >= 0:
                score, first = 0.0, word
            score += shares[word] - _HALF
            last = word
            if score > best[0]:
                best = score, first, word + 1
        if best[0] <= 0:
            return None
        # Articles and prepositions often attend to the noun that follows.
        _, first, last = best
        weak = _STRONG * max(shares[word] for word in range(first, last) if word in shares)
        while first + 1 < last and shares.get(first, 0.0) < weak:
            first += 1
        while first + 1 < last and shares.get(last - 1, 0.0) < weak:
            last -= 1
        return first, last

    def _nearest(
        self, node: Node, shares: dict[int, float], words: Span, taken: bytearray
    ) -> Span | None:
        """Return a free word with letters: the one with the most attention, or the nearest."""
        free = [word for word in range(*words) if not taken[word] and self._is_word(word)]
        ideal = node.start / max(1, len(self.source)) * len(self.targets)
        word = max(free, key=lambda word: (shares.get(word, 0.0), -abs(word - ideal)), default=None)
        return None if word is None else (word, word + 1)

    def _covers(self, node: Node, word: Span) -> bool:
        """Return whether a node is around letters of a source word, or part of its signs."""
        part = self.source[max(node.start, word[0]) : min(node.end, word[1])]
        return bool(
            _is_alphanumeric(part) or (part and not _is_alphanumeric(self.source[slice(*word)]))
        )

    def _edges(self, node: Node, run: Span) -> Span:
        """Return where a run begins and ends, without the signs around the node's words."""
        start, end = self.targets[run[0]][0], self.targets[run[1] - 1][1]
        text, inside = self.target[start:end], self.source[node.start : node.end].strip()
        if not _is_alphanumeric(text) or not inside:
            return start, end
        before = _signs_before(text) if inside[0].isalnum() else 0
        after = _signs_before(text[::-1]) if inside[-1].isalnum() else 0
        return start + before, end - after

    def _gap(self, node: Node, word: int, words: Span, start: int) -> tuple[int, str]:
        """Return where a node goes after a word, and its markup with the spaces around it."""
        raw = node.raw
        before = self.source[node.start - 1 : node.start] == " "
        after = self.source[node.end : node.end + 1]
        if word == words[0]:
            spaced = (before or after == " ") and not node.joined
            return start, raw + " " * (spaced and self.target[start : start + 1] != " ")
        first, position = self.targets[word - 1]
        if not before and after and not after.isalnum() and after != " ":
            while position > first and not self.target[position - 1].isalnum():
                position -= 1
        if before and self.target[position : position + 1] == " ":
            return (position + 1, raw) if node.joined else (position, " " + raw)
        return position, " " * before + raw


def enclosed(
    text: MappedText, source: str, links: Sequence[Link], pairs: Sequence[Pair]
) -> MappedText:
    """Put pairs around the translations of what they enclose in the source."""
    nodes: list[Node] = []
    for pair in sorted(pairs, key=lambda pair: (pair.start, -pair.end)):
        level = nodes
        while level and pair.end <= level[-1].end:
            level = level[-1].inner
        level.append(Node(pair.start, pair.end, pair.before, pair.after))
    try:
        placed = list(Placing(source, text.text, links, nodes).enclosing(nodes))
    except TooFewWordsError:
        return text
    # In one place, inner signs close before outer ones, and before others open.
    edits = [(end, end, node.after) for node, (_, end) in reversed(placed)]
    edits += [(start, start, node.before) for node, (start, _) in placed]
    capitals = {i for node, edges in placed if not node.before for i in range(*edges)}
    edits += [(i, i + 1, text.text[i].upper()) for i in capitals]
    return text.replaced(sorted(edits, key=lambda edit: edit[:2]))


class TooFewWordsError(Exception):
    """A translation has fewer words than elements that must have one."""


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def _is_alphanumeric(text: str) -> bool:
    return any(map(str.isalnum, text))


def _signs_before(text: str) -> int:
    """Count the characters before the first letter or digit of a text that has one."""
    return next(index for index, character in enumerate(text) if character.isalnum())


def visible_nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield the placeholders among nodes, and inside of them, in order."""
    for node in nodes:
        yield from [node] if node.visible else visible_nodes(node.inner)
