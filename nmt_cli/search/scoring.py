"""Scores of given translations."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress, islice, zip_longest
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.search.hypotheses import penalty
from nmt_cli.search.translator import WINDOW, Translator
from nmt_cli.text.tokenizer import END_ID, encode_lines


@dataclass(frozen=True)
class PairScore:
    """The score of one translation.

    Attributes:
        score: the sum of the log-probabilities over the length penalty, as the search scores
            hypotheses; NaN if a side is longer than the model reads at a time.
        tokens: of the translation, END included.
        token_scores: their log-probabilities.
    """

    score: float
    tokens: list[str]
    token_scores: list[float]


def score_pairs(translator: Translator, pairs: Iterable[tuple[str, str]]) -> Iterator[PairScore]:
    """Score pairs of source and translation, in order, WINDOW at a time; two blank lines score 0.

    Raises:
        NmtError: there is not enough memory.
    """
    pairs, options = iter(pairs), translator.options
    source_side, target_side = translator.tokenizers.source, translator.tokenizers.target
    while read := list(islice(pairs, WINDOW)):
        sources = encode_lines(source_side, [source for source, _ in read])
        targets = encode_lines(target_side, [target for _, target in read])
        encoded = list(zip(sources, targets, strict=True))
        readable = [
            bool(source or target)
            and len(source) <= translator.path.max_source
            and len(target) < options.max_length
            for source, target in encoded
        ]
        framed = [(source_side.frame_source(one), two) for one, two in compress(encoded, readable)]
        forced = iter(translator.force(framed))
        for (source, target), scored in zip(encoded, readable, strict=True):
            if scored:
                found, ids = next(forced), [*target, END_ID]
                score = found.score / float(penalty(len(ids), options.length_penalty))
                yield PairScore(score, target_side.tokens(ids), found.token_scores)
            else:
                yield PairScore(float("nan") if source or target else 0.0, [], [])


def aligned(
    sources: Iterable[str], targets: Iterable[Any], names: tuple[str, str] = ("source", "target")
) -> Iterator[tuple[str, Any]]:
    """Pairs of lines, or of lines and their phrases; ``names`` are those of the sides in errors.

    Raises:
        NmtError: one side has more lines than the other.
    """
    for number, (source, target) in enumerate(zip_longest(sources, targets), start=1):
        if source is None or target is None:
            short, long = names if source is None else names[::-1]
            raise NmtError(
                f"{short}: ends before line {number}, {long} does not",
                "give aligned sides with equal line counts",
            )
        yield source, target
