"""Choosing the training and development pairs of a recipe, real and synthetic.

A tag before each synthetic source marks it as machine-written for the model (Caswell et al. 2019,
https://arxiv.org/abs/1906.06442); sources to translate have no tag.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nmt_cli.data.clean import Cleaning, clean
from nmt_cli.data.corpus import Corpus
from nmt_cli.errors import NmtError
from nmt_cli.recipe.config import Recipe

HELD_OUT = 500  # maximum number of pairs
HOLD_OUT_EVERY = 20  # hold out at most one pair in this many


@dataclass(frozen=True)
class Pairs:
    """The pairs to use.

    Attributes:
        real, synthetic: training pairs.
        dev: development pairs.
        counts, synthetic_counts: numbers of real and synthetic pairs read, dropped and kept.
    """

    real: Corpus
    synthetic: Corpus
    dev: Corpus
    counts: Cleaning
    synthetic_counts: Cleaning


def choose_pairs(
    recipe: Recipe,
    train: list[Corpus],
    dev: list[Corpus],
    synthetic: list[Corpus],
    say: Callable[[str], None],
) -> Pairs:
    """Clean the training text, hold out development pairs if needed, draw synthetic pairs.

    Raises:
        NmtError: no pair is left to train on, or to validate with.
    """
    data = recipe.data
    seen: set[tuple[str, str]] = set()
    real, counts = clean(train, data, seen)
    made, synthetic_counts = clean(synthetic, data, seen)
    if not counts.read:
        raise NmtError(f"data.train: no lines in {', '.join(data.train)}")
    if not real:
        raise NmtError(
            f"none of {counts.read:,} pairs is left after cleaning",
            "see data.max_characters and data.max_ratio",
        )
    held_out = Corpus(
        "dev",
        [line for corpus in dev for line in corpus.source],
        [line for corpus in dev for line in corpus.target],
    )
    if not dev:
        real, held_out = _hold_out(real)
        made = without_held_out(made, held_out)
        say(f"data.dev is empty: {len(held_out):,} training pairs are held out instead")
    if not held_out:
        raise NmtError(
            f"no development pairs: data.dev has none, and {len(real):,} training pairs are too "
            "few to hold any out",
            f"set data.dev, or give at least {HOLD_OUT_EVERY} training pairs",
        )
    drawn = draw(made, len(real), data.synthetic_ratio, recipe.seed)
    if len(drawn) < len(made):
        say(f"data.synthetic_ratio: {len(drawn):,} of {len(made):,} synthetic pairs are drawn")
    return Pairs(real, drawn, held_out, counts, synthetic_counts)


def _hold_out(kept: Corpus) -> tuple[Corpus, Corpus]:
    """Split every n-th pair from the training text for validation."""
    every = max(HOLD_OUT_EVERY, -(-len(kept) // HELD_OUT))
    held = range(every - 1, len(kept), every)
    rest = sorted(set(range(len(kept))) - set(held))
    return kept.select(rest), replace(kept.select(held), name="dev")


def without_held_out(synthetic: Corpus, held_out: Corpus) -> Corpus:
    """Return the synthetic pairs that share no sentence with a held-out pair.

    Pairs made from the training text would otherwise leak the development set.
    """
    sources, targets = set(held_out.source), set(held_out.target)
    return synthetic.select(
        row
        for row in range(len(synthetic))
        if synthetic.source[row] not in sources and synthetic.target[row] not in targets
    )


def draw(synthetic: Corpus, real: int, ratio: float, seed: int) -> Corpus:
    """Draw at most ``ratio`` synthetic pairs per real pair, in order; 0: all of them."""
    if not ratio or len(synthetic) <= ratio * real:
        return synthetic
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(synthetic), int(ratio * real), replace=False)
    return synthetic.select(sorted(rows.tolist()))


def mix(real: Corpus, synthetic: Corpus, tag: str) -> Corpus:
    """Concatenate real and synthetic pairs; the sources of the latter begin with the tag, if any.

    Raises:
        NmtError: the tag occurs in the text, where decoding would drop it.
    """
    if tag:
        for corpus in (real, synthetic):
            for lines in (corpus.source, corpus.target):
                found = next((line for line in lines if tag in line), None)
                if found is not None:
                    raise NmtError(
                        f"data.synthetic_tag: {tag} occurs in the text: {found[:60]!r}",
                        "choose a tag that does not",
                    )
    before = f"{tag} " if tag else ""
    return Corpus(
        real.name,
        real.source + [f"{before}{line}" for line in synthetic.source],
        real.target + synthetic.target,
    )
