"""Choosing the training and development pairs of a recipe: cleaning, holding out, mixing.

A tag before each synthetic source marks it as machine-written for the model (Caswell et al. 2019,
https://arxiv.org/abs/1906.06442); sources to translate have no tag.
"""

import itertools
import logging
from dataclasses import dataclass, replace

import numpy as np

from nmt_cli.data.corpus import Corpus
from nmt_cli.errors import InputError, RecipeError
from nmt_cli.recipe.config import DataConfig, Recipe

logger = logging.getLogger(__name__)

MAX_HELD_OUT = 500  # pairs
HOLD_OUT_EVERY = 20  # hold out at most one pair in this many
# The length ratio applies only if the longer side has more characters: it means little for short
# texts ("Sim.", "Yes, please.").
SHORT_CHARACTERS = 20


# Numbers of pairs read, dropped by reason, and kept, with their labels for the user.
_LABELS = {
    "read": "{pairs} read",
    "empty": "dropped, a side empty",
    "too_long": "dropped, a side too long",
    "ratio": "dropped, length ratio",
    "duplicate": "dropped, exact duplicate",
    "too_many_tokens": "dropped, too many tokens",
    "kept": "{pairs} kept",
    "trimmed": "kept, a side trimmed",  # only if the recipe trims
}


def report(counts: dict[str, int], pairs: str = "pairs") -> list[str]:
    """Return one line per count for the user; ``pairs`` names the pairs."""
    labels = {key: label.format(pairs=pairs) for key, label in _LABELS.items() if key in counts}
    return [f"{label:<26}{counts[key]:>10,}" for key, label in labels.items()]


@dataclass(frozen=True)
class Pairs:
    """Training and development pairs, with the counts of cleaning."""

    real: Corpus
    synthetic: Corpus
    dev: Corpus
    counts: dict[str, int]
    synthetic_counts: dict[str, int]


def choose_pairs(recipe: Recipe, texts: dict[str, list[Corpus]]) -> Pairs:
    """Clean the training text, hold out development pairs if needed, draw synthetic pairs."""
    data, dev = recipe.data, texts["dev"]
    seen: set[tuple[str, str]] = set()
    real, counts = clean(texts["train"], data, seen)
    synthetic, synthetic_counts = clean(texts["synthetic"], data, seen)
    if not counts["read"]:
        raise InputError(f"data.train: no lines in {', '.join(data.train)}")
    if not real:
        reason = f"none of {counts['read']:,} pairs is left after cleaning"
        raise InputError(reason, "see data.max_characters and data.max_ratio")
    held_out = Corpus(
        "dev",
        [line for corpus in dev for line in corpus.source],
        [line for corpus in dev for line in corpus.target],
    )
    if not dev:
        every = max(HOLD_OUT_EVERY, -(-len(real) // MAX_HELD_OUT))
        rows = range(every - 1, len(real), every)
        held_out = replace(real.select(rows), name="dev")
        real = real.select(row for row in range(len(real)) if row not in rows)
        synthetic = without_held_out(synthetic, held_out)
        logger.info(f"data.dev is empty: {len(held_out):,} training pairs are held out instead")
    if not held_out:
        raise InputError(
            f"no development pairs: data.dev has none, and {len(real):,} training pairs are too "
            "few to hold any out",
            f"set data.dev, or give at least {HOLD_OUT_EVERY} training pairs",
        )
    drawn = draw(synthetic, len(real), data.synthetic_ratio, recipe.seed)
    if len(drawn) < len(synthetic):
        logger.info(
            f"data.synthetic_ratio: {len(drawn):,} of {len(synthetic):,} synthetic pairs are drawn"
        )
    return Pairs(real, drawn, held_out, counts, synthetic_counts)


def clean(
    corpora: list[Corpus], config: DataConfig, seen: set[tuple[str, str]]
) -> tuple[Corpus, dict[str, int]]:
    """Concatenate corpora, strip white space, and drop bad pairs and those already in ``seen``."""
    counts = {key: 0 for key in _LABELS if key != "trimmed"}
    kept = Corpus("train", [], [])
    for corpus in corpora:
        for source, target in zip(corpus.source, corpus.target, strict=True):
            counts["read"] += 1
            source, target = source.strip(), target.strip()
            shorter, longer = sorted((len(source), len(target)))
            if not shorter:
                counts["empty"] += 1
            elif longer > config.max_characters:
                counts["too_long"] += 1
            elif longer > SHORT_CHARACTERS and longer > config.max_ratio * shorter:
                counts["ratio"] += 1
            elif (source, target) in seen:
                counts["duplicate"] += 1
            else:
                seen.add((source, target))
                kept.source.append(source)
                kept.target.append(target)
                kept.origins.append(corpus.name)
    counts["kept"] = len(kept)
    return kept, counts


def without_held_out(synthetic: Corpus, held_out: Corpus) -> Corpus:
    """Drop synthetic pairs that share a sentence with a held-out pair."""
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
    """Concatenate real and synthetic pairs, with the tag, if any, before each synthetic source."""
    sources = [f"{tag} {line}" if tag else line for line in synthetic.source]
    lines = itertools.chain(real.source, real.target, synthetic.source, synthetic.target)
    for line in lines if tag else ():
        if tag in line:
            reason = f"data.synthetic_tag: {tag} occurs in the text: {line[:60]!r}"
            raise RecipeError(reason, "choose a tag that does not")
    return Corpus(
        real.name,
        real.source + sources,
        real.target + synthetic.target,
        real.origins + synthetic.origins,
    )
