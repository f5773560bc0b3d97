"""Encoder and decoder layers: sub-layers, residuals, norms, dropout.

Dropout stands where the paper puts it: on each sub-layer's output before it is added, and
on the sum of embeddings and positions (Vaswani et al. 2017, section 5.4). Attention weights
and hidden feed-forward units have dropouts of their own, as in tensor2tensor, and whole
layers may be dropped (Fan et al. 2020, https://arxiv.org/abs/1909.11556). The norm comes
after the addition ("post", the paper) or before the sub-layer ("pre", Xiong et al. 2020,
https://arxiv.org/abs/2002.04745).
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

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
        attention_dropout: share of attention weights dropped in training.
        activation_dropout: share of hidden feed-forward units dropped in training.
        layer_drop: how often the whole layer is skipped in training.
    """

    def __init__(
        self,
        heads: int,
        feed_forward: int,
        dropout: float,
        norm: str,
        epsilon: float,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        layer_drop: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.heads = heads
        self.feed_forward = feed_forward
        self.dropout = dropout
        self.norm = norm
        self.epsilon = epsilon
        self.attention_dropout = attention_dropout
        self.activation_dropout = activation_dropout
        self.layer_drop = layer_drop
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)
        if layer_drop:
            self.seed_generator = keras.random.SeedGenerator()

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {
            **super().get_config(),
            "heads": self.heads,
            "feed_forward": self.feed_forward,
            "dropout": self.dropout,
            "norm": self.norm,
            "epsilon": self.epsilon,
            "attention_dropout": self.attention_dropout,
            "activation_dropout": self.activation_dropout,
            "layer_drop": self.layer_drop,
        }

    def _norm(self, name: str, inputs_shape: Any) -> LayerNorm:
        layer = LayerNorm(self.epsilon, dtype=self.dtype_policy, name=name)
        layer.build(inputs_shape)
        return layer

    def _self_attention(self, inputs_shape: Any) -> SelfAttention:
        layer = SelfAttention(
            self.heads, self.attention_dropout, dtype=self.dtype_policy, name="attention"
        )
        layer.build(inputs_shape)
        return layer

    def _feed_forward(self, inputs_shape: Any) -> FeedForward:
        layer = FeedForward(
            self.feed_forward, self.activation_dropout, dtype=self.dtype_policy, name="feed_forward"
        )
        layer.build(inputs_shape)
        return layer

    def _or_skipped(self, before: Any, after: Any, training: bool) -> Any:
        """The layer's output, or now and then its input (Fan et al. 2020, section 3.2)."""
        if not (training and self.layer_drop):
            return after
        kept = keras.random.uniform((), seed=self.seed_generator) >= self.layer_drop
        return ops.where(kept, after, before)

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
        self.attention = self._self_attention(inputs_shape)
        self.attention_norm = self._norm("attention_norm", inputs_shape)
        self.feed = self._feed_forward(inputs_shape)
        self.feed_norm = self._norm("feed_forward_norm", inputs_shape)

    def call(self, x: Any, mask: Any, training: bool = False) -> Any:
        """[B, S, d] under an additive padding mask to [B, S, d]."""
        before = x
        x = self._residual(
            x,
            self.attention_norm,
            lambda normed: self.attention(normed, mask, training=training),
            training,
        )
        x = self._residual(
            x, self.feed_norm, lambda normed: self.feed(normed, training=training), training
        )
        return self._or_skipped(before, x, training)


@keras.saving.register_keras_serializable("nmt")
class DecoderLayer(_Block):
    """Masked self-attention, cross-attention and feed-forward."""

    def build(self, inputs_shape: Any) -> None:
        """Make the sub-layers and their norms."""
        self.attention = self._self_attention(inputs_shape)
        self.attention_norm = self._norm("attention_norm", inputs_shape)
        self.cross = CrossAttention(
            self.heads, self.attention_dropout, dtype=self.dtype_policy, name="cross"
        )
        self.cross.build(inputs_shape)
        self.cross_norm = self._norm("cross_norm", inputs_shape)
        self.feed = self._feed_forward(inputs_shape)
        self.feed_norm = self._norm("feed_forward_norm", inputs_shape)

    def call(
        self, x: Any, memory: Any, self_mask: Any, cross_mask: Any, training: bool = False
    ) -> Any:
        """[B, T, d] over memory [B, S, d] to [B, T, d]; both masks are additive."""

        def self_attention(normed: Any) -> Any:
            return self.attention(normed, self_mask, training=training)

        def cross_attention(normed: Any) -> Any:
            return self.cross(normed, memory, cross_mask, training=training)

        def feed(normed: Any) -> Any:
            return self.feed(normed, training=training)

        before = x
        x = self._residual(x, self.attention_norm, self_attention, training)
        x = self._residual(x, self.cross_norm, cross_attention, training)
        x = self._residual(x, self.feed_norm, feed, training)
        return self._or_skipped(before, x, training)

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
