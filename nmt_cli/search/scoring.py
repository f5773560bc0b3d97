"""Scores of given translations."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice

from nmt_cli.errors import NmtError
from nmt_cli.search.hypothesis import penalty
from nmt_cli.search.translator import WINDOW, Translator
from nmt_cli.text.tokenizer import END_ID


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
    """Score pairs of lines, in order; two blank lines score 0.

    Args:
        translator: the model, and the length penalty.
        pairs: source and translation, read WINDOW ahead.

    Raises:
        NmtError: there is not enough memory.
    """
    pairs = iter(pairs)
    while read := list(islice(pairs, WINDOW)):
        yield from _window(translator, read)


def aligned(
    sources: Iterable[str], targets: Iterable[str], names: tuple[str, str] = ("source", "target")
) -> Iterator[tuple[str, str]]:
    """Pairs of lines; ``names`` are those of the two sides in errors.

    Raises:
        NmtError: one side has more lines than the other.
    """
    rest, number = iter(targets), 0
    for number, source in enumerate(sources, start=1):
        target = next(rest, None)
        if target is None:
            raise NmtError(
                f"{names[1]}: ends before line {number}, {names[0]} does not",
                "give aligned sides with equal line counts",
            )
        yield source, target
    if next(rest, None) is not None:
        raise NmtError(
            f"{names[0]}: ends after line {number}, {names[1]} does not",
            "give aligned sides with equal line counts",
        )


def _window(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Iterator[PairScore]:
    tokenizers, options = translator.tokenizers, translator.options
    sources = tokenizers.source.encode([source for source, _ in pairs])
    targets = tokenizers.target.encode([target for _, target in pairs])
    lengths = [(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    readable = [
        any(pair) and pair[0] <= translator.max_source and pair[1] < options.max_length
        for pair in lengths
    ]
    framed = map(tokenizers.source.frame_source, compress(sources, readable))
    forced = iter(translator.force(list(zip(framed, compress(targets, readable), strict=True))))
    for pair, target, scored in zip(lengths, targets, readable, strict=True):
        if not scored:
            yield PairScore(float("nan") if any(pair) else 0.0, [], [])
        else:
            found = next(forced)
            ids = [*target, END_ID]
            yield PairScore(
                found.score / float(penalty(len(ids), options.length_penalty)),
                tokenizers.target.tokens(ids),
                found.token_scores,
            )
