"""How likely a model finds given translations."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from nmt_cli.search.hypothesis import penalty
from nmt_cli.search.translator import WINDOW, Translator
from nmt_cli.text.tokenizer import END_ID


@dataclass(frozen=True)
class PairScore:
    """One translation.

    Attributes:
        score: as search scores what it finds: the sum of the log-probabilities over the
            penalty of the length. Not a number where a side is longer than the model reads at a
            time.
        token_scores: (token, log-probability), END included.
    """

    score: float
    token_scores: list[tuple[int, float]]


def score_pairs(
    translator: Translator, pairs: Iterable[tuple[str, str]], window: int | None = None
) -> Iterator[PairScore]:
    """Score pairs of lines, in order.

    Two blank lines score 0, as search has it.

    Args:
        translator: the model, and the length penalty.
        pairs: source and translation, read ``window`` ahead.
        window: None: as many as a translator reads ahead.

    Raises:
        NmtError: memory does not suffice.
    """
    pairs = iter(pairs)
    while read := list(islice(pairs, window or WINDOW)):
        yield from _window(translator, read)


def _window(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Iterator[PairScore]:
    tokenizers, options = translator.tokenizers, translator.options
    sources = tokenizers.source.encode([source for source, _ in pairs])
    targets = tokenizers.target.encode([target for _, target in pairs])
    both = list(zip(sources, targets, strict=True))
    readable = [
        (tokenizers.source.frame_source(source), target)
        for source, target in both
        if _is_readable(source, target, translator)
    ]
    forced = iter(translator.force(readable))
    for source, target in both:
        if not source and not target:
            yield PairScore(0.0, [])
        elif not _is_readable(source, target, translator):
            yield PairScore(float("nan"), [])
        else:
            found = next(forced)
            ids = [*target, END_ID]
            yield PairScore(
                found.total / float(penalty(len(ids), options.length_penalty)),
                list(zip(ids, found.token_scores, strict=True)),
            )


def _is_readable(source: list[int], target: list[int], translator: Translator) -> bool:
    fits = len(source) <= translator.max_source and len(target) < translator.options.max_length
    return fits and bool(source or target)
