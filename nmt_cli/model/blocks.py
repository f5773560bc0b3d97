"""Encoder and decoder layers: sub-layers, residuals, norms, dropout.

Dropout stands where the paper puts it: on each sub-layer's output before it is added, and
on the sum of embeddings and positions (Vaswani et al. 2017, section 5.4). The norm comes
after the addition ("post", the paper) or before the sub-layer ("pre", Xiong et al. 2020,
https://arxiv.org/abs/2002.04745).
"""

from collections.abc import Callable
from typing import Any

import keras

from nmt_cli.model.attention import CrossAttention, SelfAttention
from nmt_cli.model.layers import FeedForward, LayerNorm


class _Block(keras.layers.Layer):
    """What encoder and decoder layers share.

    Args:
        heads: attention heads.
        feed_forward: width of the hidden feed-forward layer.
        dropout: share of each sub-layer's output dropped in training.
        norm: "pre" or "post".
        epsilon: of the norms.
    """

    def __init__(
        self,
        heads: int,
        feed_forward: int,
        dropout: float,
        norm: str,
        epsilon: float,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.heads = heads
        self.feed_forward = feed_forward
        self.dropout = dropout
        self.norm = norm
        self.epsilon = epsilon
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {
            **super().get_config(),
            "heads": self.heads,
            "feed_forward": self.feed_forward,
            "dropout": self.dropout,
            "norm": self.norm,
            "epsilon": self.epsilon,
        }

    def _norm(self, name: str, inputs_shape: Any) -> LayerNorm:
        layer = LayerNorm(self.epsilon, dtype=self.dtype_policy, name=name)
        layer.build(inputs_shape)
        return layer

    def _residual(
        self, x: Any, norm: LayerNorm, sublayer: Callable[[Any], Any], training: bool
    ) -> Any:
        """``x + f(norm(x))`` or ``norm(x + f(x))``, with dropout on f's output."""
        if self.norm == "pre":
            return x + self.drop(sublayer(norm(x)), training=training)
        return norm(x + self.drop(sublayer(x), training=training))


@keras.saving.register_keras_serializable("nmt")
class EncoderLayer(_Block):
    """Self-attention and feed-forward."""

    def build(self, inputs_shape: Any) -> None:
        """Make the sub-layers and their norms."""
        self.attention = SelfAttention(self.heads, dtype=self.dtype_policy, name="attention")
        self.attention.build(inputs_shape)
        self.attention_norm = self._norm("attention_norm", inputs_shape)
        self.feed = FeedForward(self.feed_forward, dtype=self.dtype_policy, name="feed_forward")
        self.feed.build(inputs_shape)
        self.feed_norm = self._norm("feed_forward_norm", inputs_shape)

    def call(self, x: Any, mask: Any, training: bool = False) -> Any:
        """[B, S, d] under an additive padding mask to [B, S, d]."""
        x = self._residual(
            x, self.attention_norm, lambda normed: self.attention(normed, mask), training
        )
        return self._residual(x, self.feed_norm, self.feed, training)


@keras.saving.register_keras_serializable("nmt")
class DecoderLayer(_Block):
    """Masked self-attention, cross-attention and feed-forward."""

    def build(self, inputs_shape: Any) -> None:
        """Make the sub-layers and their norms."""
        self.attention = SelfAttention(self.heads, dtype=self.dtype_policy, name="attention")
        self.attention.build(inputs_shape)
        self.attention_norm = self._norm("attention_norm", inputs_shape)
        self.cross = CrossAttention(self.heads, dtype=self.dtype_policy, name="cross")
        self.cross.build(inputs_shape)
        self.cross_norm = self._norm("cross_norm", inputs_shape)
        self.feed = FeedForward(self.feed_forward, dtype=self.dtype_policy, name="feed_forward")
        self.feed.build(inputs_shape)
        self.feed_norm = self._norm("feed_forward_norm", inputs_shape)

    def call(
        self, x: Any, memory: Any, self_mask: Any, cross_mask: Any, training: bool = False
    ) -> Any:
        """[B, T, d] over memory [B, S, d] to [B, T, d]; both masks are additive."""
        x = self._residual(
            x, self.attention_norm, lambda normed: self.attention(normed, self_mask), training
        )
        x = self._residual(
            x, self.cross_norm, lambda normed: self.cross(normed, memory, cross_mask), training
        )
        return self._residual(x, self.feed_norm, self.feed, training)

    def step(
        self,
        x: Any,
        beams: Any,
        cross: tuple[Any, Any],
        caches: tuple[Any, Any],
        self_mask: Any,
        cross_mask: Any,
    ) -> tuple[Any, tuple[Any, Any]]:
        """One step of K beams, rows [B * K, d]; ``cross`` and ``caches`` are (keys, values).

        Returns:
            [B * K, d] and the caches with their new columns.
        """
        grown: list[Any] = []

        def self_attention(normed: Any) -> Any:
            mixed, *sides = self.attention.step(normed, beams, *caches, self_mask)
            grown.extend(sides)
            return mixed

        def cross_attention(normed: Any) -> Any:
            return self.cross.look(normed, beams, *cross, cross_mask)

        x = self._residual(x, self.attention_norm, self_attention, training=False)
        x = self._residual(x, self.cross_norm, cross_attention, training=False)
        x = self._residual(x, self.feed_norm, self.feed, training=False)
        return x, (grown[0], grown[1])
