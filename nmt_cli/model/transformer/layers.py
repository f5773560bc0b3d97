"""Encoder and decoder layers: sub-layers, residuals, norms, dropout.

As in the paper, dropout applies to each sub-layer's output before it is added, and to the sum of
embeddings and positions (Vaswani et al. 2017, section 5.4). Attention weights and hidden
feed-forward units have their own dropout, as in tensor2tensor, and whole layers may be dropped
(Fan et al. 2020, https://arxiv.org/abs/1909.11556). The norm comes after the addition ("post", the
paper) or before the sub-layer ("pre", Xiong et al. 2020, https://arxiv.org/abs/2002.04745).
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from nmt_cli.model.attention import Attention, CrossAttention, SelfAttention
from nmt_cli.model.layers import FeedForward, LayerNorm
from nmt_cli.model.transformer.config import TransformerConfig


class _Block(keras.layers.Layer):
    """Base of encoder and decoder layers."""

    def __init__(self, config: TransformerConfig, **options: Any) -> None:
        super().__init__(**options)
        self.config = config
        self.drop = keras.layers.Dropout(config.dropout, dtype=self.dtype_policy)
        if config.layer_drop:
            self.seed_generator = keras.random.SeedGenerator()

    def _norm(self, name: str, inputs_shape: Any) -> LayerNorm:
        layer = LayerNorm(self.config.epsilon, dtype=self.dtype_policy, name=name)
        layer.build(inputs_shape)
        return layer

    def _attention(self, kind: type[Attention], name: str, inputs_shape: Any) -> Any:
        layer = kind(
            self.config.heads,
            self.config.attention_dropout,
            self.config.key_size,
            self.config.value_size,
            self.config.attention_bias,
            dtype=self.dtype_policy,
            name=name,
        )
        layer.build(inputs_shape)
        return layer

    def _feed_forward(self, inputs_shape: Any) -> FeedForward:
        layer = FeedForward(
            self.config.feed_forward,
            self.config.activation_dropout,
            self.config.activation,
            dtype=self.dtype_policy,
            name="feed_forward",
        )
        layer.build(inputs_shape)
        return layer

    def _or_skipped(self, before: Any, after: Any, training: bool) -> Any:
        """Return the layer's output, or, at the rate of layer_drop, its input (Fan et al. 2020)."""
        if not (training and self.config.layer_drop):
            return after
        kept = keras.random.uniform((), seed=self.seed_generator) >= self.config.layer_drop
        return ops.where(kept, after, before)

    def attention_weights(self, x: Any, mask: Any) -> Any:
        """Return the self-attention weights of :meth:`call`, [B, h, T, T]."""
        normed = self.attention_norm(x) if self.config.norm == "pre" else x
        return self.attention.weights_of(normed, mask)

    def _residual(
        self, x: Any, norm: LayerNorm, sublayer: Callable[[Any], Any], training: bool
    ) -> Any:
        """Return ``x + f(norm(x))`` or ``norm(x + f(x))``, with dropout on f's output."""
        if self.config.norm == "pre":
            return x + self.drop(sublayer(norm(x)), training=training)
        return norm(x + self.drop(sublayer(x), training=training))


class EncoderLayer(_Block):
    """Self-attention and feed-forward."""

    def build(self, inputs_shape: Any) -> None:
        """Create the sub-layers and their norms."""
        self.attention = self._attention(SelfAttention, "attention", inputs_shape)
        self.attention_norm = self._norm("attention_norm", inputs_shape)
        self.feed = self._feed_forward(inputs_shape)
        self.feed_norm = self._norm("feed_forward_norm", inputs_shape)

    def call(self, x: Any, mask: Any, training: bool = False) -> Any:
        """Map [B, S, d] to [B, S, d] under an additive padding mask."""
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


class DecoderLayer(_Block):
    """Masked self-attention, cross-attention and feed-forward."""

    def build(self, inputs_shape: Any) -> None:
        """Create the sub-layers and their norms."""
        self.attention = self._attention(SelfAttention, "attention", inputs_shape)
        self.attention_norm = self._norm("attention_norm", inputs_shape)
        self.cross = self._attention(CrossAttention, "cross", inputs_shape)
        self.cross_norm = self._norm("cross_norm", inputs_shape)
        self.feed = self._feed_forward(inputs_shape)
        self.feed_norm = self._norm("feed_forward_norm", inputs_shape)

    def call(
        self, x: Any, encoder_output: Any, self_mask: Any, cross_mask: Any, training: bool = False
    ) -> Any:
        """Map [B, T, d] to [B, T, d], attending to encoder_output [B, S, d]; masks are additive."""

        def self_attention(normed: Any) -> Any:
            return self.attention(normed, self_mask, training=training)

        def cross_attention(normed: Any) -> Any:
            return self.cross(normed, encoder_output, cross_mask, training=training)

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
    ) -> tuple[Any, tuple[Any, Any], Any]:
        """Process a step of K beams, rows [B * K, d]; ``cross`` and ``caches`` are (keys, values).

        Returns:
            [B * K, d], the caches with their new columns, and the cross-attention [B, h, K, S].
        """
        grown: list[Any] = []
        seen: list[Any] = []

        def self_attention(normed: Any) -> Any:
            mixed, *sides = self.attention.step(normed, beams, *caches, self_mask)
            grown.extend(sides)
            return mixed

        def cross_attention(normed: Any) -> Any:
            seen.append(self.cross.step_weights(normed, beams, cross[0], cross_mask))
            return self.cross.step(normed, beams, *cross, cross_mask)

        x = self._residual(x, self.attention_norm, self_attention, training=False)
        x = self._residual(x, self.cross_norm, cross_attention, training=False)
        x = self._residual(x, self.feed_norm, self.feed, training=False)
        return x, (grown[0], grown[1]), seen[0]
