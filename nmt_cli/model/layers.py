"""Embedding, positions, normalisation and feed-forward, in keras.ops alone.

Shapes: B batch, T positions, d model width, V vocabulary, S source positions.
"""

import math
from typing import Any

import keras
from keras import ops

from nmt_cli.text.tokenizer import PAD_ID

# Added to attention scores where a query may not look. Finite, so that a row of padding
# alone gives numbers rather than NaN, and within float16.
MASKED = -3e4


@keras.saving.register_keras_serializable("nmt")
class PaddingMask(keras.layers.Layer):
    """Additive mask [B, 1, 1, S] of ids [B, S]: 0 at tokens, MASKED at padding."""

    def call(self, ids: Any) -> Any:
        """Mark where the ids are PAD."""
        return padding_mask(ids, self.compute_dtype)


def padding_mask(ids: Any, dtype: str) -> Any:
    """Additive mask [B, 1, 1, S]: 0 where ids [B, S] hold a token, MASKED at padding."""
    mask = ops.cast(ops.equal(ids, PAD_ID), dtype) * MASKED
    return ops.expand_dims(ops.expand_dims(mask, 1), 1)


def causal_mask(length: Any, dtype: str) -> Any:
    """Additive mask [1, 1, T, T]: 0 on and below the diagonal, MASKED above."""
    positions = ops.arange(length)
    later = ops.expand_dims(positions, 0) > ops.expand_dims(positions, 1)
    return ops.expand_dims(ops.expand_dims(ops.cast(later, dtype) * MASKED, 0), 0)


@keras.saving.register_keras_serializable("nmt")
class TokenEmbedding(keras.layers.Layer):
    """Token vectors scaled by sqrt(d) (Vaswani et al. 2017, section 3.4).

    Called with ``reverse=True`` it is the softmax layer that shares its matrix: vectors
    [B, T, d] or [N, d] to logits [B, T, V] or [N, V].

    Args:
        vocab_size: V.
        d_model: d.
    """

    def __init__(self, vocab_size: int, d_model: int, **options: Any) -> None:
        super().__init__(**options)
        self.vocab_size = vocab_size
        self.d_model = d_model

    def build(self, inputs_shape: Any) -> None:
        """Make the matrix [V, d], drawn so that scaled vectors have unit variance."""
        self.matrix = self.add_weight(
            name="matrix",
            shape=(self.vocab_size, self.d_model),
            initializer=keras.initializers.RandomNormal(stddev=self.d_model**-0.5),
        )

    def call(self, inputs: Any, reverse: bool = False) -> Any:
        """Ids [...] to vectors [..., d]; in reverse, vectors to logits."""
        matrix = ops.cast(self.matrix, self.compute_dtype)
        if reverse:
            # One flat product: with three axes TensorFlow's takes half as long again.
            if len(inputs.shape) == 2:
                return ops.matmul(inputs, ops.transpose(matrix))
            flat = ops.matmul(ops.reshape(inputs, (-1, self.d_model)), ops.transpose(matrix))
            return ops.reshape(flat, (-1, ops.shape(inputs)[1], self.vocab_size))
        vectors = ops.take(self.matrix, inputs, axis=0)
        return ops.cast(vectors, self.compute_dtype) * math.sqrt(self.d_model)

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {**super().get_config(), "vocab_size": self.vocab_size, "d_model": self.d_model}


def positions(indices: Any, d_model: int) -> Any:
    """Sinusoidal positions, float32 [T, d] for indices [T].

    ``PE(pos, 2i) = sin(pos / 10000^(2i/d))``, ``PE(pos, 2i+1) = cos(...)`` of the same angle
    (Vaswani et al. 2017, section 3.5). Computed, not looked up: any length works.
    """
    rates = [10000.0 ** (-2 * i / d_model) for i in range(d_model // 2)]
    angles = ops.expand_dims(ops.cast(indices, "float32"), 1) * ops.convert_to_tensor([rates])
    waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=2)  # [T, d/2, 2]
    return ops.reshape(waves, (-1, d_model))


@keras.saving.register_keras_serializable("nmt")
class PositionalEncoding(keras.layers.Layer):
    """Adds sinusoidal positions to vectors [B, T, d]."""

    def call(self, vectors: Any) -> Any:
        """Add :func:`positions` 0 .. T - 1."""
        table = positions(ops.arange(ops.shape(vectors)[1]), vectors.shape[-1])
        return vectors + ops.cast(table, vectors.dtype)


@keras.saving.register_keras_serializable("nmt")
class LayerNorm(keras.layers.Layer):
    """Normalises the last axis (Ba et al. 2016), always in float32.

    Written out rather than taken from Keras: exported in these very operations, ONNX
    Runtime recognises and fuses them.

    Args:
        epsilon: added to the variance.
    """

    def __init__(self, epsilon: float = 1e-6, **options: Any) -> None:
        super().__init__(**options)
        self.epsilon = epsilon

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Make scale and offset, [d]."""
        width = inputs_shape[-1]
        self.scale = self.add_weight(name="scale", shape=(width,), initializer="ones")
        self.offset = self.add_weight(name="offset", shape=(width,), initializer="zeros")

    def call(self, inputs: Any) -> Any:
        """Normalise [..., d]."""
        x = ops.cast(inputs, "float32")
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        normal = centred / ops.sqrt(variance + self.epsilon)
        scale, offset = ops.cast(self.scale, "float32"), ops.cast(self.offset, "float32")
        return ops.cast(normal * scale + offset, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {**super().get_config(), "epsilon": self.epsilon}


@keras.saving.register_keras_serializable("nmt")
class FeedForward(keras.layers.Layer):
    """``max(0, x W1 + b1) W2 + b2`` (Vaswani et al. 2017, equation 2).

    Rows of 1,024 float32 numbers lie 4,096 bytes apart, so that a column falls on one set of a
    processor's first cache, and W1's and W2's gradients, which read by columns, take twice as
    long. Such layers are trained with 16 hidden units more that are always 0.

    Args:
        width: of the hidden layer.
        dropout: share of the hidden units dropped in training.
    """

    def __init__(self, width: int, dropout: float = 0.0, **options: Any) -> None:
        super().__init__(**options)
        self.width = width
        self.dropout = dropout
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Make the two projections."""
        d_model = inputs_shape[-1]
        self.inner = keras.layers.Dense(
            self.width, activation="relu", dtype=self.dtype_policy, name="inner"
        )
        self.outer = keras.layers.Dense(d_model, dtype=self.dtype_policy, name="outer")
        self.inner.build(inputs_shape)
        self.outer.build((*inputs_shape[:-1], self.width))

    def call(self, inputs: Any, training: bool = False) -> Any:
        """[B, T, d] to [B, T, d]."""
        if training and self.compute_dtype == "float32" and self.width % 1024 == 0:
            return self._widened(inputs)
        return self.outer(self.drop(self.inner(inputs), training=training))

    def _widened(self, inputs: Any) -> Any:
        """The same in training, with hidden units that are always 0."""
        more = (0, 16)
        inner = ops.pad(ops.convert_to_tensor(self.inner.kernel), ((0, 0), more))
        bias = ops.pad(ops.convert_to_tensor(self.inner.bias), (more,))
        outer = ops.pad(ops.convert_to_tensor(self.outer.kernel), (more, (0, 0)))
        hidden = self.drop(ops.relu(ops.matmul(inputs, inner) + bias), training=True)
        return ops.matmul(hidden, outer) + ops.convert_to_tensor(self.outer.bias)

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {**super().get_config(), "width": self.width, "dropout": self.dropout}
