"""The interface between the search and the frameworks that run a model, and ensembles.

The search is written once, in numpy, over this interface; Keras and ONNX Runtime implement it. B is
the number of sentences, S the source width, K the beam size, V the vocabulary, t the steps so far.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Ids of tokens; log-probabilities and weights; which columns of the caches a beam sees.
Ids = NDArray[np.int32]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
# Layer and head whose weights align words, and 1 if those of the next step, which reads the token,
# align the token of a step; 0 otherwise.
Head = tuple[int, int, int]


@dataclass(frozen=True)
class Candidates:
    """The best continuations of each beam, best first; of equal scores the lower token id first.
    Log-probabilities, float32, and tokens, int32, both [B, K, C]."""

    scores: Floats
    ids: Ids


def worth_dropping(count: int, left: int) -> bool:
    """Whether to continue with only the sentences that are left.
    Copying the caches costs about as much as one step of a quarter of the sentences."""
    return left <= count - max(1, math.ceil(count / 4))


class BatchTooLarge(Exception):
    """There is not enough memory for a batch; a smaller one may fit."""


class StepModel(Protocol):
    """A translation model, one target position at a time.

    The state that :meth:`encode` gives is opaque to search: encoder keys and values, and
    the decoder's own caches, which grow by K columns per step and are never reordered.
    """

    @property
    def alignment_heads(self) -> Sequence[Head]:
        """The heads that align words best; see :func:`aligning_weights`."""

    def encode(self, source: Ids) -> Any:
        """Read source ids [B, S], padded with PAD; returns the state before step 0."""

    def step(self, state: Any, tokens: Ids, ancestry: Mask) -> tuple[Candidates, Any]:
        """Read the last token of each beam and rank what may follow.

        Args:
            state: used up by the step.
            tokens: [B, K], the last token of each beam.
            ancestry: [B, K, (t + 1) * K]: which cache columns are the beam's own history, the token
                just given included: its column is ``t * K + k`` for beam k.

        Returns:
            The K best candidates of each beam (C = K; the arrays may be the state's own, good until
            its next step), and the new state.
        """

    def log_probs(self, state: Any, tokens: Ids, ancestry: Mask) -> tuple[Floats, Any]:
        """As :meth:`step`, but all log-probabilities, float32 [B, K, V], the caller's own."""

    def attention(self, state: Any, tokens: Ids, ancestry: Mask) -> Floats:
        """Attention of the next step to the source, float32 [B, L, h, K, S], L layers of h heads.

        Rows sum to 1. The state stays valid: :meth:`step` or :meth:`log_probs` follows.

        Raises:
            NmtError: the model does not give attention weights.
        """

    def self_attention(self, source: Ids, target: Ids) -> dict[str, Floats]:
        """Self-attention of source ids [B, S] and of what the decoder reads, [B, T], as far as the
        model has and provides it: "encoder", float32 [B, L, h, S, S], and "decoder",
        [B, L, h, T, T]. Rows sum to 1."""

    def select(self, state: Any, rows: NDArray[np.int64]) -> Any:
        """The state of the sentences ``rows`` (ascending) only; the old one is used up."""


def top_candidates(log_probs: Floats, count: int) -> Candidates:
    """Return the ``count`` best tokens of each beam of [B, K, V], as a model's step ranks them."""
    count = min(count, log_probs.shape[2])
    # As integers that sort as the floats do, the token id in the lower half: no two are equal.
    bits = np.ascontiguousarray(log_probs, np.float32).view(np.uint32)
    ranks = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)).astype(np.uint64)
    ids = np.arange(log_probs.shape[2], dtype=np.uint64)
    keys = (ranks << np.uint64(32)) | (np.uint64(2**32 - 1) - ids)
    top = np.argpartition(keys, -count, axis=2)[..., -count:]
    order = np.argsort(np.take_along_axis(keys, top, axis=2), axis=2)[..., ::-1]
    top = np.take_along_axis(top, order, axis=2)
    return Candidates(np.take_along_axis(log_probs, top, axis=2), top.astype(np.int32))


# With fewer layers, the last one aligns content words, and the one before it function words.
_MIN_LAYERS = 4
_SHARE_OF_LAST = 2 / 3


def aligning_weights(weights: Floats, heads: Sequence[Head] = ()) -> Floats:
    """Return the weights that align words best, [B, L, h, ..., S] to [B, ..., S].

    With ``heads``, of all steps, [B, L, h, T, S]: the geometric mean of these. Otherwise, the mean
    over the heads of the penultimate layer (Garg et al. 2019, https://arxiv.org/abs/1909.02074,
    section 3.1), or of the only layer. Of two or three layers, the geometric mean of the last two:
    with `exports/`, it aligns 99% of the words that are equal on both sides to each other, and the
    penultimate layer 87%.
    """
    if heads:
        steps = np.arange(weights.shape[3])
        rows = [
            weights[:, layer, head, np.minimum(steps + later, steps[-1])]
            for layer, head, later in heads
        ]
        return _normalized(np.exp(np.log(np.maximum(rows, 1e-9)).mean(axis=0)))
    layers = weights.mean(axis=2)
    if layers.shape[1] == 1 or layers.shape[1] >= _MIN_LAYERS:
        return layers[:, max(0, layers.shape[1] - 2)]
    mixed = layers[:, -2] ** (1 - _SHARE_OF_LAST) * layers[:, -1] ** _SHARE_OF_LAST
    return _normalized(mixed).astype(weights.dtype)


def _normalized(weights: Floats) -> Floats:
    return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-9)


class EnsembleStepModel:
    """Several models with the same vocabularies as one, with averaged probabilities."""

    alignment_heads = ()

    def __init__(self, models: Sequence[StepModel]) -> None:
        self._models = list(models)

    def encode(self, source: Ids) -> list[Any]:
        """Return the state of each model."""
        return [model.encode(source) for model in self._models]

    def step(self, states: list[Any], tokens: Ids, ancestry: Mask) -> tuple[Candidates, list[Any]]:
        """Rank continuations by the averaged probabilities."""
        log_probs, states = self.log_probs(states, tokens, ancestry)
        return top_candidates(log_probs, tokens.shape[1]), states

    def log_probs(self, states: list[Any], tokens: Ids, ancestry: Mask) -> tuple[Floats, list[Any]]:
        """Return logarithms of the mean probabilities."""
        pairs = zip(self._models, states, strict=True)
        outputs = [model.log_probs(state, tokens, ancestry) for model, state in pairs]
        log_probs, new_states = zip(*outputs, strict=True)
        mean = reduce(np.logaddexp, log_probs) - np.float32(np.log(len(outputs)))
        return mean, list(new_states)

    def attention(self, states: list[Any], tokens: Ids, ancestry: Mask) -> Floats:
        """Return the mean of the models' aligning layers, as one layer of one head."""
        pairs = zip(self._models, states, strict=True)
        weights = [model.attention(state, tokens, ancestry) for model, state in pairs]
        return np.mean([aligning_weights(layers) for layers in weights], axis=0)[:, None, None]

    def self_attention(self, source: Ids, target: Ids) -> dict[str, Floats]:
        """Return nothing: the models' layers have nothing in common."""
        return {}

    def select(self, states: list[Any], rows: NDArray[np.int64]) -> list[Any]:
        """Return the state of these sentences only."""
        pairs = zip(self._models, states, strict=True)
        return [model.select(state, rows) for model, state in pairs]
