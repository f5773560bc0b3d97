"""From what search found for the parts of a line to its translations."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nmt_cli.search.attention import Alignment, align_words
from nmt_cli.search.forced import Forced
from nmt_cli.search.hypothesis import Hypothesis
from nmt_cli.text.tokenizer import END_ID, UNK_ID, TokenizerPair

LINE_BREAK = re.compile(r"[\r\n]+")


@dataclass(frozen=True)
class Translation:
    """One translation of a line.

    Attributes:
        text: "" for a blank line.
        score: sum of its parts' penalised log-probabilities; 0 for a blank line.
        ids: tokens of the translation, all parts together, END excluded.
        token_scores: (token, log-probability) of all tokens, each part's END included.
        alignment: (source word, target word), from 0, in the order of the target's; None where
            it was not asked for.
        others: further translations, best first, where several were asked for.
        seconds: of search, a line's share of its batches.
    """

    text: str
    score: float
    ids: list[int]
    token_scores: list[tuple[int, float]] = field(default_factory=list)
    alignment: list[tuple[int, int]] | None = None
    others: list["Translation"] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Found:
    """What search found for one part of a line.

    Attributes:
        source: ids that the encoder read.
        hypotheses: best first.
        forced: of the hypotheses, with attention; None where none is needed.
        seconds: of search.
    """

    source: list[int]
    hypotheses: list[Hypothesis]
    forced: list[Forced | None]
    seconds: float


def rejoin(
    parts: Sequence[Found],
    tokenizers: TokenizerPair,
    count: int,
    alignments: bool = False,
    copies: bool = False,
) -> list[Translation]:
    """Translations of a line, best first.

    The second best of a line in parts is that of the second best of each part, and so on.

    Args:
        parts: none for a blank line.
        tokenizers: of both sides.
        count: how many.
        alignments: whether to tell which words belong together.
        copies: whether unknown words are replaced by the source's.
    """
    return [_rejoined(parts, tokenizers, rank, alignments, copies) for rank in range(count)]


def _rejoined(
    parts: Sequence[Found], tokenizers: TokenizerPair, rank: int, alignments: bool, copies: bool
) -> Translation:
    texts: list[str] = []
    score, ids, scored, alignment = 0.0, list[int](), list[tuple[int, float]](), []
    words = [0, 0]  # of the parts before
    for part in parts:
        place = min(rank, len(part.hypotheses) - 1)
        hypothesis, forced = part.hypotheses[place], part.forced[place]
        texts.append(tokenizers.target.decode([hypothesis.ids])[0])
        if forced is not None and forced.attention is not None:
            aligned = align_words(
                forced.attention, part.source, [*hypothesis.ids, END_ID], tokenizers
            )
            if copies and UNK_ID in hypothesis.ids:
                texts[-1] = _with_copies(hypothesis, aligned, tokenizers)
            alignment += [(i + words[0], j + words[1]) for i, j in pairs(aligned)]
            words = [words[0] + len(aligned.source), words[1] + len(aligned.target)]
        score += hypothesis.score
        ids += hypothesis.ids
        scored += zip([*hypothesis.ids, END_ID], hypothesis.token_scores, strict=False)
    # Byte pieces can spell a line break, which would break the line count.
    text = LINE_BREAK.sub(" ", " ".join(texts))
    return Translation(text, score, ids, scored, alignment if alignments else None)


def pairs(alignment: Alignment) -> list[tuple[int, int]]:
    """For each target word the source word that it owes most to."""
    if not alignment.source:
        return []
    return [(int(np.argmax(row)), at) for at, row in enumerate(alignment.weights)]


def _with_copies(hypothesis: Hypothesis, aligned: Alignment, tokenizers: TokenizerPair) -> str:
    """The text with the source's words in place of unknown ones."""
    words = list(aligned.target)
    groups = tokenizers.target.words(hypothesis.ids)
    for source, target in pairs(aligned):
        if any(hypothesis.ids[place] == UNK_ID for place in groups[target]):
            words[target] = aligned.source[source]
    return " ".join(words)
