"""Forced decoding: probabilities and attention of given translations, token by token.

B sentences, S source positions, T tokens of a translation, END included, V vocabulary, L layers
of h heads.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.attention import AttentionMaps, Weights, aligning_layer
from nmt_cli.search.ranking import Hypothesis
from nmt_cli.search.step_model import StepModel
from nmt_cli.text.tokenizer import END_ID, START_ID, TokenizerPair


def forced_steps(
    model: StepModel, source: NDArray[np.int32], targets: NDArray[np.int32], attention: bool = False
) -> Iterator[tuple[NDArray[np.float32], Weights | None]]:
    """Decode given translations step by step.

    Args:
        source: [B, S], framed and padded.
        targets: [B, T], padded with END.
        attention: also compute attention weights.

    Yields:
        Log-probabilities [B, V] and attention weights [B, L, h, S] of each step.

    Raises:
        NmtError: attention is requested, and the model does not give it.
    """
    state, last = model.encode(source), np.full((len(targets), 1), START_ID, np.int32)
    for step in range(targets.shape[1]):
        ancestry = np.ones((len(targets), 1, step + 1), np.bool_)
        weights = model.attention(state, last, ancestry)[:, :, :, 0] if attention else None
        log_probs, state = model.log_probs(state, last, ancestry)
        yield log_probs[:, 0], weights
        last = targets[:, step : step + 1]


def force(
    model: StepModel,
    source: NDArray[np.int32],
    targets: Sequence[Sequence[int]],
    attention: bool = False,
) -> list[Hypothesis]:
    """Score given translations, without END; other arguments and errors as of forced_steps."""
    table = np.full((len(targets), max(map(len, targets)) + 1), END_ID, np.int32)
    for row, ids in zip(table, targets, strict=True):
        row[: len(ids)] = ids
    scores = np.zeros(table.shape, np.float32)
    aligned: list[Weights] = []
    for step, (log_probs, weights) in enumerate(forced_steps(model, source, table, attention)):
        scores[:, step] = log_probs[np.arange(len(table)), table[:, step]]
        if weights is not None:
            aligned.append(aligning_layer(weights))
    maps = np.stack(aligned, axis=1) if aligned else None  # [B, T, S]
    sums = np.add.accumulate(scores, axis=1)  # in float32 and in order, as the search adds
    return [
        Hypothesis(
            list(ids),
            float(sums[row, len(ids)]),
            scores[row, : len(ids) + 1].tolist(),
            None if maps is None else maps[row, : len(ids) + 1],
        )
        for row, ids in enumerate(targets)
    ]


def forced_attention(
    model: StepModel, tokenizers: TokenizerPair, source: str, target_ids: Sequence[int]
) -> AttentionMaps:
    """Attention of all layers and heads to a line, as its translation, without END, is decoded.

    Raises:
        NmtError: the model does not give attention weights.
    """
    (ids,) = tokenizers.source.encode([source])
    framed, target = tokenizers.source.frame_source(ids), [*target_ids, END_ID]
    steps = forced_steps(
        model, np.array([framed], np.int32), np.array([target], np.int32), attention=True
    )
    cross = np.stack([weights[0] for _, weights in steps if weights is not None], axis=2)
    return AttentionMaps(framed, target, cross)
