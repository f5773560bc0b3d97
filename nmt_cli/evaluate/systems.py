"""Scores of several systems on one text, with confidence intervals and significance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt_cli.evaluate.counts import Counts

# sacreBLEU's defaults, which its signatures contain: bootstrap samples and seed.
DRAWS, SEED = 1000, 12345


@dataclass(frozen=True)
class System:
    """A system's translations of one text, and the counts of every metric in them."""

    name: str
    translations: Sequence[str]
    counts: Sequence[Counts]


@dataclass(frozen=True)
class Result:
    """A system's score by one metric, 0 to 100 (TER: lower is better, may be above 100).

    Attributes:
        low, high: 95% bootstrap interval of the score.
        p: p-value of the paired bootstrap test against the first system; None for the first.
        signature: sacreBLEU's.
    """

    system: str
    metric: str
    score: float
    low: float
    high: float
    p: float | None
    signature: str


def compare(systems: Sequence[System]) -> list[Result]:
    """Compare systems with the first, the baseline; results by metric, then by system.

    The paired bootstrap test of Koehn (2004) as in sacreBLEU's ``--paired-bs``: DRAWS samples of
    the text's sentences, with replacement, the same for all systems.
    """
    everything = [counts for system in systems for counts in system.counts]
    drawn = iter(_drawn_scores(everything))
    scores = {(each.name, counts.name): next(drawn) for each in systems for counts in each.counts}
    results = []
    for place, first in enumerate(systems[0].counts):
        whole = first.score(first.rows.sum(axis=0))
        for system in systems:
            counts = system.counts[place]
            score = counts.score(counts.rows.sum(axis=0))
            mine = scores[system.name, counts.name]
            low, high = _interval(mine)
            p = None
            if system is not systems[0]:
                p = _p_value(mine, scores[systems[0].name, counts.name], abs(score - whole))
            results.append(
                Result(system.name, counts.name, score, low, high, p, _signature(counts))
            )
    return results


def _drawn_scores(everything: Sequence[Counts]) -> list[NDArray[np.float64]]:
    """Return the scores of each in every bootstrap sample, each [DRAWS].

    Samples are generated one by one: sacreBLEU's need 1 GB for chrF++ of 10,000 sentences.
    """
    rng = np.random.default_rng(SEED)
    rows = np.hstack([each.rows for each in everything])
    sentences = len(rows)
    sums = np.stack(
        [
            np.bincount(rng.choice(sentences, sentences), minlength=sentences).astype(float) @ rows
            for _ in range(DRAWS)
        ]
    )
    ends = np.cumsum([each.rows.shape[1] for each in everything])
    return [
        np.array([each.score(row) for row in part])
        for each, part in zip(everything, np.split(sums, ends[:-1], axis=1), strict=True)
    ]


def _interval(scores: NDArray[np.float64]) -> tuple[float, float]:
    """Return the central 95% of the scores."""
    ordered, cut = np.sort(scores), len(scores) // 40
    return float(ordered[cut]), float(ordered[-1 - cut])


def _p_value(
    scores: NDArray[np.float64], baseline: NDArray[np.float64], difference: float
) -> float:
    """Return how often differences exceed their mean by the real difference or more.

    sacreBLEU counts only those that exceed it by more: identical translations would then differ
    with p = 0.001.
    """
    apart = np.abs(scores - baseline)
    reached = int(np.sum(apart - apart.mean() >= difference))
    return (reached + 1) / (len(apart) + 1)


def _signature(counts: Counts) -> str:
    signature = counts.signature()
    signature.update("seed", SEED)
    signature.update("bs", DRAWS)
    return str(signature)
