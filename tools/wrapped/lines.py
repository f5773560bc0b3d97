"""Several sentences in a line, capitals in part of a line, and speech."""

import random
import re
from collections.abc import Sequence

from tools.wrapped.signs import shared
from tools.wrapped.sources import Pair
from tools.wrapped.words import clauses, parts

SEPARATORS = (" - ", " – ", " — ", " | ", ": ", " · ", " / ", " • ", "; ", " > ")
# Words in capitals that read as before: no units, hours or apostrophes.
SHORT = 60
SPEAKERS = (("ele", "he"), ("ela", "she"), ("o homem", "the man"), ("a mulher", "the woman"),
            ("o pai", "the father"), ("a mãe", "the mother"), ("o menino", "the boy"),
            ("a menina", "the girl"), ("o professor", "the teacher"), ("Maria", "Maria"),
            ("Tom", "Tom"), ("João", "João"), ("Ana", "Ana"), ("Pedro", "Pedro"),
            ("o velho", "the old man"), ("o médico", "the doctor"))  # fmt: skip
VERBS = {
    ".": (("disse", "said"), ("respondeu", "replied"), ("explicou", "explained"),
          ("murmurou", "murmured"), ("acrescentou", "added")),
    "?": (("perguntou", "asked"), ("quis saber", "wanted to know")),
    "!": (("gritou", "shouted"), ("exclamou", "exclaimed")),
}  # fmt: skip
QUOTES = ('""', "“”")


def joined(pairs: Sequence[Pair], chance: random.Random) -> Pair:
    """Sentences in one line, with a space or a separator between them."""
    if chance.random() < 0.72:
        source, target = (" ".join(pair[side] for pair in pairs) for side in (0, 1))
        return source, target
    separator = chance.choice(SEPARATORS)
    bare = (separator != " / " and chance.random() < 0.6) or separator in (": ", "; ")
    source, target = (
        separator.join(
            pair[side][:-1]
            if bare and pair[side][-1] == "." and place < len(pairs) - 1
            else pair[side]
            for place, pair in enumerate(pairs)
        )
        for side in (0, 1)
    )
    return source, target


def raised(pair: Pair) -> Pair:
    """Both sides in capitals."""
    return pair[0].upper(), pair[1].upper()


def capitals(pairs: Sequence[Pair], lexicon: dict[str, str], chance: random.Random) -> Pair | None:
    """A line with capitals in one part, or a short line in capitals."""
    form, first = chance.random(), pairs[0]
    if any(re.search(r"\d", side) for pair in pairs for side in pair):
        return None
    if form < 0.35:
        place = chance.randrange(len(pairs))
        mixed = [raised(pair) if index == place else pair for index, pair in enumerate(pairs)]
        source, target = (" ".join(pair[side] for pair in mixed) for side in (0, 1))
        return source, target
    if form < 0.45:
        starts = clauses(first, lexicon)
        if starts is None:
            return None
        source, target = (
            text[:start].upper() + text[start:] for text, start in zip(first, starts, strict=True)
        )
        return source, target
    if form < 0.6:
        if len(pairs) < 2 or len(first[0]) > SHORT:
            return None
        mark = chance.choice((": ", ": ", " - ", " – ", "! "))
        heading = raised((first[0][:-1], first[1][:-1]))
        return heading[0] + mark + pairs[1][0], heading[1] + mark + pairs[1][1]
    if form < 0.85:
        spans = [
            span
            for span in parts(first, lexicon) + shared(first)
            if span[0][0] > 0
            and span[0][1] - span[0][0] > 2
            and not first[0][slice(*span[0])].isupper()
        ]
        if not spans:
            return None
        span = chance.choice(spans)
        source, target = (
            text[:start] + text[start:end].upper() + text[end:]
            for text, (start, end) in zip(first, span, strict=True)
        )
        return source, target
    return raised(first) if len(first[0]) <= SHORT else None


def speech(pairs: Sequence[Pair], chance: random.Random) -> Pair:
    """A sentence that somebody says, and sometimes another one after it."""
    first = pairs[0]
    end = first[0][-1]
    verb, speaker = chance.choice(VERBS[end]), chance.choice(SPEAKERS)
    inverted = (
        chance.random() < 0.4 and speaker[1] not in ("he", "she") and verb[1] != "wanted to know"
    )
    who = (
        f"{verb[0]} {speaker[0]}",
        f"{verb[1]} {speaker[1]}" if inverted else f"{speaker[1]} {verb[1]}",
    )
    second = pairs[1] if len(pairs) > 1 and chance.random() < 0.5 else None
    if chance.random() < 0.5:
        source = f"— {first[0].removesuffix('.')} — {who[0]}."
        target = _quoted(first[1], who[1], "“”")
        if second:
            source, target = f"{source} — {second[0]}", f"{target} “{second[1]}”"
        return source, target
    quotes = chance.choice(QUOTES)
    source = f"{quotes[0]}{first[0].removesuffix('.')}{quotes[1]}, {who[0]}."
    target = _quoted(first[1], who[1], quotes)
    if second:
        rest = [f" {quotes[0]}{side}{quotes[1]}" for side in second]
        source, target = source + rest[0], target + rest[1]
    return source, target


def _quoted(text: str, who: str, quotes: str) -> str:
    """What English says: a comma inside the quotation marks instead of a full stop."""
    if text.endswith("."):
        text = text[:-1] + ","
    return f"{quotes[0]}{text}{quotes[1]} {who}."
