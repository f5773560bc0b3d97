"""Pairs rewritten as people type them: in lower case, in capitals, without final punctuation, with
symbols.

A model that has never seen such sources translates them badly. Capitals stay capitals, a missing
mark stays missing, and symbols stay as they are, so both sides change; of lower case only the
source does.
"""

import random
import re

import numpy as np

from nmt_cli.data.corpus import Corpus
from nmt_cli.data.symbols import with_symbols
from nmt_cli.recipe.config import DataConfig
from nmt_cli.text.capitals import CODE

_FINAL_MARK = re.compile(r"\s*[.!?…]+$")


def vary(corpus: Corpus, config: DataConfig, seed: int) -> Corpus:
    """Rewrite randomly chosen pairs, the shares that the recipe asks for.

    A pair that a rewriting would not change, or with signs of code on either side, stays as it is.
    """
    shares = np.cumsum([config.lowercase, config.uppercase, config.unpunctuated, config.symbols])
    if not shares[-1]:
        return corpus
    kinds = np.searchsorted(shares, np.random.default_rng(seed).random(len(corpus)), "right")
    chance = random.Random(seed)
    rows = zip(kinds, corpus.source, corpus.target, strict=True)
    pairs = [_varied(kind, source, target, chance) for kind, source, target in rows]
    return Corpus(
        corpus.name,
        [source for source, _ in pairs],
        [target for _, target in pairs],
        corpus.origins,
    )


def _varied(kind: int, source: str, target: str, chance: random.Random) -> tuple[str, str]:
    if kind > 3 or CODE.search(source) or CODE.search(target):
        return source, target
    if kind == 0:
        return source.lower(), target
    if kind == 1:
        return source.upper(), target.upper()
    if kind == 3:
        return with_symbols((source, target), chance)
    bare = _FINAL_MARK.sub("", source), _FINAL_MARK.sub("", target)
    both = all(bare) and bare[0] != source and bare[1] != target
    return bare if both else (source, target)
