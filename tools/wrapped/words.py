"""Words and clauses of which it is certain that they correspond."""

import re
from collections import Counter
from collections.abc import Iterable

from tools.wrapped.sources import Pair

WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
# So many pairs must have both words, which must be in most of the pairs that have one of them.
MIN_PAIRS, MIN_DICE = 4, 0.45
# Too frequent to count. Between words that correspond, links may be on one side only.
_FREQUENT = """
a o e é de do da dos das em no na nos nas um uma os as que se não por para com ao à
the an of to in and is are was it i you he she that not on for with at
"""
FREQUENT = set(_FREQUENT.split())
LINKS = {"de", "do", "da", "dos", "das", "e", "of", "the", "and"}
MAX_SPAN = 4
CLAUSE = re.compile(r"[,;:] ")
Span = tuple[int, int]


def certain(pairs: Iterable[Pair]) -> dict[str, str]:
    """Portuguese words with the English word that is in the same pairs; in lower case."""
    together: Counter[tuple[str, str]] = Counter()
    single: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for pair in pairs:
        sides = [{word.lower() for word in WORD.findall(side)} - FREQUENT for side in pair]
        for found, counts in zip(sides, single, strict=True):
            counts.update(found)
        together.update((first, second) for first in sides[0] for second in sides[1])
    best: list[dict[str, tuple[float, str]]] = [{}, {}]
    for words, count in together.items():
        if count >= MIN_PAIRS:
            dice = 2 * count / (single[0][words[0]] + single[1][words[1]])
            for side in (0, 1):
                candidate = (dice, words[1 - side])
                best[side][words[side]] = max(best[side].get(words[side], (0.0, "")), candidate)
    return {
        first: second
        for first, (dice, second) in best[0].items()
        if dice >= MIN_DICE and best[1][second][1] == first
    }


def anchors(pair: Pair, lexicon: dict[str, str]) -> list[tuple[Span, Span]]:
    """Where the words are, on both sides, that correspond, and are once in each."""
    places: list[dict[str, list[Span]]] = [{}, {}]
    for side, text in enumerate(pair):
        for match in WORD.finditer(text):
            places[side].setdefault(match[0].lower(), []).append(match.span())
    return [
        (spans[0], places[1][lexicon[word]][0])
        for word, spans in places[0].items()
        if len(spans) == 1 and word in lexicon and len(places[1].get(lexicon[word], ())) == 1
    ]


def parts(pair: Pair, lexicon: dict[str, str]) -> list[tuple[Span, Span]]:
    """Where the runs of one to four words are that correspond as a whole."""
    found = sorted(anchors(pair, lexicon))
    runs = []
    for first in range(len(found)):
        for last in range(first, min(first + MAX_SPAN, len(found))):
            inside = found[first : last + 1]
            source = inside[0][0][0], inside[-1][0][1]
            target = min(span[0] for _, span in inside), max(span[1] for _, span in inside)
            words = zip(*inside, strict=True)
            if all(map(_filled, pair, (source, target), words)):
                runs.append((source, target))
    return runs


def _filled(text: str, span: Span, words: Iterable[Span]) -> bool:
    """Whether there are only these words and links in a part of a text."""
    known = set(words)
    matches = WORD.finditer(text, *span)
    others = [match[0].lower() for match in matches if match.span() not in known]
    inside = WORD.sub("", text[slice(*span)])
    return all(word in LINKS for word in others) and not inside.strip()


def clauses(pair: Pair, lexicon: dict[str, str]) -> tuple[int, int] | None:
    """Where the second clause begins on both sides, if both have two, with words that show it."""
    marks = [list(CLAUSE.finditer(side)) for side in pair]
    if len(marks[0]) != 1 or len(marks[1]) != 1 or marks[0][0][0] != marks[1][0][0]:
        return None
    source, target = (found[0].start() for found in marks)
    sides = [(a[0] > source, b[0] > target) for a, b in anchors(pair, lexicon)]
    together = all(first == second for first, second in sides)
    return (source, target) if together and {(True, True), (False, False)} <= set(sides) else None
