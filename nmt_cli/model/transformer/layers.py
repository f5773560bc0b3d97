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
    """Base of encoder and decoder layers.

    Args:
        config: the recipe's [model] table.
    """

    attends_to_source = False

    def __init__(self, config: TransformerConfig, **options: Any) -> None:
        super().__init__(**options)
        self.config = config
        self.drop = keras.layers.Dropout(config.dropout, dtype=self.dtype_policy)
        if config.layer_drop:
            self.seed_generator = keras.random.SeedGenerator()

    def build(self, inputs_shape: Any) -> None:
        """Create the sub-layers and their norms."""
        config, policy = self.config, self.dtype_policy

        def built(layer: Any) -> Any:
            layer.build(inputs_shape)
            return layer

        def attention(kind: type[Attention], name: str) -> Any:
            sizes = config.heads, config.key_size, config.value_size
            rate, bias = config.attention_dropout, config.attention_bias
            return built(kind(*sizes, rate, bias, dtype=policy, name=name))

        def norm(name: str) -> LayerNorm:
            return built(LayerNorm(config.epsilon, dtype=policy, name=name))

        self.attention = attention(SelfAttention, "attention")
        self.attention_norm = norm("attention_norm")
        if self.attends_to_source:
            self.cross = attention(CrossAttention, "cross")
            self.cross_norm = norm("cross_norm")
        self.feed = built(
            FeedForward(
                config.feed_forward,
                config.activation_dropout,
                config.activation,
                dtype=policy,
                name="feed_forward",
            )
        )
        self.feed_norm = norm("feed_forward_norm")

    def attention_weights(self, x: Any, mask: Any) -> Any:
        """Return the self-attention weights of :meth:`call`, [B, h, T, T]."""
        normed = self.attention_norm(x) if self.config.norm == "pre" else x
        return self.attention.weights_of(normed, mask)

    def _attended(self, x: Any, mask: Any, training: bool) -> Any:
        """Apply self-attention."""

        def attend(normed: Any) -> Any:
            return self.attention(normed, mask, training=training)

        return self._residual(x, self.attention_norm, attend, training)

    def _fed_forward(self, x: Any, training: bool) -> Any:
        """Apply the feed-forward layer."""

        def feed(normed: Any) -> Any:
            return self.feed(normed, training=training)

        return self._residual(x, self.feed_norm, feed, training)

    def _residual(
        self, x: Any, norm: LayerNorm, sublayer: Callable[[Any], Any], training: bool
    ) -> Any:
        """Return ``x + f(norm(x))`` or ``norm(x + f(x))``, with dropout on f's output."""
        if self.config.norm == "pre":
            return x + self.drop(sublayer(norm(x)), training=training)
        return norm(x + self.drop(sublayer(x), training=training))

    def _or_skipped(self, before: Any, after: Any, training: bool) -> Any:
        """Return the layer's output, or, at the rate of layer_drop, its input (Fan et al. 2020)."""
        if not (training and self.config.layer_drop):
            return after
        kept = keras.random.uniform((), seed=self.seed_generator) >= self.config.layer_drop
        return ops.where(kept, after, before)


class EncoderLayer(_Block):
    """Self-attention and feed-forward."""

    def call(self, x: Any, mask: Any, training: bool = False) -> Any:
        """Map [B, S, d] to [B, S, d] under an additive padding mask."""
        attended = self._attended(x, mask, training)
        return self._or_skipped(x, self._fed_forward(attended, training), training)


class DecoderLayer(_Block):
    """Masked self-attention, cross-attention and feed-forward."""

    attends_to_source = True

    def call(
        self, x: Any, encoder_output: Any, self_mask: Any, cross_mask: Any, training: bool = False
    ) -> Any:
        """Map [B, T, d] to [B, T, d], attending to encoder_output [B, S, d]; masks are additive."""

        def attend_to_source(normed: Any) -> Any:
            return self.cross(normed, encoder_output, cross_mask, training=training)

        attended = self._attended(x, self_mask, training)
        attended = self._residual(attended, self.cross_norm, attend_to_source, training)
        return self._or_skipped(x, self._fed_forward(attended, training), training)

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
        return self._fed_forward(x, training=False), (grown[0], grown[1]), seen[0]
