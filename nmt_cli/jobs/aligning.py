"""Aligned words of lines and their translations, for markup."""

from collections.abc import Callable, Iterable, Sequence

from nmt_cli.formats.placing import Aligned, Aligning
from nmt_cli.formats.segments import Translate
from nmt_cli.search.translation import Translation


def aligning(
    translate: Callable[[Sequence[str]], Iterable[Translation]], has_alignments: bool
) -> Translate:
    """Make a translator of documents from one of lines, whose translations may have alignments."""
    if not has_alignments:
        return lambda texts: [translation.text for translation in translate(texts)]

    return Aligning(lambda texts: list(map(aligned_words, translate(texts))))


def aligned_words(translation: Translation) -> Aligned:
    """Return a translation's text and the places of its aligned words."""
    pairs = [
        (translation.source_words[source], translation.target_words[target])
        for source, target in translation.alignment or []
    ]
    return Aligned(translation.text, pairs)
