"""Continuations of beams: the best ones, or sampled ones.

B sentences, K beams, C candidates a beam, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.options import SearchOptions
from nmt_cli.search.step_model import Candidates
from nmt_cli.text.tokenizer import PAD_ID, START_ID


@dataclass(frozen=True)
class Continuations:
    """The continuation of each slot of each sentence, best first.

    Attributes:
        parents: int64 [B, K], the beam that each extends.
        tokens: int32 [B, K].
        sums: float32 [B, K], summed log-probabilities; -inf for an empty slot.
    """

    parents: NDArray[np.int64]
    tokens: NDArray[np.int32]
    sums: NDArray[np.float32]


def best(sums: NDArray[np.float32], candidates: Candidates) -> Continuations:
    """The K best of each sentence; ties: lower token id, then lower beam."""
    count, beams = sums.shape
    totals = (sums[..., None] + candidates.scores).reshape(count, -1)  # [B, K * C]
    ids = candidates.ids.reshape(count, -1)
    if beams == 1:  # greedy: the best of one beam is the first of its candidates
        return Continuations(np.zeros((count, 1), np.int64), ids[:, :1].copy(), totals[:, :1])
    # lexsort's last key is the first to decide; it is stable, so that equal tokens of
    # equal score keep the order of their beams.
    order = np.lexsort((ids, -totals), axis=-1)[:, :beams]
    parents = order // candidates.ids.shape[2]
    rows = np.arange(count)[:, None]
    return Continuations(parents, ids[rows, order], totals[rows, order])


def top_candidates(log_probs: NDArray[np.float32], count: int) -> Candidates:
    """The best tokens of each beam, as a model's own step ranks them.

    Args:
        log_probs: [B, K, V].
        count: C.
    """
    count = min(count, log_probs.shape[2])
    # As integers that sort as the floats do, the token id in the lower half: no two are equal.
    bits = np.ascontiguousarray(log_probs, np.float32).view(np.uint32)
    ranks = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint64)
    ids = np.arange(log_probs.shape[2], dtype=np.uint64)
    keys = (ranks << np.uint64(32)) | (np.uint64(2**32 - 1) - ids)
    found = np.argpartition(keys, -count, axis=2)[..., -count:]
    order = np.argsort(np.take_along_axis(keys, found, axis=2), axis=2)[..., ::-1]
    found = np.take_along_axis(found, order, axis=2)
    return Candidates(np.take_along_axis(log_probs, found, axis=2), found.astype(np.int32))


def sampled(
    sums: NDArray[np.float32],
    log_probs: NDArray[np.float32],
    generators: "Sequence[np.random.Generator]",  # quoted: numpy.random takes 10 ms to import
    options: SearchOptions,
) -> Continuations:
    """Sample one continuation of each beam; open beams come first.

    Args:
        sums: [B, K].
        log_probs: [B, K, V].
        generators: one per sentence, whose samples so do not depend on the batch.
        options: top-k, top-p and temperature.
    """
    chances = np.stack([each.random(sums.shape[1]) for each in generators])  # [B, K]
    tokens = _drawn(log_probs, chances, options)
    added = np.take_along_axis(log_probs, tokens[..., None], axis=2)[..., 0]
    # Slots of finished samples come last, where the search expects them.
    parents = np.argsort(sums == -np.inf, axis=1, kind="stable")
    rows = np.arange(len(sums))[:, None]
    return Continuations(parents, tokens[rows, parents], (sums + added)[rows, parents])


def _drawn(
    log_probs: NDArray[np.float32], chances: NDArray[np.float64], options: SearchOptions
) -> NDArray[np.int32]:
    """The tokens at which the cumulative probabilities exceed the chances, [B, K].

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
    scores -= scores.max(axis=2, keepdims=True)
    probabilities = np.exp(scores)
    sums = probabilities.cumsum(axis=2)
    if top_p < 1:
        # The token that exceeds the threshold is the last that may be sampled.
        enough = sums - probabilities < top_p * sums[..., -1:]
        probabilities = np.where(enough, probabilities, 0)
        sums = probabilities.cumsum(axis=2)
    # The first sum above the chance belongs to a token with nonzero probability.
    places = (sums > chances[..., None] * sums[..., -1:]).argmax(axis=2)
    return np.take_along_axis(ids, places[..., None], axis=2)[..., 0]
