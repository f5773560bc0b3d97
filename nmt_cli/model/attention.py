"""Multi-head attention (Vaswani et al. 2017, section 3.2), whole sequences or step by step.

Shapes: B batch, T queries, S keys, d model width, h heads, k = d / h.
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
        key, value: [B, h, S, k].
        mask: additive, broadcast to [B, h, T, S].
        drop: dropout on the weights, if there is any.

    Returns:
        [B, T, d].
    """
    mixed = ops.transpose(_mix(query, key, value, mask, drop), (0, 2, 1, 3))  # [B, T, h, k]
    heads, size = query.shape[1], value.shape[-1]
    return ops.reshape(mixed, (-1, ops.shape(mixed)[1], heads * size))


def _mix(
    query: Any, key: Any, value: Any, mask: Any, drop: Callable[[Any], Any] | None = None
) -> Any:
    """As :func:`attend`, heads apart: [B, h, T, k]."""
    scale = 1.0 / math.sqrt(query.shape[-1])
    scores = ops.matmul(query * scale, ops.transpose(key, (0, 1, 3, 2))) + mask  # [B, h, T, S]
    weights = ops.cast(ops.softmax(ops.cast(scores, "float32"), axis=-1), value.dtype)
    return ops.matmul(drop(weights) if drop else weights, value)


def _join_rows(mixed: Any) -> Any:
    """[B, h, K, k] to rows [B * K, d]."""
    heads, size = mixed.shape[1], mixed.shape[3]
    return ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, heads * size))


@keras.saving.register_keras_serializable("nmt")
class _Attention(keras.layers.Layer):
    """What both kinds of attention share: the number of heads and the split into them.

    Args:
        heads: h; divides the width.
        dropout: share of the attention weights dropped in training.
    """

    def __init__(self, heads: int, dropout: float = 0.0, **options: Any) -> None:
        super().__init__(**options)
        self.heads = heads
        self.dropout = dropout
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def _dropped(self, training: bool) -> Callable[[Any], Any] | None:
        """What :func:`attend` is to do with its weights."""
        if not (training and self.dropout):
            return None
        return lambda weights: self.drop(weights, training=True)

    def _dense(self, units: int, name: str, width: int) -> keras.layers.Dense:
        """A projection whose blocks of ``width`` columns start as Glorot draws of their own.

        Fused query, key and value projections would otherwise start smaller than the
        separate matrices of the paper.
        """
        limit = math.sqrt(6.0 / (width + width))
        layer = keras.layers.Dense(
            units,
            kernel_initializer=keras.initializers.RandomUniform(-limit, limit),
            dtype=self.dtype_policy,
            name=name,
        )
        layer.build((None, None, width))
        return layer

    def _split(self, joined: Any, parts: int) -> list[Any]:
        """[B, T, parts * d] to ``parts`` tensors [B, h, T, k]."""
        return self._heads_apart(joined, ops.shape(joined)[1], parts)

    def _split_rows(self, joined: Any, beams: Any, parts: int) -> list[Any]:
        """Rows [B * K, parts * d] to ``parts`` tensors [B, h, K, k]."""
        return self._heads_apart(joined, beams, parts)

    def _heads_apart(self, joined: Any, length: Any, parts: int) -> list[Any]:
        size = joined.shape[-1] // (parts * self.heads)
        columns = ops.split(joined, parts, axis=-1) if parts > 1 else [joined]
        shape = (-1, length, self.heads, size)
        return [ops.transpose(ops.reshape(each, shape), (0, 2, 1, 3)) for each in columns]

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {**super().get_config(), "heads": self.heads, "dropout": self.dropout}


@keras.saving.register_keras_serializable("nmt")
class SelfAttention(_Attention):
    """A sequence attends to itself; query, key and value are one fused projection."""

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Make the fused projection [d, 3d] and the output projection [d, d]."""
        width = inputs_shape[-1]
        assert width is not None
        self.query_key_value = self._dense(3 * width, "query_key_value", width)
        self.output_projection = self._dense(width, "output", width)

    def call(self, inputs: Any, mask: Any, training: bool = False) -> Any:
        """[B, T, d] under an additive mask to [B, T, d]."""
        query, key, value = self._split(self.query_key_value(inputs), 3)
        return self.output_projection(attend(query, key, value, mask, self._dropped(training)))

    def step(
        self, rows: Any, beams: Any, keys: Any, values: Any, mask: Any
    ) -> tuple[Any, Any, Any]:
        """Read K more columns: the beams of one step.

        Args:
            rows: [B * K, d].
            beams: K.
            keys, values: caches [B, h, P, k], P columns so far.
            mask: additive [B, 1, K, P + K]: which columns each beam may see.

        Returns:
            [B * K, d], and the caches with the new columns behind them, [B, h, P + K, k].
        """
        query, key, value = self._split_rows(self.query_key_value(rows), beams, 3)
        keys = ops.concatenate([keys, key], axis=2)
        values = ops.concatenate([values, value], axis=2)
        mixed = _join_rows(_mix(query, keys, values, mask))
        return self.output_projection(mixed), keys, values


@keras.saving.register_keras_serializable("nmt")
class CrossAttention(_Attention):
    """The decoder attends to the encoder's output; key and value are one projection."""

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        """Make the projections: query [d, d], key and value [d, 2d], output [d, d]."""
        width = inputs_shape[-1]
        assert width is not None
        self.query = self._dense(width, "query", width)
        self.key_value = self._dense(2 * width, "key_value", width)
        self.output_projection = self._dense(width, "output", width)

    def call(self, inputs: Any, memory: Any, mask: Any, training: bool = False) -> Any:
        """[B, T, d] over memory [B, S, d] to [B, T, d]."""
        (query,) = self._split(self.query(inputs), 1)
        mixed = attend(query, *self.project(memory), mask, self._dropped(training))
        return self.output_projection(mixed)

    def project(self, memory: Any) -> tuple[Any, Any]:
        """Keys and values [B, h, S, k] of memory [B, S, d]: once a sentence."""
        key, value = self._split(self.key_value(memory), 2)
        return key, value

    def look(self, rows: Any, beams: Any, keys: Any, values: Any, mask: Any) -> Any:
        """Rows [B * K, d] over projected memory to [B * K, d].

        The K beams are queries of one sentence, and its keys and values are never repeated.
        """
        (query,) = self._split_rows(self.query(rows), beams, 1)
        return self.output_projection(_join_rows(_mix(query, keys, values, mask)))
