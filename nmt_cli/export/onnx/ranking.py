"""Rank continuations and hypotheses in ONNX operators, with the results of `nmt_cli/search/`.

Shapes: B sentences, K beams, N hypotheses returned, C candidates a beam, V vocabulary, t steps so
far.
"""

from typing import Any

import numpy as np
import onnx_ir as ir

from nmt_cli.export.onnx.ops import Ops
from nmt_cli.text.tokenizer import END_ID

# Of an empty slot, and of a missing hypothesis.
NO_SUM, NO_SCORE = -np.float32("inf"), -np.float64("inf")
Values = tuple[Any, Any]


def forbid(op: Ops, size: Any, least: Any, log_probs: Any, past: Any) -> Any:
    """Forbid what would repeat a sequence of ``size`` tokens, and the end before ``least`` tokens.

    Args:
        size: int64 [1]; 0 for no limit.
        least: int64 [1].
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
    shape = op.Concat(op.size(past, 0), op.size(past, 1), [1], axis=0)
    end = op.Expand(np.int32(END_ID), shape)
    most_end = op.Expand(op.Where(op.Less(length, least), NO_SUM, -NO_SUM), shape)
    tokens, most = op.Concat(past, end, axis=2), op.Concat(most, most_end, axis=2)
    return op.ScatterElements(log_probs, tokens, most, axis=2, reduction="min")


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
    """Like nmt_cli.search.hypotheses.penalty."""
    lengths = op.Cast(lengths, to=ir.DataType.DOUBLE)
    return op.Pow(op.Div(op.Add(lengths, 5.0), 6.0), alpha)


def of_beams(op: Ops, values: Any, beams: Any) -> Any:
    """What belongs to some beams [B, K] of each sentence, of values [B, K, ...]."""
    return op.GatherND(values, op.Unsqueeze(beams, [-1]), batch_dims=1)
