"""What tells a Transformer where a token stands.

Every layer here gives vectors for places ([T] to [T, d]) and, called, adds those of 0 .. T - 1
to vectors [B, T, d].
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops


def sinusoids(places: Any, d_model: int, interleaved: bool = True) -> Any:
    """Sinusoidal positions, float32 [T, d] for places [T].

    ``PE(pos, 2i) = sin(pos / 10000^(2i/d))``, ``PE(pos, 2i+1) = cos(...)`` of the same angle
    (Vaswani et al. 2017, section 3.5). Computed, not looked up: any length works.

    Args:
        places: of the tokens, from 0.
        d_model: d, even.
        interleaved: sine and cosine in turns, as the paper has them; else all sines before all
            cosines, as the TensorFlow tutorial does.
    """
    rates = [10000.0 ** (-2 * i / d_model) for i in range(d_model // 2)]
    angles = ops.expand_dims(ops.cast(places, "float32"), 1) * ops.convert_to_tensor([rates])
    if not interleaved:
        return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=1)
    waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=2)  # [T, d/2, 2]
    return ops.reshape(waves, (-1, d_model))


def _added(vectors: Any, at: Callable[[Any, int], Any]) -> Any:
    """Vectors [B, T, d] with the positions 0 .. T - 1 added, which ``at`` gives."""
    table = at(ops.arange(ops.shape(vectors)[1]), vectors.shape[-1])
    return vectors + ops.cast(table, vectors.dtype)


@keras.saving.register_keras_serializable("nmt")
class PositionalEncoding(keras.layers.Layer):
    """Adds :func:`sinusoids`.

    Args:
        interleaved: see there.
    """

    def __init__(self, interleaved: bool = True, **options: Any) -> None:
        super().__init__(**options)
        self.interleaved = interleaved

    def call(self, vectors: Any) -> Any:
        """[B, T, d] with the positions 0 .. T - 1 added."""
        return _added(vectors, self.at)

    def at(self, places: Any, d_model: int) -> Any:
        """Float32 [T, d] for places [T]."""
        return sinusoids(places, d_model, self.interleaved)

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {**super().get_config(), "interleaved": self.interleaved}


@keras.saving.register_keras_serializable("nmt")
class LearnedPositions(keras.layers.Layer):
    """Adds a vector learned for each place (Gehring et al. 2017, section 3.1,
    https://arxiv.org/abs/1705.03122).

    Args:
        length: places that there are vectors for. Behind them stands nothing but the padding
            that fills up a batch, which shares the last vector.
    """

    def __init__(self, length: int, **options: Any) -> None:
        super().__init__(**options)
        self.length = length

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Make the table [length, d], drawn as small as an unscaled embedding."""
        width = inputs_shape[-1]
        assert width is not None
        self.table = self.add_weight(
            name="table",
            shape=(self.length, width),
            initializer=keras.initializers.RandomNormal(stddev=width**-0.5),
        )

    def call(self, vectors: Any) -> Any:
        """[B, T, d] with the positions 0 .. T - 1 added."""
        return _added(vectors, self.at)

    def at(self, places: Any, d_model: int) -> Any:
        """[T, d] for places [T]."""
        return ops.take(self.table, ops.minimum(places, self.length - 1), axis=0)

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {**super().get_config(), "length": self.length}
