"""Mixing synthetic pairs into real ones.

A tag before each synthetic source marks it as machine-written for the model (Caswell et al. 2019,
https://arxiv.org/abs/1906.06442); sources to translate have no tag.
"""

import numpy as np

from nmt_cli.data.corpus import Corpus
from nmt_cli.errors import NmtError


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
