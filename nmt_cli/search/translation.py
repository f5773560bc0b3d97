"""Build the translations of a line from the hypotheses of its parts."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nmt_cli.search.forced import word_weights
from nmt_cli.search.hypotheses import Hypothesis
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.edits import Span
from nmt_cli.text.path import Passage, TextPath, Words
from nmt_cli.text.tokenizer import END_ID, UNK_ID, Tokenizer


@dataclass(frozen=True)
class Translation:
    """One translation of a line.

    Attributes:
        text: the line itself if it is blank.
        score: sum of the penalised log-probabilities of its parts; 0 for a blank line.
        ids: token ids of all parts, END excluded.
        tokens: the tokens, including the END of each part.
        token_scores: their log-probabilities.
        alignment: (source word, target word), counted from 0, in target order; None if not
            requested. Words are separated by white space.
        source_words, target_words: the spans of all words of the line and of ``text``, if an
            alignment was requested.
        others: further translations, best first, if several were requested.
        seconds: search time, the line's share of its batches.
    """

    text: str
    score: float
    ids: list[int]
    tokens: list[str] = field(default_factory=list)
    token_scores: list[float] = field(default_factory=list)
    alignment: list[tuple[int, int]] | None = None
    source_words: list[Span] = field(default_factory=list)
    target_words: list[Span] = field(default_factory=list)
    others: list["Translation"] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)

    @property
    def n_best(self) -> list["Translation"]:
        """All translations of the line, best first."""
        return [self, *self.others]


def translation_of(
    passage: Passage, results: Sequence[list[Hypothesis]], path: TextPath, options: SearchOptions
) -> Translation:
    """Build the translation of a line from the hypotheses of each of its parts, best first.

    The second best of a line joins the second best of its parts, and so on. A blank line, which
    has no parts, stays as it is.
    """
    words = path.source_words(passage) if options.alignments else None
    ranked = []
    for rank in range(options.n_best):
        chosen = [hypotheses[min(rank, len(hypotheses) - 1)] for hypotheses in results]
        ranked.append(_joined(passage, chosen, path, options, words))
    return replace(ranked[0], others=ranked[1:]) if ranked[1:] else ranked[0]


def _joined(
    passage: Passage,
    chosen: Sequence[Hypothesis],
    path: TextPath,
    options: SearchOptions,
    source: Words | None,
) -> Translation:
    texts = [hypothesis.text for hypothesis in chosen]
    copied: dict[int, list[Span]] = {}
    for index, hypothesis in enumerate(chosen):
        if options.unk == "copy" and UNK_ID in hypothesis.ids:
            words = path.tokenizer_words(passage, index)
            texts[index], copied[index] = _with_copies(hypothesis, words, path.tokenizers.target)
    text = path.written(passage, texts)
    target: Words | None = None
    alignment: list[tuple[int, int]] | None = None
    if source:
        spans = [
            copied.get(index) or path.tokenizers.target.decode_spans(hypothesis.ids)[1]
            for index, hypothesis in enumerate(chosen)
        ]
        target = path.target_words(text, list(zip(texts, spans, strict=True)))
        alignment = _aligned(source, target, chosen)
    token_ids = [
        id_
        for hypothesis in chosen
        for id_ in [*hypothesis.ids, END_ID][: len(hypothesis.token_scores)]
    ]
    return Translation(
        text.text,
        sum((hypothesis.score for hypothesis in chosen), 0.0),
        [id_ for hypothesis in chosen for id_ in hypothesis.ids],
        path.tokenizers.target.tokens(token_ids),
        [score for hypothesis in chosen for score in hypothesis.token_scores],
        alignment,
        source.spans if source else [],
        target.spans if target else [],
    )


def _aligned(source: Words, target: Words, chosen: Sequence[Hypothesis]) -> list[tuple[int, int]]:
    """Return for each target word the source word with the largest weight: (source, target)."""
    pairs = []
    for index, hypothesis in enumerate(chosen):
        read, written = _with_tokens(source.tokens[index]), _with_tokens(target.tokens[index])
        if not (read and written) or hypothesis.attention is None:
            continue
        weights = word_weights(hypothesis.attention, list(read.values()), list(written.values()))
        numbers = list(read)
        pairs += [
            (numbers[int(np.argmax(row))], word) for word, row in zip(written, weights, strict=True)
        ]
    return pairs


def _with_tokens(words: Sequence[list[int]]) -> dict[int, list[int]]:
    """Return the words that have tokens, by number."""
    return {number: tokens for number, tokens in enumerate(words) if tokens}


def _with_copies(
    hypothesis: Hypothesis, source: Sequence[tuple[str, list[int]]], target: Tokenizer
) -> tuple[str, list[Span]]:
    """Put aligned source words in place of unknown words, and find the spans of tokens."""
    groups = target.words(hypothesis.ids)
    words = target.decode([[hypothesis.ids[token] for token in group] for group in groups])
    if source and hypothesis.attention is not None:
        weights = word_weights(hypothesis.attention, [tokens for _, tokens in source], groups)
        for index, group in enumerate(groups):
            if any(hypothesis.ids[token] == UNK_ID for token in group):
                words[index] = source[int(np.argmax(weights[index]))][0]
    spans, end = list[Span](), 0
    for word, group in zip(words, groups, strict=True):
        spans += [(end, end + len(word))] * len(group)
        end += len(word) + 1
    return " ".join(words), spans
