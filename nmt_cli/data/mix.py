"""Synthetic pairs beside real ones: how many of them, and how the model tells them apart.

A tag before each synthetic source (Caswell et al. 2019, https://arxiv.org/abs/1906.06442) tells
the model that a machine wrote it; at translation no source has it.
"""

import numpy as np

from nmt_cli.data.corpus import Corpus
from nmt_cli.errors import NmtError


def apart_from(synthetic: Corpus, held_out: Corpus) -> Corpus:
    """The synthetic pairs that share no side with a held-out pair.

    What is made of the training text itself would otherwise show the model what it is judged by.
    """
    sources, targets = set(held_out.source), set(held_out.target)
    return synthetic.chosen(
        row
        for row in range(len(synthetic))
        if synthetic.source[row] not in sources and synthetic.target[row] not in targets
    )


def draw(synthetic: Corpus, real: int, ratio: float, seed: int) -> Corpus:
    """At most ``ratio`` synthetic pairs for each of ``real`` pairs, in order; 0: all of them."""
    if not ratio or len(synthetic) <= ratio * real:
        return synthetic
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(synthetic), int(ratio * real), replace=False)
    return synthetic.chosen(sorted(rows.tolist()))


def mix(real: Corpus, synthetic: Corpus, tag: str) -> Corpus:
    """Real pairs, then synthetic ones, whose sources begin with the tag if there is one.

    Raises:
        NmtError: the tag stands in the text, where decoding would drop it.
    """
    if tag:
        for corpus in (real, synthetic):
            for lines in (corpus.source, corpus.target):
                found = next((line for line in lines if tag in line), None)
                if found is not None:
                    raise NmtError(
                        f"data.synthetic_tag: {tag} stands in the text itself: {found[:60]!r}",
                        "choose a tag that does not",
                    )
    before = f"{tag} " if tag else ""
    return Corpus(
        real.name,
        real.source + [f"{before}{line}" for line in synthetic.source],
        real.target + synthetic.target,
    )
