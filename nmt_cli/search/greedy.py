"""Greedy search over a step model: beam search with one beam, without its bookkeeping.

A step of one sentence takes a tenth of a millisecond, of which that would be a third.
"""

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.hypotheses import Hypothesis, penalty
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.step_model import Ids, StepModel, worth_dropping
from nmt_cli.text.tokenizer import END_ID, START_ID


def greedy_search(
    model: StepModel, source: Ids, limits: NDArray[np.int64], options: SearchOptions
) -> list[list[Hypothesis]]:
    """Follow the most probable token of each sentence; ties: the lower id.

    The source, [B, S], is framed and padded; limits, [B], are maximum numbers of tokens with END.
    Returns one hypothesis for each sentence, in order.
    """
    count, longest = len(source), int(limits.max(initial=0))
    tokens = np.zeros((count, longest), np.int32)
    totals = np.zeros((count, longest), np.float32)
    lengths = np.zeros(count, np.int64)  # 0 while open
    past = np.ones((count, 1, longest), np.bool_)
    rows, steps = np.arange(count), 0
    last, sums = np.full((count, 1), START_ID, np.int32), np.zeros((count, 1), np.float32)
    state = model.encode(source) if count else None
    while len(rows):
        candidates, state = model.step(state, last, past[: len(rows), :, : steps + 1])
        last, sums = candidates.ids[:, :, 0].copy(), sums + candidates.scores[:, :, 0]
        tokens[rows, steps], totals[rows, steps] = last[:, 0], sums[:, 0]
        steps += 1
        done = (last[:, 0] == END_ID) | (steps >= limits[rows])
        if not done.any():
            continue
        ended = rows[done]
        lengths[ended] = np.where(lengths[ended], lengths[ended], steps)
        keep = np.flatnonzero(lengths[rows] == 0)
        if not len(keep):
            break
        if worth_dropping(len(rows), len(keep)):
            rows, last, sums = rows[keep], last[keep], sums[keep]
            state = model.select(state, keep)
    return [
        [_hypothesis(tokens[row, :length].tolist(), totals[row, :length].tolist(), options)]
        for row, length in enumerate(lengths)
    ]


def _hypothesis(tokens: list[int], sums: list[float], options: SearchOptions) -> Hypothesis:
    """The hypothesis of tokens with their summed log-probabilities."""
    score = sums[-1] / float(penalty(len(tokens), options.length_penalty))
    scores = [now - before for before, now in zip([0.0, *sums], sums, strict=False)]
    return Hypothesis(tokens[:-1] if tokens[-1] == END_ID else tokens, score, scores)
