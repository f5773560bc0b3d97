"""The Transformer: encoder and decoder layers, and the Keras functional model.

As in the paper, dropout applies to each sub-layer's output before it is added, and to the sum of
embeddings and positions (Vaswani et al. 2017, section 5.4). Attention weights and hidden
feed-forward units have their own dropout, as in tensor2tensor, and whole layers may be dropped
(Fan et al. 2020, https://arxiv.org/abs/1909.11556). The norm comes after the addition ("post", the
paper) or before the sub-layer ("pre", Xiong et al. 2020, https://arxiv.org/abs/2002.04745).
"""

import math
from typing import Any

import keras
from keras import ops

from nmt_cli.model.attention import Attention, CrossAttention, SelfAttention
from nmt_cli.model.layers import (
    Configured,
    FeedForward,
    LayerNorm,
    LearnedPositions,
    PaddingMask,
    PositionalEncoding,
    TargetMask,
    TokenEmbedding,
    embeddings,
    float32_logits,
    word_dropout,
)
from nmt_cli.model.step_graph import Parents
from nmt_cli.recipe.model import TransformerConfig


class SSRU(keras.layers.Layer):
    """The simpler simple recurrent unit, in place of self-attention (Kim et al. 2019,
    https://aclanthology.org/D19-5632):

        f_t = sigmoid(W_f x_t + b_f)
        c_t = f_t * c_{t-1} + (1 - f_t) * W x_t
        h_t = max(0, c_t)

    All products with matrices are of inputs, so they are computed for a whole sequence at once, and
    a step costs the same at any position. As in Marian, no projection of the output follows. Both
    matrices are one, the forget gate's columns first.
    """

    def build(self, inputs_shape: Any) -> None:
        """Create the matrices [d, 2d], each with Glorot's limit, and the gate's bias [d]."""
        width = inputs_shape[-1]
        limit = math.sqrt(3.0 / width)
        self.matrices = keras.layers.Dense(
            2 * width,
            kernel_initializer=keras.initializers.RandomUniform(-limit, limit),
            use_bias=False,
            dtype=self.dtype_policy,
            name="forget_input",
        )
        self.matrices.build(inputs_shape)
        self.bias = self.add_weight(name="forget_bias", shape=(width,), initializer="zeros")

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        """Map [B, T, d] to [B, T, d]; no mask is needed, since a state knows no later token."""
        forget, added = self._forget_and_added(inputs)
        # In float32: a state sums changes of a whole sequence. One tensor: on TensorFlow, Keras'
        # scan does not accept several of unknown length, and its associative_scan none.
        both = ops.cast(ops.concatenate([forget, (1.0 - forget) * added], axis=-1), "float32")
        over_time = ops.transpose(both, (1, 0, 2))  # [T, B, 2d]

        def step(state: Any, changes: Any) -> tuple[Any, Any]:
            kept, new = ops.split(changes, 2, axis=-1)
            state = kept * state + new
            return state, state

        start = ops.zeros_like(both[:, 0, : inputs.shape[-1]])
        _, states = ops.scan(step, start, over_time)
        return ops.relu(ops.cast(ops.transpose(states, (1, 0, 2)), self.compute_dtype))

    def step(self, rows: Any, beams: Any, states: Any, parents: Parents) -> tuple[Any, Any]:
        """Process one step of K beams, rows [B * K, d]; also return the cache of states,
        [B, 1, P, d], with K more columns. ``parents`` finds each beam's last state."""
        forget, added = self._forget_and_added(rows)
        width = rows.shape[-1]
        state = added + forget * (parents.rows(states) - added)
        columns = ops.reshape(state, (-1, 1, beams, width))
        return ops.relu(state), ops.concatenate([states, columns], axis=2)

    def _forget_and_added(self, inputs: Any) -> list[Any]:
        """Return the forget gate and ``W x``, of the inputs' shape."""
        # A bias for both, so that exports fuse it with the product.
        bias = ops.pad(ops.cast(self.bias, self.compute_dtype), ((0, inputs.shape[-1]),))
        forget, added = ops.split(self.matrices(inputs) + bias, 2, axis=-1)
        return [ops.sigmoid(forget), added]


