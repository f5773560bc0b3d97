"""Pairs with what documents have and clean sentences lack: brackets, quotes, numbers, capitals.

A model that has only seen clean sentences loses words in brackets and quotation marks, the second
of two sentences in a line, and digits. Here, pairs of other corpora get the same change on both
sides, where it is certain which parts correspond (see words.py); and numbers of every form get
into sentences, in the conventions of both languages.
"""

import random
from itertools import chain
from pathlib import Path

from nmt_cli.errors import NmtError
from tools.wrapped import lines, signs, sources
from tools.wrapped.frames import frames, labelled, numbered
from tools.wrapped.renumbered import TOKEN, renumbered
from tools.wrapped.sources import Pair
from tools.wrapped.words import certain

COUNT = 120_000
SHARES = {
    "whole": 0.06, "inside": 0.11, "clause": 0.04, "after": 0.05, "listed": 0.05, "words": 0.03,
    "joined": 0.16, "capitals": 0.07, "speech": 0.03,
    "renumbered": 0.13, "numbered": 0.22, "labelled": 0.05,
}  # fmt: skip
# Short enough for several in one line.
MAX_JOINED = 330
# A corpus with fewer fit pairs is not used.
MIN_RUN = 12
# A list is made of the short ones among LISTED pairs.
LISTED, MAX_LISTED = 12, 60


class Maker:
    """Makes wrapped pairs of the corpora of a folder.

    Raises:
        NmtError: the folder has no corpora from which pairs of each kind can be made.
    """

    def __init__(self, folder: Path, seed: int):
        self.chance = random.Random(seed)
        general = sources.read(folder, sources.GENERAL, sources.MAX_GENERAL, seed)
        technical = sources.read(folder, sources.TECHNICAL, sources.MAX_TECHNICAL, seed)
        self.lexicon = certain(chain.from_iterable(general))
        self.general, self.runs = (
            [
                run
                for run in ([*filter(sources.fit, pairs)] for pairs in corpora)
                if len(run) > MIN_RUN
            ]
            for corpora in (general, general + technical)
        )
        words = sources.read(folder, sources.WORDS, sources.MAX_GENERAL, seed)
        self.words = [*filter(sources.plain, chain.from_iterable(words))]
        self.with_numbers = [
            pair
            for pair in chain.from_iterable((*general, *technical))
            if all(map(TOKEN.search, pair)) and sources.similar(pair)
        ]
        needed = {
            sources.GENERAL: self.general,
            sources.WORDS: self.words,
            sources.GENERAL + sources.TECHNICAL: self.with_numbers,
        }
        for names, found in needed.items():
            if not found:
                reason = f"{folder}: no pairs that fit in any of {', '.join(names)}"
                raise NmtError(reason, "give the folder of the corpora, after tools.phrases")
        self.frames = frames()

    def several(self, number: int, runs: list[list[Pair]] | None = None) -> list[Pair]:
        """Consecutive sentences of a corpus, or any of it, that together are not too long."""
        runs = runs or self.runs
        (run,) = self.chance.choices(runs, [len(run) ** 0.5 for run in runs])
        if self.chance.random() < 0.5:
            start = self.chance.randrange(len(run) - number)
            chosen = run[start : start + number]
        else:
            chosen = self.chance.sample(run, number)
        if number == LISTED:
            return [pair for pair in chosen if len(pair[0]) < MAX_LISTED]
        while len(chosen) > 1 and sum(len(pair[0]) for pair in chosen) > MAX_JOINED:
            chosen.pop()
        return chosen

    def make(self, kind: str) -> Pair | None:
        """A pair of a kind, or None if the pair that was chosen does not allow it."""
        chance = self.chance
        if kind == "numbered":
            return numbered(self.frames, chance)
        if kind == "renumbered":
            return renumbered(chance.choice(self.with_numbers), chance)
        if kind in ("inside", "clause"):
            change = signs.inside if kind == "inside" else signs.clause
            return change(self.several(1)[0], self.lexicon, chance)
        if kind == "whole":
            return signs.whole(self.several(1)[0], chance)
        if kind == "capitals":
            pairs = self.several(chance.choice((1, 2, 2, 3)), self.general)
            return lines.capitals(pairs, self.lexicon, chance)
        if kind == "words":
            return signs.listed(chance.sample(self.words, chance.choice((1, 1, 2, 3, 4))), chance)
        if kind == "labelled":
            return labelled(self.several(1)[0], chance)
        if kind == "listed":
            short = self.several(LISTED)[: chance.choice((2, 2, 3, 4))]
            return signs.listed(short, chance) if len(short) > 1 else None
        pairs = self.several(chance.choice((2, 2, 2, 3, 4)) if kind == "joined" else 2)
        if kind == "speech":
            return lines.speech(pairs, chance)
        if len(pairs) < 2:
            return None
        return {"joined": lines.joined, "after": signs.after}[kind](pairs, chance)


def made(folder: Path, count: int = COUNT, seed: int = 1) -> dict[str, list[Pair]]:
    """Pairs of each kind, without repeats."""
    maker = Maker(folder, seed)
    found: dict[str, list[Pair]] = {}
    for kind, share in SHARES.items():
        pairs: dict[Pair, None] = {}
        for _ in range(12 * round(share * count)):
            if len(pairs) == round(share * count):
                break
            if pair := maker.make(kind):
                pairs[pair] = None
        found[kind] = list(pairs)
    return found
