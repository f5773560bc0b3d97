"""Hypotheses and their scores."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.attention import Weights

# Lower bound of coverage, which keeps its logarithm finite.
_LEAST_COVERAGE = 1e-9


@dataclass(frozen=True)
class Hypothesis:
    """A translation as ids, END excluded.

    Attributes:
        ids: its tokens.
        score: penalised sum of their log-probabilities and END's; not penalised in forced
            decoding.
        token_scores: log-probabilities of the tokens and of END, if it has one, [T].
        attention: of each token to the source in the layer that aligns best, [T, S]; None if not
            computed.
    """

    ids: list[int]
    score: float
    token_scores: list[float]
    attention: Weights | None = field(default=None, compare=False)


def penalty(lengths: int | NDArray[np.int64], alpha: float) -> NDArray[np.float64]:
    """``((5 + length) / 6) ** alpha``, Wu et al. 2016, equation 14."""
    return ((5.0 + np.asarray(lengths, np.float64)) / 6.0) ** alpha


def coverage_penalty(coverage: NDArray[np.float32], beta: float) -> float:
    """``beta * sum of log(min(coverage, 1))``, Wu et al. 2016, equation 15.

    Args:
        coverage: total attention to each source token, [S].
        beta: 0 for none.
    """
    covered = np.clip(coverage.astype(np.float64), _LEAST_COVERAGE, 1.0)
    return beta * float(np.log(covered).sum())
