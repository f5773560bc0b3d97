"""The words of both sides, and which of them belong together by attention.

L layers of h heads, S source positions, T tokens of a translation, END included.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nmt_cli.search.hypotheses import forced_steps
from nmt_cli.search.step_model import Floats, Head, StepModel, aligning_weights
from nmt_cli.text.edits import Span
from nmt_cli.text.tokenizer import END_ID, START_ID

# Smaller weights of attention are left out.
_MIN_WEIGHT = 0.05
_WORD = re.compile(r"\S+")

# Source word, target word, and the attention of the target word to it, from 0 to 1.
WordLink = tuple[int, int, float]
NamedWords = Sequence[tuple[str, list[int]]]


def words_of(text: str) -> list[Span]:
    """Return the spans of a text's words, which white space separates."""
    return [match.span() for match in _WORD.finditer(text)]


def tokens_of_words(
    text: str, words: Sequence[Span], tokens: Iterable[Span], first: int = 0
) -> dict[int, list[int]]:
    """Return the positions of the tokens of each word that has some.

    ``tokens`` are the spans of tokens in the text, ``first`` is the position of the first of them.
    """
    numbers = dict[int, list[int]]()
    for position, (start, end) in enumerate(tokens, start=first):
        core = text[start:end].rstrip()
        # Most tokens include the space before them; an empty one belongs to what follows.
        last = start + max(0, len(core) - 1)
        word = bisect_right(words, last, key=lambda span: span[1])
        if word < len(words):
            numbers.setdefault(word, []).append(position)
    return numbers


def named_words(text: str, tokens: Iterable[Span], first: int = 0) -> NamedWords:
    """Return the words of a text that have tokens, and the positions of these."""
    words = words_of(text)
    numbers = tokens_of_words(text, words, tokens, first)
    return [(text[slice(*words[word])], positions) for word, positions in numbers.items()]


def links(
    source: Mapping[int, list[int]], target: Mapping[int, list[int]], attention: Floats | None
) -> Iterator[WordLink]:
    """Link each target word to the source word with the most attention, and others with some.

    ``source`` and ``target`` are the tokens of words, ``attention`` is [T, S]; None has no links.
    """
    if attention is None or not (source and target):
        return
    weights = word_weights(attention, [*source.values()], [*target.values()])
    for target_word, row in zip(target, weights, strict=True):
        best = int(row.argmax())
        for column, (word, weight) in enumerate(zip(source, row.tolist(), strict=True)):
            if column == best or weight >= _MIN_WEIGHT:
                yield word, target_word, weight


def word_weights(layer: Floats, source: list[list[int]], target: list[list[int]]) -> Floats:
    """Sum up attention weights, [T, S], by word: [target words, source words], rows sum to 1.

    A target word's row is the mean of its tokens' rows; a source word's column is the sum of its
    tokens' columns. ``source`` and ``target`` are the positions of each word's tokens.
    """
    rows = [layer[tokens].mean(axis=0) for tokens in target]
    weights = np.array([[row[tokens].sum() for tokens in source] for row in rows])
    weights = weights.reshape(len(target), len(source))
    sums = weights.sum(axis=1, keepdims=True)
    return (weights / np.maximum(sums, 1e-9)).astype(np.float32)


@dataclass(frozen=True)
class AttentionMaps:
    """Weights by layer and head; each row sums to 1.

    Attributes:
        source: ids that the encoder read, [S].
        target: ids of the translation with END, [T]: the decoder's output at each step.
        cross: [L, h, T, S].
        encoder: self-attention [L, h, S, S]; None if the model has none or does not provide it.
        decoder: self-attention [L, h, T, T], whose columns are the decoder's inputs; or None.
        source_words, target_words: words of both texts, and the positions of their tokens.
        alignment_heads: of the model.
    """

    source: list[int]
    target: list[int]
    cross: Floats
    encoder: Floats | None = None
    decoder: Floats | None = None
    source_words: NamedWords = ()
    target_words: NamedWords = ()
    alignment_heads: Sequence[Head] = ()

    @property
    def word_weights(self) -> Floats:
        """The weights that align words, [target words, source words]."""
        (layer,) = aligning_weights(self.cross[None], self.alignment_heads)
        source, target = (
            [tokens for _, tokens in words] for words in (self.source_words, self.target_words)
        )
        return word_weights(layer, source, target)


def forced_attention(model: StepModel, source: list[int], target: Sequence[int]) -> AttentionMaps:
    """Return the attention for source ids with special tokens and a translation without END."""
    with_end = [*target, END_ID]
    rows = np.array([source], np.int32)
    steps = forced_steps(model, rows, np.array([with_end], np.int32), attention=True)
    cross = np.stack([weights[0] for _, weights in steps if weights is not None], axis=2)
    read = np.array([[START_ID, *target]], np.int32)
    sides = {side: weights[0] for side, weights in model.self_attention(rows, read).items()}
    encoder, decoder = map(sides.get, ("encoder", "decoder"))
    heads = model.alignment_heads
    return AttentionMaps(source, with_end, cross, encoder, decoder, alignment_heads=heads)
