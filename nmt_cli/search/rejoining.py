"""Build the translations of a line from what the search found for its segments."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from nmt_cli.search.forced import Alignment, align_words
from nmt_cli.search.hypotheses import Hypothesis
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.tokenizer import END_ID, UNK_ID, TokenizerPair

LINE_BREAK = re.compile(r"[\r\n]+")


@dataclass(frozen=True)
class Translation:
    """One translation of a line.

    Attributes:
        text: the line itself if it is blank.
        score: sum of its segments' penalised log-probabilities; 0 for a blank line.
        ids: token ids of all segments, END excluded.
        tokens: the tokens, including the END of each segment.
        token_scores: their log-probabilities.
        alignment: (source word, target word), counted from 0, in target order; None if not
            requested.
        others: further translations, best first, if several were requested.
        seconds: search time, the line's share of its batches.
    """

    text: str
    score: float
    ids: list[int]
    tokens: list[str] = field(default_factory=list)
    token_scores: list[float] = field(default_factory=list)
    alignment: list[tuple[int, int]] | None = None
    others: list["Translation"] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)

    @property
    def n_best(self) -> list["Translation"]:
        """All translations of the line, best first."""
        return [self, *self.others]

    def edited(self, edit: Callable[[str], str]) -> "Translation":
        """The same with all texts changed; tokens stay as they are."""
        others = [each.edited(edit) for each in self.others]
        return replace(self, text=edit(self.text), others=others)


@dataclass(frozen=True)
class Found:
    """What the search found for one segment.

    Attributes:
        source: framed ids.
        hypotheses: best first.
        texts: of the hypotheses.
        seconds: search time.
    """

    source: list[int]
    hypotheses: list[Hypothesis]
    texts: list[str]
    seconds: float


def rejoin(
    line: str, segments: Sequence[Found], tokenizers: TokenizerPair, options: SearchOptions
) -> Translation:
    """The translation of a line; a blank one, which has no segments, stays as it is.

    The second best of a line joins the second best of each of its segments, and so on.
    """
    ranks = range(options.n_best)
    first, *others = (_rejoined(line, segments, tokenizers, options, rank) for rank in ranks)
    return replace(first, others=others, seconds=sum((each.seconds for each in segments), 0.0))


def _rejoined(
    line: str,
    segments: Sequence[Found],
    tokenizers: TokenizerPair,
    options: SearchOptions,
    rank: int,
) -> Translation:
    texts: list[str] = [] if segments else [line]
    score, ids, token_ids, token_scores = 0.0, list[int](), list[int](), list[float]()
    alignment: list[tuple[int, int]] = []
    source_words = target_words = 0  # in the segments so far
    for segment in segments:
        place = min(rank, len(segment.hypotheses) - 1)
        hypothesis = segment.hypotheses[place]
        texts.append(segment.texts[place])
        with_end = [*hypothesis.ids, END_ID]
        if hypothesis.attention is not None:
            aligned = align_words(hypothesis.attention, segment.source, with_end, tokenizers)
            if options.unk == "copy" and UNK_ID in hypothesis.ids:
                texts[-1] = _with_copies(hypothesis, aligned, tokenizers)
            alignment += [(i + source_words, j + target_words) for i, j in aligned.pairs()]
            source_words += len(aligned.source)
            target_words += len(aligned.target)
        score += hypothesis.score
        ids += hypothesis.ids
        token_scores += hypothesis.token_scores
        token_ids += with_end[: len(hypothesis.token_scores)]
    return Translation(
        # Byte tokens can spell a line break, which would break the line count.
        LINE_BREAK.sub(" ", " ".join(texts)),
        score,
        ids,
        tokenizers.target.tokens(token_ids),
        token_scores,
        alignment if options.alignments else None,
    )


def _with_copies(hypothesis: Hypothesis, aligned: Alignment, tokenizers: TokenizerPair) -> str:
    """The text with aligned source words in place of unknown words."""
    words = list(aligned.target)
    groups = tokenizers.target.words(hypothesis.ids)
    for source, target in aligned.pairs():
        if any(hypothesis.ids[place] == UNK_ID for place in groups[target]):
            words[target] = aligned.source[source]
    return " ".join(words)