class _Block(Configured):
    """Base of encoder and decoder layers."""

    attends_to_source = False

    def __init__(self, config: TransformerConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.drop = keras.layers.Dropout(config.dropout, dtype=self.dtype_policy)
        if config.layer_drop:
            self.seed_generator = keras.random.SeedGenerator()

    def build(self, inputs_shape: Any) -> None:
        """Create the sub-layers and their norms."""
        config, policy = self.config, self.dtype_policy

        def built(layer: Any) -> Any:
            layer.build(inputs_shape)
            return layer

        def attention(layer_type: type[Attention], name: str) -> Any:
            sizes = config.heads, config.key_size, config.value_size
            rate, bias = config.attention_dropout, config.attention_bias
            return built(layer_type(*sizes, rate, bias, dtype=policy, name=name))

        def norm(name: str) -> LayerNorm:
            return built(LayerNorm(config.epsilon, dtype=policy, name=name))

        if self.attends_to_source and config.decoder == "ssru":  # in place of self-attention
            self.attention = built(SSRU(dtype=policy, name="ssru"))
        else:
            self.attention = attention(SelfAttention, "attention")
        self.attention_norm = norm(f"{self.attention.name}_norm")
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
        return self.attention.weights_of(self._normed(x, self.attention_norm), mask)

    def _attended(self, x: Any, mask: Any, training: bool) -> Any:
        normed = self._normed(x, self.attention_norm)
        mixed = self.attention(normed, mask, training=training)
        return self._added(x, mixed, self.attention_norm, training)

    def _fed_forward(self, x: Any, training: bool) -> Any:
        output = self.feed(self._normed(x, self.feed_norm), training=training)
        return self._added(x, output, self.feed_norm, training)

    def _normed(self, x: Any, norm: LayerNorm) -> Any:
        return norm(x) if self.config.norm == "pre" else x

    def _added(self, x: Any, output: Any, norm: LayerNorm, training: bool) -> Any:
        """Add a sub-layer's output, with dropout, to x."""
        x = x + self.drop(output, training=training)
        return x if self.config.norm == "pre" else norm(x)

    def _or_skipped(self, before: Any, after: Any, training: bool) -> Any:
        """Return the layer's output, or, at the rate of layer_drop, its input (Fan et al. 2020)."""
        if not (training and self.config.layer_drop):
            return after
        kept = keras.random.uniform((), seed=self.seed_generator) >= self.config.layer_drop
        return ops.where(kept, after, before)


@keras.saving.register_keras_serializable("nmt_cli")
class EncoderLayer(_Block):
    """Self-attention and feed-forward."""

    def call(self, x: Any, mask: Any, training: bool = False) -> Any:
        """Map [B, S, d] to [B, S, d] under an additive padding mask."""
        attended = self._attended(x, mask, training)
        return self._or_skipped(x, self._fed_forward(attended, training), training)

    def rows(self, x: Any, length: Any, mask: Any) -> Any:
        """:meth:`call` for rows [B * S, d] of B sentences of a length, without dropout."""
        mixed = self.attention.rows(self._normed(x, self.attention_norm), length, mask)
        x = self._added(x, mixed, self.attention_norm, training=False)
        return self._fed_forward(x, training=False)


@keras.saving.register_keras_serializable("nmt_cli")
class DecoderLayer(_Block):
    """Masked self-attention or an SSRU, cross-attention and feed-forward."""

    attends_to_source = True

    def call(
        self, x: Any, encoder_output: Any, self_mask: Any, cross_mask: Any, training: bool = False
    ) -> Any:
        """Map [B, T, d] to [B, T, d], attending to encoder_output [B, S, d]; masks are additive."""
        attended = self._attended(x, self_mask, training)
        normed = self._normed(attended, self.cross_norm)
        mixed = self.cross(normed, encoder_output, cross_mask, training=training)
        attended = self._added(attended, mixed, self.cross_norm, training)
        return self._or_skipped(x, self._fed_forward(attended, training), training)

    def step(
        self,
        x: Any,
        beams: Any,
        cross: tuple[Any, Any],
        caches: list[Any],
        past: Any | Parents,
        cross_mask: Any,
    ) -> tuple[Any, list[Any], Any]:
        """Process a step of K beams, rows [B * K, d]; also return the caches with their new columns
        and the cross-attention [B, h, K, S]. ``past`` is a mask, or the parents for an SSRU."""
        normed = self._normed(x, self.attention_norm)
        mixed, *grown = self.attention.step(normed, beams, *caches, past)
        x = self._added(x, mixed, self.attention_norm, training=False)
        normed = self._normed(x, self.cross_norm)
        weights = self.cross.step_weights(normed, beams, cross[0], cross_mask)
        mixed = self.cross.step(normed, beams, *cross, cross_mask)
        x = self._added(x, mixed, self.cross_norm, training=False)
        return self._fed_forward(x, training=False), grown, weights


def build_model(
    config: TransformerConfig, source_vocab: int, target_vocab: int, seed: int
) -> keras.Model:
    """Build the training model; see nmt_cli.model.build_model.

    The step graph finds layers by their names: "encoder_0", "decoder_3" and so on.
    """
    keras.utils.set_random_seed(seed)
    source_ids = keras.Input((None,), dtype="int32", name="source")
    target_ids = keras.Input((None,), dtype="int32", name="target")
    source_embedding, target_embedding = embeddings(config, source_vocab, target_vocab)
    source_positions, target_positions = _positions(config)

    source_mask = PaddingMask(config.pad_ids, name="source_mask")(source_ids)
    x = _embed(source_ids, source_embedding, source_positions, "source", config)
    for index in range(config.encoder_layers):
        x = EncoderLayer(config, name=f"encoder_{index}")(x, source_mask)
    encoder_output = (
        LayerNorm(config.epsilon, name="encoder_norm")(x) if config.norm == "pre" else x
    )

    target_mask = TargetMask(config.pad_ids, name="target_mask")(target_ids)
    x = _embed(target_ids, target_embedding, target_positions, "target", config)
    for index in range(config.decoder_layers):
        x = DecoderLayer(config, name=f"decoder_{index}")(
            x, encoder_output, target_mask, source_mask
        )
    if config.norm == "pre":
        x = LayerNorm(config.epsilon, name="decoder_norm")(x)
    logits = float32_logits(x, config, target_embedding, target_vocab)
    return keras.Model([source_ids, target_ids], logits, name="transformer")


def _positions(config: TransformerConfig) -> tuple[Any, Any]:
    """Return the layers that add positions to source and target, or None."""
    names = ("source_positions", "target_positions")
    if config.positions == "none":
        return None, None
    if config.positions != "learned":
        interleaved = config.positions == "sinusoidal"
        source, target = (PositionalEncoding(interleaved, name=name) for name in names)
    elif config.shared_positions:
        source = target = LearnedPositions(config.max_positions, name="positions")
    else:
        source, target = (LearnedPositions(config.max_positions, name=name) for name in names)
    return source, target


def _embed(
    ids: Any, embedding: TokenEmbedding, positions: Any, side: str, config: TransformerConfig
) -> Any:
    x = word_dropout(embedding(ids), side, config)
    if positions is not None:
        x = positions(x)
    return keras.layers.Dropout(config.dropout, name=f"{side}_dropout")(x)
