"""Segments and hypotheses: their scores, and the probabilities and attention of given translations.

B sentences, K beams, C candidates per beam, S source positions, T tokens of a translation, END
included, V vocabulary, L layers of h heads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.step_model import Candidates, Floats, Ids, StepModel, aligning_weights
from nmt_cli.text.tokenizer import END_ID, START_ID

# Lower bound of coverage, which keeps its logarithm finite.
_MIN_COVERAGE = 1e-9


@dataclass(frozen=True)
class Segment:
    """A line, or a part of an over-long one, and what its translation must contain.

    Attributes:
        ids: with special tokens.
        number: identifies the segment for sampling; the same in each run.
        prefix: tokens that the translation begins with.
        phrases: tokens that must appear in it, each phrase contiguous.
        more_beams: in addition to the options' beam size; phrases share the beams.
    """

    ids: list[int] = field(default_factory=list)
    number: int = 0
    prefix: tuple[int, ...] = ()
    phrases: tuple[tuple[int, ...], ...] = ()
    more_beams: int = 0

    @property
    def required(self) -> int:
        """The number of tokens of the prefix and the phrases."""
        return len(self.prefix) + sum(map(len, self.phrases))


@dataclass(frozen=True)
class Hypothesis:
    """A translation as ids, END excluded.

    Attributes:
        score: penalised sum of the log-probabilities of the tokens and END; not penalised in
            forced decoding.
        token_scores: log-probabilities of the tokens and of END, if it has one, [T].
        attention: of each token to the source in the layer that aligns best, [T, S]; None if not
            computed.
        text: detokenized, once the search is done.
    """

    ids: list[int]
    score: float
    token_scores: list[float]
    attention: Floats | None = field(default=None, compare=False)
    text: str = field(default="", compare=False)


# Of each sentence, best first.
Hypotheses = list[list[Hypothesis]]
# Source ids with special tokens, and ids of a translation without END.
Pairs = Sequence[tuple[list[int], list[int]]]


@dataclass(frozen=True)
class Continuations:
    """The continuation of each slot of each sentence, best first, [B, K].

    ``parents`` are the beams that they extend, ``sums`` the summed log-probabilities: -inf for an
    empty slot.
    """

    parents: NDArray[np.int64]
    tokens: Ids
    sums: Floats


def penalty(lengths: int | NDArray[np.int64], alpha: float) -> NDArray[np.float64]:
    """``((5 + length) / 6) ** alpha``, Wu et al. 2016, equation 14."""
    return ((5.0 + np.asarray(lengths, np.float64)) / 6.0) ** alpha


def coverage_penalty(coverage: Floats, beta: float) -> float:
    """``beta * sum of log(min(coverage, 1))``, Wu et al. 2016, equation 15; ``coverage`` is [S]."""
    covered = np.clip(coverage.astype(np.float64), _MIN_COVERAGE, 1.0)
    return beta * float(np.log(covered).sum())


def best(sums: Floats, candidates: Candidates) -> Continuations:
    """Return the K best continuations of each sentence; ties: lower token id, then lower beam."""
    count, beams = sums.shape
    totals = (sums[..., None] + candidates.scores).reshape(count, -1)  # [B, K * C]
    ids = candidates.ids.reshape(count, -1)
    # lexsort's last key is the first to decide; it is stable, so that equal tokens of
    # equal score keep the order of their beams.
    order = np.lexsort((ids, -totals), axis=-1)[:, :beams]
    rows = np.arange(count)[:, None]
    return Continuations(order // candidates.ids.shape[2], ids[rows, order], totals[rows, order])


def forced_steps(
    model: StepModel, source: Ids, targets: Ids, attention: bool = False
) -> Iterator[tuple[Floats, Floats | None]]:
    """Decode given translations, [B, T], padded with END, of sources with special tokens, [B, S].
    Yields log-probabilities [B, V] and, if requested, attention [B, L, h, S] of each step."""
    state, last = model.encode(source), np.full((len(targets), 1), START_ID, np.int32)
    for step in range(targets.shape[1]):
        ancestry = np.ones((len(targets), 1, step + 1), np.bool_)
        weights = model.attention(state, last, ancestry)[:, :, :, 0] if attention else None
        log_probs, state = model.log_probs(state, last, ancestry)
        yield log_probs[:, 0], weights
        last = targets[:, step : step + 1]


def force(
    model: StepModel, source: Ids, targets: Sequence[Sequence[int]], attention: bool = False
) -> list[Hypothesis]:
    """Score given translations, without END; see :func:`forced_steps`."""
    table = np.full((len(targets), max(map(len, targets)) + 1), END_ID, np.int32)
    for row, ids in zip(table, targets, strict=True):
        row[: len(ids)] = ids
    scores = np.zeros(table.shape, np.float32)
    steps: list[Floats] = []
    for step, (log_probs, weights) in enumerate(forced_steps(model, source, table, attention)):
        scores[:, step] = log_probs[np.arange(len(table)), table[:, step]]
        if weights is not None:
            steps.append(weights)
    maps = np.stack(steps, axis=3) if steps else None  # [B, L, h, T, S]
    sums = np.add.accumulate(scores, axis=1)  # in float32 and in order, as the search adds
    return [
        Hypothesis(
            list(ids),
            float(sums[row, len(ids)]),
            scores[row, : len(ids) + 1].tolist(),
            # Of its own steps only: what follows them depends on the batch.
            aligning_weights(maps[row, None, :, :, : len(ids) + 1], model.alignment_heads)[0]
            if maps is not None
            else None,
        )
        for row, ids in enumerate(targets)
    ]
