"""Multi-head attention (Vaswani et al. 2017, section 3.2), whole sequences or step by step.

Shapes: B batch, T queries, S keys, d model width, h heads, k width of a head's queries and keys,
v of its values.
"""

import math
from collections.abc import Callable
from typing import Any

import keras
from keras import ops


def attend(
    query: Any, key: Any, value: Any, mask: Any, drop: Callable[[Any], Any] | None = None
) -> Any:
    """``softmax(Q K^T / sqrt(k) + mask) V`` (equation 1), heads joined again.

    Exported, it is ONNX's own Attention (nmt_cli.export.graph_pass).

    Args:
        query: [B, h, T, k].
        key: [B, h, S, k].
        value: [B, h, S, v].
        mask: additive, broadcast to [B, h, T, S].
        drop: dropout on the weights, if there is any.

    Returns:
        [B, T, h * v].
    """
    mixed = ops.transpose(_mix(query, key, value, mask, drop), (0, 2, 1, 3))  # [B, T, h, v]
    heads, size = query.shape[1], value.shape[-1]
    return ops.reshape(mixed, (-1, ops.shape(mixed)[1], heads * size))


def _mix(
    query: Any, key: Any, value: Any, mask: Any, drop: Callable[[Any], Any] | None = None
) -> Any:
    """As :func:`attend`, heads apart: [B, h, T, v]."""
    weights = ops.cast(attention_weights(query, key, mask), value.dtype)
    return ops.matmul(drop(weights) if drop else weights, value)


def attention_weights(query: Any, key: Any, mask: Any) -> Any:
    """``softmax(Q K^T / sqrt(k) + mask)``, float32 [B, h, T, S]; arguments as of :func:`attend`."""
    scale = 1.0 / math.sqrt(query.shape[-1])
    scores = ops.matmul(query * scale, ops.transpose(key, (0, 1, 3, 2))) + mask  # [B, h, T, S]
    return ops.softmax(ops.cast(scores, "float32"), axis=-1)


def _join_rows(mixed: Any) -> Any:
    """[B, h, K, v] to rows [B * K, h * v]."""
    heads, size = mixed.shape[1], mixed.shape[3]
    return ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, heads * size))


