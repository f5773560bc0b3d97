"""The interface between the search and the frameworks that run a model.

The search is written once, in numpy, over this interface; Keras and ONNX Runtime implement it.
B is the number of sentences in the batch, S the source width, K the beam size, t the number of
steps taken so far.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Ids of tokens; log-probabilities and weights; which columns of the caches a beam sees.
Ids = NDArray[np.int32]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Candidates:
    """The best continuations of each beam, best first; of equal scores the lower token id first.

    Log-probabilities, float32, and tokens, int32, both [B, K, C].
    """

    scores: Floats
    ids: Ids


# Compact the batch when this fraction of its sentences is done: copying the caches costs
# about as much as one step of the sentences that leave.
DONE_SHARE = 0.25


def worth_dropping(count: int, left: int) -> bool:
    """Whether to continue with only the sentences that are left."""
    return left <= count - max(1, math.ceil(DONE_SHARE * count))


class BatchTooLarge(Exception):
    """There is not enough memory for a batch; a smaller one may fit."""


class StepModel(Protocol):
    """A translation model, one target position at a time.

    The state that :meth:`encode` gives is opaque to search: encoder keys and values, and
    the decoder's own caches, which grow by K columns per step and are never reordered.
    """

    def encode(self, source: Ids) -> Any:
        """Read source ids [B, S], padded with PAD; returns the state before step 0."""

    def step(self, state: Any, tokens: Ids, ancestry: Mask) -> tuple[Candidates, Any]:
        """Read the last token of each beam and rank what may follow.

        Args:
            state: used up by the step.
            tokens: [B, K], the last token of each beam.
            ancestry: [B, K, (t + 1) * K]: which cache columns are the beam's own history,
                the token just given included (column ``t * K + k`` for beam k: a beam
                always sees its own last token, and nobody else's).

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
        """Self-attention of source ids [B, S] and of what the decoder reads, [B, T].

        Returns:
            "encoder" float32 [B, L, h, S, S] and "decoder" [B, L, h, T, T], of those that the model
            has and provides. Rows sum to 1.
        """

    def select(self, state: Any, rows: NDArray[np.int64]) -> Any:
        """The state of the sentences ``rows`` (ascending) only; the old one is used up."""
