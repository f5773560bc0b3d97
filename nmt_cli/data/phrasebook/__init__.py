"""The project's own Portuguese-English grammar, which writes its own training sentences.

A hand-written lexicon and some hundred constructions compose everyday sentences in
both languages at once: Brazilian Portuguese with "você", British English without
contractions. The grammar is one-to-one: no sentence of either language has two
translations.
"""

from nmt_cli.data.phrasebook.split import splits

__all__ = ["sentence_pairs"]


def sentence_pairs(split: str) -> list[dict[str, str]]:
    """All pairs of one split ("train", "dev" or "test"), each {"pt": ..., "en": ...}.

    The order is fixed, and the same on every machine. Dev (300 pairs) and test (1,000)
    hold sentences that are in no other split, in either language, even if case and
    punctuation are set aside; each of their words and constructions is trained. Beyond
    that, about one in twenty-five pairings of a verb with its object (to wash + dress)
    and of a thing with its adjective (box + heavy) is met in the test split alone. Set
    phrases such as "Bom dia!" are in the training split alone.

    Raises:
        ValueError: there is no such split.
    """
    if split not in ("train", "dev", "test"):
        raise ValueError(f"no split {split!r}: train, dev or test")
    parts = splits()
    chosen = {"train": parts.train, "dev": parts.dev, "test": parts.test}[split]
    return [{"pt": pair.pt, "en": pair.en} for pair in chosen]