class Attention(keras.layers.Layer):
    """What both kinds of attention share: the sizes of heads and the split into them.

    Args:
        heads: h.
        dropout: share of the attention weights dropped in training.
        key_size: k; None: d / h.
        value_size: v; None: d / h.
        bias: whether the projections have biases.
    """

    def __init__(
        self,
        heads: int,
        dropout: float = 0.0,
        key_size: int | None = None,
        value_size: int | None = None,
        bias: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.heads = heads
        self.dropout = dropout
        self.key_size = key_size
        self.value_size = value_size
        self.bias = bias
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def _sizes(self, width: int) -> tuple[int, int]:
        """Columns of all heads' keys, h * k, and of all their values, h * v."""
        size = width // self.heads
        return self.heads * (self.key_size or size), self.heads * (self.value_size or size)

    def _dropped(self, training: bool) -> Callable[[Any], Any] | None:
        """What :func:`attend` is to do with its weights."""
        if not (training and self.dropout):
            return None
        return lambda weights: self.drop(weights, training=True)

    def _dense(self, parts: list[int], name: str, width: int) -> keras.layers.Dense:
        """A projection [width, sum of parts], drawn as Glorot draws its widest part.

        Fused query, key and value projections would otherwise start smaller than the
        separate matrices of the paper.
        """
        limit = math.sqrt(6.0 / (width + max(parts)))
        layer = keras.layers.Dense(
            sum(parts),
            kernel_initializer=keras.initializers.RandomUniform(-limit, limit),
            use_bias=self.bias,
            dtype=self.dtype_policy,
            name=name,
        )
        layer.build((None, None, width))
        return layer

    def _heads_apart(self, joined: Any, length: Any, parts: list[int]) -> list[Any]:
        """[B, T, columns] or rows [B * T, columns] to tensors [B, h, T, columns / h], one a
        part.

        Args:
            length: T.
            parts: columns of each.
        """
        columns = [joined] if len(parts) == 1 else ops.split(joined, _cuts(parts), axis=-1)
        apart = [
            ops.reshape(each, (-1, length, self.heads, part // self.heads))
            for each, part in zip(columns, parts, strict=True)
        ]
        return [ops.transpose(each, (0, 2, 1, 3)) for each in apart]

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {
            **super().get_config(),
            "heads": self.heads,
            "dropout": self.dropout,
            "key_size": self.key_size,
            "value_size": self.value_size,
            "bias": self.bias,
        }


def _cuts(parts: list[int]) -> int | list[int]:
    """Where to cut, as ops.split wants it; even cuts are the ones that exports fuse."""
    if len(set(parts)) == 1:
        return len(parts)
    return [sum(parts[: place + 1]) for place in range(len(parts) - 1)]


@keras.saving.register_keras_serializable("nmt")
class SelfAttention(Attention):
    """A sequence attends to itself; query, key and value are one fused projection."""

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Make the fused projection [d, h * (2k + v)] and the output projection [h * v, d]."""
        width = inputs_shape[-1]
        assert width is not None
        keys, values = self._sizes(width)
        self.parts = [keys, keys, values]
        self.query_key_value = self._dense(self.parts, "query_key_value", width)
        self.output_projection = self._dense([width], "output", values)

    def call(self, inputs: Any, mask: Any, training: bool = False) -> Any:
        """[B, T, d] under an additive mask to [B, T, d]."""
        query, key, value = self._project(inputs)
        return self.output_projection(attend(query, key, value, mask, self._dropped(training)))

    def weights_of(self, inputs: Any, mask: Any) -> Any:
        """The attention weights of :meth:`call`, float32 [B, h, T, T]."""
        query, key, _ = self._project(inputs)
        return attention_weights(query, key, mask)

    def _project(self, inputs: Any) -> list[Any]:
        """Query, key and value [B, h, T, k or v]."""
        joined = self.query_key_value(inputs)
        return self._heads_apart(joined, ops.shape(joined)[1], self.parts)

    def step(
        self, rows: Any, beams: Any, keys: Any, values: Any, mask: Any
    ) -> tuple[Any, Any, Any]:
        """Read K more columns: the beams of one step.

        Args:
            rows: [B * K, d].
            beams: K.
            keys, values: caches [B, h, P, k] and [B, h, P, v], P columns so far.
            mask: additive [B, 1, K, P + K]: which columns each beam may see.

        Returns:
            [B * K, d], and the caches with the new columns behind them, P + K of them.
        """
        query, key, value = self._heads_apart(self.query_key_value(rows), beams, self.parts)
        keys = ops.concatenate([keys, key], axis=2)
        values = ops.concatenate([values, value], axis=2)
        mixed = _join_rows(_mix(query, keys, values, mask))
        return self.output_projection(mixed), keys, values


@keras.saving.register_keras_serializable("nmt")
class CrossAttention(Attention):
    """The decoder attends to the encoder's output; key and value are one projection."""

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Make the projections: query [d, h * k], key and value [d, h * (k + v)], output
        [h * v, d]."""
        width = inputs_shape[-1]
        assert width is not None
        keys, values = self._sizes(width)
        self.parts = [keys, values]
        self.query = self._dense([keys], "query", width)
        self.key_value = self._dense(self.parts, "key_value", width)
        self.output_projection = self._dense([width], "output", values)

    def call(self, inputs: Any, encoder_output: Any, mask: Any, training: bool = False) -> Any:
        """[B, T, d] over encoder_output [B, S, d] to [B, T, d]."""
        query = self._query(inputs, ops.shape(inputs)[1])
        mixed = attend(query, *self.project(encoder_output), mask, self._dropped(training))
        return self.output_projection(mixed)

    def weights_of(self, inputs: Any, encoder_output: Any, mask: Any) -> Any:
        """The attention weights of :meth:`call`, float32 [B, h, T, S]."""
        key, _ = self.project(encoder_output)
        return attention_weights(self._query(inputs, ops.shape(inputs)[1]), key, mask)

    def project(self, encoder_output: Any) -> tuple[Any, Any]:
        """Project the encoder's output [B, S, d] to keys [B, h, S, k] and values [B, h, S, v]."""
        joined = self.key_value(encoder_output)
        key, value = self._heads_apart(joined, ops.shape(joined)[1], self.parts)
        return key, value

    def step(self, rows: Any, beams: Any, keys: Any, values: Any, mask: Any) -> Any:
        """Rows [B * K, d] over the projected encoder output to [B * K, d].

        The K beams are queries of one sentence, and its keys and values are never repeated.
        """
        mixed = _mix(self._query(rows, beams), keys, values, mask)
        return self.output_projection(_join_rows(mixed))

    def step_weights(self, rows: Any, beams: Any, keys: Any, mask: Any) -> Any:
        """The attention weights of :meth:`step`, float32 [B, h, K, S]."""
        return attention_weights(self._query(rows, beams), keys, mask)

    def _query(self, inputs: Any, length: Any) -> Any:
        joined = self.query(inputs)
        return self._heads_apart(joined, length, self.parts[:1])[0]
