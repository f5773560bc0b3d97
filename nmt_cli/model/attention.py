"""Multi-head attention (Vaswani et al. 2017, section 3.2), whole sequences or step by step.

Shapes: B batch, T queries, S keys, d model width, h heads, k width of a head's queries and keys,
v of its values.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any

import keras
from keras import ops

Drop = Callable[[Any], Any] | None  # dropout of attention weights


def attend(query: Any, key: Any, value: Any, mask: Any, drop: Drop = None) -> Any:
    """Return ``softmax(Q K^T / sqrt(k) + mask) V`` (equation 1), heads concatenated.

    Maps [B, h, T, k], [B, h, S, k] and [B, h, S, v] to [B, T, h * v]; the additive mask broadcasts
    to [B, h, T, S], and ``drop`` is dropout on the weights. The ONNX export replaces this with the
    operator Attention.
    """
    mixed = ops.transpose(_mix(query, key, value, mask, drop), (0, 2, 1, 3))  # [B, T, h, v]
    heads, size = query.shape[1], value.shape[-1]
    return ops.reshape(mixed, (-1, ops.shape(mixed)[1], heads * size))


def _mix(query: Any, key: Any, value: Any, mask: Any, drop: Drop = None) -> Any:
    """Compute :func:`attend` with separate heads: [B, h, T, v]."""
    weights = ops.cast(attention_weights(query, key, mask), value.dtype)
    return ops.matmul(drop(weights) if drop else weights, value)


def attention_weights(query: Any, key: Any, mask: Any) -> Any:
    """Return ``softmax(Q K^T / sqrt(k) + mask)``, float32 [B, h, T, S]; see :func:`attend`."""
    scale = 1.0 / math.sqrt(query.shape[-1])
    scores = ops.matmul(query * scale, ops.transpose(key, (0, 1, 3, 2))) + mask  # [B, h, T, S]
    return ops.softmax(ops.cast(scores, "float32"), axis=-1)


class Attention(keras.layers.Layer):
    """Base of both kinds of attention: sizes of heads, and splitting into heads.

    Dropout applies to the attention weights in training, biases to the projections.
    """

    def __init__(
        self,
        heads: int,
        key_size: int,
        value_size: int,
        dropout: float = 0.0,
        bias: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.heads = heads
        self.key_width, self.value_width = heads * key_size, heads * value_size
        self.bias = bias
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def _dense(self, sizes: list[int], name: str, width: int) -> keras.layers.Dense:
        """Create a projection [width, sum of sizes]."""
        # Glorot's limit for the largest size: with the sum, fused projections would start smaller
        # than the paper's separate matrices.
        limit = math.sqrt(6.0 / (width + max(sizes)))
        layer = keras.layers.Dense(
            sum(sizes),
            kernel_initializer=keras.initializers.RandomUniform(-limit, limit),
            use_bias=self.bias,
            dtype=self.dtype_policy,
            name=name,
        )
        layer.build((None, None, width))
        return layer

    def _split_heads(self, joined: Any, length: Any, sizes: list[int]) -> list[Any]:
        """Split [B, T, columns] or rows [B * T, columns] into a tensor [B, h, T, size / h] for each
        size."""
        cuts = list(accumulate(sizes[:-1]))
        columns = ops.split(joined, cuts, axis=-1) if cuts else [joined]
        if self.heads == 1:  # tf2onnx would merge the reshape and the transposition wrongly
            return [ops.reshape(part, (-1, 1, length, part.shape[-1])) for part in columns]
        split = [
            ops.reshape(part, (-1, length, self.heads, size // self.heads))
            for part, size in zip(columns, sizes, strict=True)
        ]
        return [ops.transpose(part, (0, 2, 1, 3)) for part in split]

    def _project_rows(self, mixed: Any) -> Any:
        """Project [B, h, K, v] to rows [B * K, d]."""
        rows = ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, self.value_width))
        return self.output_projection(rows)


class SelfAttention(Attention):
    """Attention of a sequence to itself; query, key and value are one fused projection."""

    def build(self, inputs_shape: Any) -> None:
        """Create the fused projection [d, h * (2k + v)] and the output projection [h * v, d]."""
        width = inputs_shape[-1]
        self.sizes = [self.key_width, self.key_width, self.value_width]
        self.query_key_value = self._dense(self.sizes, "query_key_value", width)
        self.output_projection = self._dense([width], "output", self.value_width)

    def call(self, inputs: Any, mask: Any, training: bool = False) -> Any:
        """Map [B, T, d] to [B, T, d] under an additive mask."""
        query, key, value = self._project(inputs)
        drop = partial(self.drop, training=training)
        return self.output_projection(attend(query, key, value, mask, drop))

    def rows(self, rows: Any, length: Any, mask: Any) -> Any:
        """:meth:`call` for rows [B * T, d] of B sequences of a length, without dropout."""
        joined = ops.reshape(self.query_key_value(rows), (-1, length, sum(self.sizes)))
        query, key, value = self._split_heads(joined, length, self.sizes)
        return self._project_rows(_mix(query, key, value, mask))

    def weights_of(self, inputs: Any, mask: Any) -> Any:
        """Return the attention weights of :meth:`call`, float32 [B, h, T, T]."""
        query, key, _ = self._project(inputs)
        return attention_weights(query, key, mask)

    def _project(self, inputs: Any) -> list[Any]:
        """Return query, key and value [B, h, T, k or v]."""
        joined = self.query_key_value(inputs)
        return self._split_heads(joined, ops.shape(joined)[1], self.sizes)

    def step(
        self, rows: Any, beams: Any, keys: Any, values: Any, mask: Any
    ) -> tuple[Any, Any, Any]:
        """Process one step of K beams, rows [B * K, d]; also return the caches of keys and values,
        [B, h, P, k or v], with K more columns. The mask is additive, [B, 1, K, P + K]."""
        query, key, value = self._split_heads(self.query_key_value(rows), beams, self.sizes)
        keys = ops.concatenate([keys, key], axis=2)
        values = ops.concatenate([values, value], axis=2)
        return self._project_rows(_mix(query, keys, values, mask)), keys, values


class CrossAttention(Attention):
    """Attention of the decoder to the encoder's output; key and value are one projection."""

    def build(self, inputs_shape: Any) -> None:
        """Create the projections of the query, of key and value, and of the output."""
        width = inputs_shape[-1]
        self.sizes = [self.key_width, self.value_width]
        self.query = self._dense([self.key_width], "query", width)
        self.key_value = self._dense(self.sizes, "key_value", width)
        self.output_projection = self._dense([width], "output", self.value_width)

    def call(self, inputs: Any, encoder_output: Any, mask: Any, training: bool = False) -> Any:
        """Map [B, T, d] to [B, T, d], attending to encoder_output [B, S, d]."""
        query = self._query(inputs, ops.shape(inputs)[1])
        sides = self.project(encoder_output, ops.shape(encoder_output)[1])
        drop = partial(self.drop, training=training)
        return self.output_projection(attend(query, *sides, mask, drop))

    def project(self, encoder_output: Any, length: Any) -> tuple[Any, Any]:
        """Project the encoder's output, [B, S, d] or rows [B * S, d], to keys [B, h, S, k] and
        values [B, h, S, v]; ``length`` is S."""
        key, value = self._split_heads(self.key_value(encoder_output), length, self.sizes)
        return key, value

    def step(self, rows: Any, beams: Any, keys: Any, values: Any, mask: Any) -> Any:
        """Map rows [B * K, d] to [B * K, d], attending to the projected encoder output."""
        return self._project_rows(_mix(self._query(rows, beams), keys, values, mask))

    def step_weights(self, rows: Any, beams: Any, keys: Any, mask: Any) -> Any:
        """Return the attention weights of :meth:`step`, float32 [B, h, K, S]."""
        return attention_weights(self._query(rows, beams), keys, mask)

    def _query(self, inputs: Any, length: Any) -> Any:
        joined = self.query(inputs)
        return self._split_heads(joined, length, self.sizes[:1])[0]
