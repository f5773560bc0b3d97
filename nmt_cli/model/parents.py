"""The states of beams' parents, for decoders that carry a state from step to step."""

from typing import Any

import keras
from keras import ops


class Parents:
    """Finds each beam's parent, the beam of the step before that it continues.

    Like the caches of attention, those of states only grow: the columns of step t are t * K to
    t * K + K - 1, and unused ones may follow. A step reads only the columns of the step before.

    Args:
        ancestry: bool [B, K, P + K], the columns that belong to each beam's past, and its own.
        position: int32 [1], number of the step.
        beams, columns: K and P.
    """

    def __init__(self, ancestry: Any, position: Any, beams: Any, columns: Any) -> None:
        self._is_first = ops.cast(ops.equal(position, 0), "float32")  # [1]
        end = ops.squeeze(position) * beams
        start = end - beams  # at the first step, columns -K to 0 are none
        if keras.backend.backend() == "jax":  # it cannot slice a range that it does not know
            numbers = ops.arange(columns)
            window = ops.logical_and(numbers >= start, numbers < end)
            self._window, found = slice(None), ops.logical_and(ancestry[:, :, :columns], window)
        else:
            self._window = slice(start, end)
            found = ancestry[:, :, self._window]
        self._found = ops.expand_dims(ops.cast(found, "float32"), 1)  # [B, 1, K, K]

    def rows(self, cache: Any, first: Any = None) -> Any:
        """Return the parents' columns of a cache [B, 1, P, d] as rows [B * K, d].

        At the first step they are ``first``, [B, 1, 1, d], or zeros.
        """
        states = ops.matmul(self._found, cache[:, :, self._window])
        if first is not None:
            states = states + self._is_first * first
        return ops.reshape(states, (-1, cache.shape[-1]))
