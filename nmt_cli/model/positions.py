"""Position encodings."""

from abc import ABC, abstractmethod
from typing import Any

import keras
from keras import ops

from nmt_cli.model.layers import SameShape


def sinusoids(positions: Any, d_model: int, interleaved: bool = True) -> Any:
    """Return sinusoidal vectors, float32 [T, d], for positions [T].

    ``PE(pos, 2i) = sin(pos / 10000^(2i/d))``, ``PE(pos, 2i+1) = cos(...)`` of the same angle
    (Vaswani et al. 2017, section 3.5). ``d_model`` is even, any length works. Not interleaved, all
    sines come before all cosines, as in the TensorFlow tutorial.
    """
    rates = [10000.0 ** (-2 * i / d_model) for i in range(d_model // 2)]
    angles = ops.expand_dims(ops.cast(positions, "float32"), 1) * ops.convert_to_tensor([rates])
    if not interleaved:
        return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=1)
    waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=2)  # [T, d/2, 2]
    return ops.reshape(waves, (-1, d_model))


class _Positions(SameShape, ABC):
    """Adds a vector for each position."""

    def call(self, vectors: Any) -> Any:
        """Add the vectors of positions 0 .. T - 1 to [B, T, d]."""
        table = self.at(ops.arange(ops.shape(vectors)[1]), vectors.shape[-1])
        return vectors + ops.cast(table, vectors.dtype)

    @abstractmethod
    def at(self, positions: Any, d_model: int) -> Any:
        """Return float32 [T, d] for positions [T]."""


@keras.saving.register_keras_serializable("nmt_cli")
class PositionalEncoding(_Positions):
    """Adds :func:`sinusoids`."""

    def __init__(self, interleaved: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.interleaved = interleaved

    def at(self, positions: Any, d_model: int) -> Any:
        """Return sinusoids."""
        return sinusoids(positions, d_model, self.interleaved)


@keras.saving.register_keras_serializable("nmt_cli")
class LearnedPositions(_Positions):
    """Adds a learned vector for each position (Gehring et al. 2017, section 3.1,
    https://arxiv.org/abs/1705.03122). Padding beyond ``length`` shares the last vector."""

    def __init__(self, length: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.length = length

    def build(self, inputs_shape: Any) -> None:
        """Create the table [length, d], initialized like an unscaled embedding."""
        width = inputs_shape[-1]
        self.table = self.add_weight(
            name="table",
            shape=(self.length, width),
            initializer=keras.initializers.RandomNormal(stddev=width**-0.5),
        )

    def at(self, positions: Any, d_model: int) -> Any:
        """Return rows of the table."""
        return ops.take(self.table, ops.minimum(positions, self.length - 1), axis=0)
