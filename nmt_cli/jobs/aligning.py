"""Find the places of aligned words in lines and their translations."""

from collections.abc import Callable, Iterable, Sequence

from nmt_cli.formats.placing import Aligned, Aligning
from nmt_cli.formats.segments import Translate
from nmt_cli.formats.spans import Place
from nmt_cli.search.rejoining import Translation
from nmt_cli.text.tokenizer import Tokenizer, TokenizerPair


def aligning(
    tokenizers: TokenizerPair,
    translate: Callable[[Sequence[str]], Iterable[Translation]],
    has_alignments: bool,
) -> Translate:
    """Make a translator of documents from one of lines, whose translations may have alignments."""
    if not has_alignments:
        return lambda texts: [each.text for each in translate(texts)]

    return Aligning(lambda texts: with_places(tokenizers, texts, translate(texts)))


def with_places(
    tokenizers: TokenizerPair, texts: Sequence[str], translations: Iterable[Translation]
) -> list[Aligned]:
    """Find the places of aligned words in texts and their translations, which have alignments."""
    answers = []
    encoded = tokenizers.source.encode(texts)
    for text, ids, found in zip(texts, encoded, translations, strict=True):
        source = word_places(text, ids, tokenizers.source)
        target = word_places(found.text, found.ids, tokenizers.target)
        pairs = [
            (source[i], target[j])
            for i, j in found.alignment or []
            # An over-long text is split into parts, which can split a word.
            if i < len(source) and j < len(target) and target[j][0] < target[j][1]
        ]
        answers.append(Aligned(found.text, pairs))
    return answers


def word_places(text: str, ids: Sequence[int], tokenizer: Tokenizer) -> list[Place]:
    """Find the words of a text's tokens in it.

    A word that the tokenizer normalized to other characters is not found. It gets the text
    between its neighbours.
    """
    words = tokenizer.decode([[ids[at] for at in group] for group in tokenizer.words(ids)])
    places: list[Place | None] = []
    end = 0
    for word in words:
        start = text.find(word, end) if word else -1
        # Not far off: an earlier word that was not found must not skip others.
        if 0 <= start <= end + 50:
            end = start + len(word)
            places.append((start, end))
        else:
            places.append(None)
    following = len(text)
    starts = [following := place[0] if place else following for place in reversed(places)][::-1]
    filled, end = list[Place](), 0
    for place, until in zip(places, starts, strict=True):
        gap = text[end:until]
        core = gap.strip()
        start = end + len(gap) - len(gap.lstrip())
        filled.append(place or (start, start + len(core)))
        end = max(end, filled[-1][1])
    return filled
