"""Pairs with other names in them, so that a model learns to copy: python -m tools.renamed FOLDER.

A model that has seen `unittest` a thousand times and `zlib` twice writes the first for the second.
Here, the words, identifiers, placeholders and numbers that both sides of a pair share are replaced
by others, the same on both sides; in everyday text, numbers only. FOLDER holds the corpora of
recipes/pt-en.toml and what tools.phrases writes; the result is FOLDER/renamed.pt and
FOLDER/renamed.en.
"""

import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.recipe.reading import load_recipe
from nmt_cli.text.lines import read_lines, write_lines

Pair = tuple[str, str]

EVERYDAY = ("tatoeba", "asp_stories", "tico19_dev", "ud_pud")
WRITTEN = ("sentences", "talks")
# Corpora of general text and words, and what is made of others.
OTHERS = re.compile(
    "greetings|phrases|sentences|talks|general|daily|news|everyday|tatoeba|lexicon"
    "|distilled|wrapped|renamed"
)
COUNT = 100_000
# Everyday pairs with numbers are rare: each is used so many times.
TIMES = 3
RECIPE = Path(__file__).parents[1] / "recipes" / "pt-en.toml"
# Of the words that are replaced, this share gets the start of one word and the end of another.
BLENDED = 0.3
# A word of prose or code without its punctuation; a placeholder; a part of an identifier.
TOKEN = re.compile(
    r"%(?:\d\$)?[sdfiux](?![a-z])|\$\{?\w+\}?|\{\w*\}|\w+(?:(?:[._:/\\-]|::|->)\w+)*"
)
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
CODE = re.compile(r"[%$\d_{]|\w[.:/\\]|[a-z][A-Z]|[A-Z]{2}")
NUMBER = re.compile(r"\d{2,}(?:[.:]\d+)*")
PLACEHOLDERS = ("%s", "%d", "%1$s", "%2$s", "%1$d", "%f", "%i", "%u", "%x", "{}", "{0}", "{1}")
WORD = re.compile(r"[^\W\d_]+")


def shared(pair: Pair, prose: set[str]) -> list[str]:
    """What occurs in both sides equally often (in order): code, and words that are not in prose.

    A word at the start of a side stays: most are capitalized words of the language, and the model
    would learn to copy those.
    """
    counts = [Counter(TOKEN.findall(side)) for side in pair]
    return [
        token
        for token, count in counts[0].items()
        if counts[1][token] == count
        and token.isascii()
        and (CODE.search(token) or _is_name(token, pair, prose))
    ]


def _is_name(token: str, pair: Pair, prose: set[str]) -> bool:
    starts = any(side.startswith(token) for side in pair)
    return len(token) > 2 and token.lower() not in prose and not starts


def renamed(pair: Pair, tokens: Iterable[str], words: list[str], chance: random.Random) -> Pair:
    """The pair with other tokens; the same word becomes the same word, also in other tokens."""
    names: dict[str, str] = {}

    def other(part: re.Match[str]) -> str:
        old = part[0]
        if old.lower() not in names:
            names[old.lower()] = _number(old, chance) if old.isdigit() else _word(words, chance)
        new = names[old.lower()]
        if len(old) > 1 and old.isupper():
            return new.upper()
        return new.capitalize() if old[0].isupper() else new

    new = {
        token: chance.choice(PLACEHOLDERS)
        if token.startswith("%") or token in PLACEHOLDERS
        else PART.sub(other, token)
        for token in tokens
    }
    source, target = (TOKEN.sub(lambda match: new.get(match[0], match[0]), side) for side in pair)
    return source, target


def _word(words: list[str], chance: random.Random) -> str:
    word = chance.choice(words)
    if chance.random() < BLENDED:
        other = chance.choice(words)
        word = word[: (len(word) + 1) // 2] + other[len(other) // 2 :]
    return word


def _number(old: str, chance: random.Random) -> str:
    """A number of as many digits; single digits often decide the grammar, so they stay."""
    if len(old) == 1:
        return old
    return str(chance.randrange(10 ** (len(old) - 1), 10 ** len(old)))


def pairs(folder: Path, names: Iterable[str]) -> Iterator[Pair]:
    """The pairs of corpora."""
    for name in names:
        source, target = (read_lines(folder / f"{name}.{side}") for side in ("pt", "en"))
        yield from zip(source, target, strict=True)


def rename(folder: Path, corpora: Iterable[str], count: int = COUNT, seed: int = 1) -> list[Pair]:
    """Renamed pairs, in random order: at most `count` of the corpora, and everyday ones."""
    chance = random.Random(seed)
    everyday = list(pairs(folder, EVERYDAY))
    prose = {word.lower() for side in chain.from_iterable(everyday) for word in WORD.findall(side)}
    technical = [name for name in corpora if name not in EVERYDAY and not OTHERS.match(name)]
    candidates = [(pair, shared(pair, prose)) for pair in pairs(folder, technical)]
    candidates = [(pair, tokens) for pair, tokens in candidates if tokens]
    names = chain.from_iterable(tokens for _, tokens in candidates)
    parts = {part.lower() for name in names for part in PART.findall(name)}
    words = sorted(part for part in parts if len(part) > 2 and part.isalpha())
    chosen = chance.sample(candidates, min(count, len(candidates)))
    for pair in chain(everyday, pairs(folder, WRITTEN)):
        if numbers := [token for token in shared(pair, prose) if NUMBER.fullmatch(token)]:
            chosen += [(pair, numbers)] * TIMES
    chance.shuffle(chosen)
    return [renamed(pair, tokens, words, chance) for pair, tokens in chosen]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tools.renamed FOLDER")
    root = Path(sys.argv[1])
    try:
        made = rename(root, [Path(prefix).name for prefix in load_recipe(RECIPE).data.train])
        for place, language in enumerate(("pt", "en")):
            write_lines(root / f"renamed.{language}", [pair[place] for pair in made])
    except NmtError as error:
        sys.exit(f"error: {error}")
