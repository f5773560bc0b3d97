"""Choose continuations under processors, constraints and sampling.

B sentences still in the batch, K beams, V vocabulary, T tokens so far.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.constraints import constrained_best
from nmt_cli.search.hypotheses import Continuations, best, top_candidates
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.processors import Processor
from nmt_cli.search.step_model import Floats
from nmt_cli.text.tokenizer import PAD_ID, START_ID

if TYPE_CHECKING:
    from nmt_cli.search.beam import Beams


def choose(beams: "Beams", log_probs: Floats, processors: Sequence[Processor]) -> Continuations:
    """Choose the continuation of each slot; ``log_probs``, [B, K, V], are changed in place."""
    segments = [beams.segments[row] for row in beams.rows.tolist()]
    step, past, sums = beams.steps, beams.history(), beams.sums
    # Processors must not forbid what a sentence must contain.
    free = {
        row: log_probs[row].copy()
        for row, each in enumerate(segments)
        if each.phrases or step < len(each.prefix)
    }
    for process in processors:
        process(log_probs, past)
    for row, each in enumerate(segments):
        if step < len(each.prefix):
            token = each.prefix[step]
            log_probs[row] = -np.inf
            log_probs[row, :, token] = free.pop(row)[:, token]
    if beams.options.sample:
        # One generator per sentence: its samples do not depend on the batch.
        chances = np.stack([beams.generators[row].random(sums.shape[1]) for row in beams.rows])
        return _sampled(sums, log_probs, chances, beams.options)
    chosen = best(sums, top_candidates(log_probs, sums.shape[1]))
    for row, unruled in free.items():
        found = constrained_best(
            sums[row],
            log_probs[row],
            unruled,
            past[row],
            segments[row].phrases,
            slots=sums.shape[1] - int(beams.finished[row]),
            last=step + 1 >= beams.limits[row],
        )
        chosen.sums[row] = -np.inf
        for slot, (negative, token, beam) in enumerate(found):
            chosen.sums[row, slot] = -negative
            chosen.tokens[row, slot] = token
            chosen.parents[row, slot] = beam
    return chosen


def _sampled(
    sums: Floats, log_probs: Floats, chances: NDArray[np.float64], options: SearchOptions
) -> Continuations:
    """Sample one continuation of each beam; open beams come first.

    The sampled token is the one at which the cumulative probability exceeds the chance, [B, K].
    Top-p is nucleus sampling (Holtzman et al. 2020, https://arxiv.org/abs/1904.09751).
    """
    vocabulary = log_probs.shape[2]
    top_p = options.top_p or 1.0
    if options.top_k or top_p < 1:  # only these need the tokens in order
        candidates = top_candidates(log_probs, options.top_k or vocabulary)
        ids, scores = candidates.ids, candidates.scores.astype(np.float64)
    else:
        ids = np.broadcast_to(np.arange(vocabulary, dtype=np.int32), log_probs.shape)
        scores = log_probs.astype(np.float64)
    scores = np.where((ids == PAD_ID) | (ids == START_ID), -np.inf, scores)  # never text
    scores /= options.temperature or 1.0
    probabilities = np.exp(scores - scores.max(axis=2, keepdims=True))
    cumulative = probabilities.cumsum(axis=2)
    if top_p < 1:
        # The token that exceeds the threshold is the last that may be sampled.
        enough = cumulative - probabilities < top_p * cumulative[..., -1:]
        probabilities = np.where(enough, probabilities, 0)
        cumulative = probabilities.cumsum(axis=2)
    # The first sum above the chance belongs to a token with nonzero probability.
    places = (cumulative > chances[..., None] * cumulative[..., -1:]).argmax(axis=2)
    tokens = np.take_along_axis(ids, places[..., None], axis=2)
    added = np.take_along_axis(log_probs, tokens, axis=2)[..., 0]
    # Slots of finished samples come last, where the search expects them.
    parents = np.argsort(sums == -np.inf, axis=1, kind="stable")
    rows = np.arange(len(sums))[:, None]
    return Continuations(parents, tokens[rows, parents, 0], (sums + added)[rows, parents])
