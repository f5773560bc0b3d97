"""The pairs that wrapped ones are made of: which corpora, and which pairs are fit for changes."""

import random
import re
from collections.abc import Iterable
from pathlib import Path

from nmt_cli.text.lines import read_lines

Pair = tuple[str, str]

# Corpora of general text; MAX_GENERAL pairs of each are used at most.
GENERAL = (
    "news_bosque", "news_porttinari", "general_ewt", "general_gum", "everyday_pt", "everyday_en",
    "tatoeba", "tatoeba_joined", "ud_pud", "asp_stories", "tico19_dev", "sentences", "talks",
    "general",
)  # fmt: skip
TECHNICAL = ("php_docs", "python_docs", "react_docs", "mozilla_www")
# Single words and short expressions.
WORDS = ("phrases", "greetings")
PLAIN = re.compile(r"[^\W\d_][^\W\d_ ’'-]*(?: [^\W\d_’'-]+){0,3}[^\W\d_]")
MAX_GENERAL, MAX_TECHNICAL = 25_000, 5_000
MAX_CHARACTERS, MAX_RATIO = 240, 1.8
# A text that ends so is a whole sentence, or at least one that another may follow.
END = re.compile(r"[.!?]$")
# Signs that the changes add, code, markup, and text that is not of a sentence.
SIGNS = re.compile(r"[()\[\]{}<>\"“”„«»‘*_`|\\=#@~^/]|--|[–—]|(?<!\w)'|'(?!\w)|\.\.|https?:|  ")


def fit(pair: Pair) -> bool:
    """Whether both sides are one sentence without signs, of similar length, that end alike."""
    portuguese, english = pair
    return (
        portuguese[-1:] == english[-1:]
        and END.search(portuguese) is not None
        and not SIGNS.search(portuguese)
        and not SIGNS.search(english)
        and similar(pair)
        and portuguese[0].isupper() == english[0].isupper()
        and not any(re.search(r"[.!?] ", side) for side in pair)
        and not any(side.isupper() for side in pair)
    )


def plain(pair: Pair) -> bool:
    """Whether both sides are one to four words, without punctuation."""
    return all(map(PLAIN.fullmatch, pair)) and similar(pair)


def similar(pair: Pair) -> bool:
    """Whether both sides are of similar, not too great length, and not the same."""
    lengths = sorted(len(side) for side in pair)
    return (
        1 < lengths[1] <= MAX_CHARACTERS
        and lengths[1] <= MAX_RATIO * lengths[0] + 6
        and pair[0] != pair[1]
    )


def read(folder: Path, names: Iterable[str], limit: int, seed: int) -> list[list[Pair]]:
    """The pairs of each corpus that exists in the folder: runs of at most `limit`, in order."""
    chance = random.Random(seed)
    corpora = []
    for name in names:
        paths = [folder / f"{name}.{language}" for language in ("pt", "en")]
        if all(path.exists() for path in paths):
            pairs = list(zip(*map(read_lines, paths), strict=True))
            start = chance.randrange(max(1, len(pairs) - limit))
            corpora.append(pairs[start : start + limit])
    return corpora
