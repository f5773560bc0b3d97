"""The Portuguese-English grammar that generates the phrasebook.

A hand-written lexicon and some hundred constructions build everyday sentences in both
languages at once: Brazilian Portuguese with "você", British English without contractions.
The grammar is one-to-one: no sentence of either language has two translations.

    python -m tools.phrasebook    # writes nmt_cli/data/phrasebook.tsv.bz2
"""

from tools.phrasebook.split import splits

__all__ = ["table"]


def table() -> str:
    """Return all pairs as lines of "split, pt, en", the same on every machine."""
    found = splits()
    named = {"train": found.train, "dev": found.dev, "test": found.test}
    return "".join(
        f"{name}\t{pair.pt}\t{pair.en}\n" for name, pairs in named.items() for pair in pairs
    )
