"""Rank continuations and hypotheses in ONNX operators, with the results of `nmt_cli/search/`.

Shapes: B sentences, K beams, N hypotheses returned, C candidates a beam, V vocabulary, t steps so
far.
"""

from typing import Any

import numpy as np
import onnx_ir as ir

from nmt_cli.model.onnx_ops import Ops

# Of an empty slot, and of a missing hypothesis.
NO_SUM, NO_SCORE = -np.float32("inf"), -np.float64("inf")
Values = tuple[Any, Any]


def forbid_repeats(op: Ops, size: Any, log_probs: Any, past: Any) -> Any:
    """Allow no sequence of ``size`` tokens to occur twice; 0 for no limit.

    Args:
        size: int64 [1].
        log_probs: of the next token, float32 [B, K, V].
        past: int32 [B, K, t].

    Returns:
        The log-probabilities, -inf for a token that must not follow.
    """
    length, back = op.size(past, 2), op.Range(1, op.Squeeze(size), 1)
    places, padded = op.count(length), op.widen(past, 1, 2, 3)  # Gather refuses an empty axis
    # What precedes each token, and the next one: size - 1 tokens.
    before = op.Gather(padded, op.Max(op.Sub(op.Unsqueeze(places, [1]), back), 0), axis=2)
    last = op.Gather(padded, op.Max(op.Sub(length, back), 0), axis=2)
    differs = op.Cast(op.Not(op.Equal(before, op.Unsqueeze(last, [2]))), to=ir.DataType.INT32)
    repeats = op.Equal(op.ReduceSum(differs, [3], keepdims=0), np.int32(0))
    is_ngram = op.And(op.Greater(size, 0), op.Less(op.Sub(size, 2), places))
    most = op.Where(op.And(repeats, is_ngram), NO_SUM, -NO_SUM)
    return op.ScatterElements(log_probs, past, most, axis=2, reduction="min")


def best_continuations(op: Ops, beams: Any, sums: Any, scores: Any, ids: Any) -> tuple[Any, ...]:
    """Parents, tokens and sums of the K best, [B, K], of candidates [B, K, C] of beams [B, K]."""
    totals = op.Reshape(op.Add(op.Unsqueeze(sums, [2]), scores), [0, -1])  # [B, K * C]
    # TopK keeps the order of equal values: equal totals are ordered by token, then by beam.
    ids, by_token = op.TopK(op.Reshape(ids, [0, -1]), op.size(totals, 1), largest=0, outputs=2)
    totals = op.GatherElements(totals, by_token, axis=1)
    sums, order = op.TopK(totals, beams, outputs=2)
    parents = op.Div(op.GatherElements(by_token, order, axis=1), op.size(scores, 2))
    return parents, op.GatherElements(ids, order, axis=1), sums


def best_hypotheses(op: Ops, count: Any, kept: Values, more: Values, closed: Any) -> Values:
    """The N best of two sets of hypotheses, each with scores [B, N] and ids [B, N, t].

    Where ``closed``, [B, 1], those that are kept come first, in their order.
    """
    first = op.Where(op.Greater(kept[0], NO_SCORE), -NO_SCORE, NO_SCORE)
    rank = op.Concat(op.Where(closed, first, kept[0]), more[0], axis=1)
    _, order = op.TopK(rank, count, outputs=2)
    scores, ids = (op.Concat(*both, axis=1) for both in zip(kept, more, strict=True))
    return op.GatherElements(scores, order, axis=1), of_beams(op, ids, order)


def penalty(op: Ops, lengths: Any, alpha: Any) -> Any:
    """Like nmt_cli.search.ranking.penalty."""
    lengths = op.Cast(lengths, to=ir.DataType.DOUBLE)
    return op.Pow(op.Div(op.Add(lengths, 5.0), 6.0), alpha)


def of_beams(op: Ops, values: Any, beams: Any) -> Any:
    """What belongs to some beams [B, K] of each sentence, of values [B, K, ...]."""
    return op.GatherND(values, op.Unsqueeze(beams, [-1]), batch_dims=1)
