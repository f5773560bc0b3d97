"""The Transformer: encoder and decoder layers, the Keras functional model, and the step graph.

As in the paper, dropout applies to each sub-layer's output before it is added, and to the sum of
embeddings and positions (Vaswani et al. 2017, section 5.4). Attention weights and hidden
feed-forward units have their own dropout, as in tensor2tensor, and whole layers may be dropped
(Fan et al. 2020, https://arxiv.org/abs/1909.11556). The norm comes after the addition ("post", the
paper) or before the sub-layer ("pre", Xiong et al. 2020, https://arxiv.org/abs/2002.04745).

Shapes: B sentences, S source and T target positions, K beams, P columns cached so far, h heads,
k width of a head's queries and keys, v of its values, d width.
"""

import math
from typing import Any

import keras
from keras import ops

from nmt_cli.model.attention import Attention, CrossAttention, SelfAttention
from nmt_cli.model.layers import (
    MASKED,
    Configured,
    FeedForward,
    LayerNorm,
    LearnedPositions,
    PaddingMask,
    PositionalEncoding,
    TargetMask,
    TokenEmbedding,
    padding_mask,
    word_dropout,
)
from nmt_cli.model.step_graph import Parents, StepGraph, Tensors, named_layer
from nmt_cli.recipe.model import TransformerConfig
from nmt_cli.text.tokenizer import PAD_ID


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

    def cross_weights(self, x: Any, encoder_output: Any, self_mask: Any, cross_mask: Any) -> Any:
        """Return the cross-attention weights of :meth:`call`, [B, h, T, S]."""
        normed = self._normed(self._attended(x, self_mask, training=False), self.cross_norm)
        keys, _ = self.cross.project(encoder_output, ops.shape(encoder_output)[1])
        return self.cross.step_weights(normed, ops.shape(x)[1], keys, cross_mask)

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


def connect(
    config: TransformerConfig,
    source: Any,
    target: Any,
    source_embedding: TokenEmbedding,
    target_embedding: TokenEmbedding,
) -> Any:
    """Map ids [B, S] and [B, T] to the softmax layer's input [B, T, d].

    The step graph finds layers by their names: "encoder_0", "decoder_3" and so on.
    """
    source_positions, target_positions = _positions(config)

    source_mask = PaddingMask(config.pad_ids, name="source_mask")(source)
    x = _embed(source, source_embedding, source_positions, "source", config)
    for index in range(config.encoder_layers):
        x = EncoderLayer(config, name=f"encoder_{index}")(x, source_mask)
    encoder_output = (
        LayerNorm(config.epsilon, name="encoder_norm")(x) if config.has_final_norms else x
    )

    target_mask = TargetMask(config.pad_ids, name="target_mask")(target)
    x = _embed(target, target_embedding, target_positions, "target", config)
    for index in range(config.decoder_layers):
        x = DecoderLayer(config, name=f"decoder_{index}")(
            x, encoder_output, target_mask, source_mask
        )
    return LayerNorm(config.epsilon, name="decoder_norm")(x) if config.has_final_norms else x


def _positions(config: TransformerConfig) -> tuple[Any, Any]:
    """Return the layers that add positions to source and target, or None."""
    names = ("source_positions", "target_positions")
    if config.positions == "none":
        return None, None
    if config.positions != "learned":
        form = config.positions == "sinusoidal", config.positions == "marian"
        source, target = (PositionalEncoding(*form, name=name) for name in names)
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


class Steps(StepGraph):
    """Caches are keys [B, h, P, k] and values [B, h, P, v] of each layer's self-attention.

    If there are pad symbols other than PAD, the mask [B, 1, P, 1] of the tokens is one more. With
    SSRUs, caches are the states [B, 1, P, d] of each layer instead.
    """

    config: TransformerConfig

    def __init__(self, model: keras.Model) -> None:
        super().__init__(model, model.get_layer("decoder_0").config)
        self.decoder_layers = [
            model.get_layer(f"decoder_{index}") for index in range(self.config.decoder_layers)
        ]
        shared = named_layer(model, "positions")
        self.source_positions = named_layer(model, "source_positions") or shared
        self.target_positions = named_layer(model, "target_positions") or shared
        self.encoder_norm = named_layer(model, "encoder_norm")
        self.decoder_norm = named_layer(model, "decoder_norm")
        self._recurrent = self.config.decoder == "ssru"
        self._hides = self.pad_ids != (PAD_ID,) and not self._recurrent

    def encode(self, source: Any) -> Tensors:
        """Return mask [B, 1, 1, S], and keys [B, h, S, k] and values [B, h, S, v] of each decoder
        layer's cross-attention."""
        mask = padding_mask(source, "float32", self.pad_ids)  # [B, 1, 1, S]
        x = self.source_embedding(source)
        if self.source_positions is not None:
            x = self.source_positions(x)
        length = ops.shape(source)[1]
        row_masks = _rows(mask, length)
        x = ops.reshape(x, (-1, x.shape[-1]))  # rows; see decode
        for layer in self.encoder_layers:
            x = layer.rows(x, length, row_masks)
        if self.encoder_norm:
            x = self.encoder_norm(x)
        projected = [layer.cross.project(x, length) for layer in self.decoder_layers]
        return [mask, *(side for pair in projected for side in pair)]

    def decode(
        self, tokens: Any, position: Any, ancestry: Any, encoder_output: Tensors, caches: Tensors
    ) -> tuple[Any, Tensors, Tensors]:
        """Return the softmax layer's input, the caches and the attention to the source."""
        source_mask, *cross = encoder_output
        beams = ops.shape(tokens)[1]
        masked: Tensors = []
        if self._recurrent:
            past: Any = Parents(ancestry, position, beams, ops.shape(caches[0])[2])
        else:
            past, masked = self._self_mask(tokens, ancestry, caches)
        source_mask = _rows(source_mask, beams)  # [B, 1, K, S]
        # Rows, not [B, K, d]: runtimes fuse products of two axes best.
        x = self.target_embedding(ops.reshape(tokens, (-1,)))
        if self.target_positions is not None:
            x = x + self.target_positions.at(position, x.shape[-1])  # [B * K, d]
        grown: Tensors = []
        attention: Tensors = []
        count = 1 if self._recurrent else 2  # caches of a layer
        for index, layer in enumerate(self.decoder_layers):
            sides = cross[2 * index], cross[2 * index + 1]
            before = caches[count * index : count * (index + 1)]
            x, after, weights = layer.step(x, beams, sides, before, past, source_mask)
            grown.extend(after)
            attention.append(weights)
        if self.decoder_norm:
            x = self.decoder_norm(x)
        return x, [*grown, *masked], attention

    def _self_mask(self, tokens: Any, ancestry: Any, caches: Tensors) -> tuple[Any, Tensors]:
        """Return the mask [B, 1, K, P + K] of self-attention, and the cache of pad symbols if
        there is one."""
        hidden = ops.cast(ops.logical_not(ancestry), "float32") * MASKED
        mask = ops.expand_dims(hidden, 1)
        if not self._hides:
            return mask, []
        new = ops.transpose(padding_mask(tokens, "float32", self.pad_ids), (0, 1, 3, 2))
        masked = ops.concatenate([caches[-1], new], axis=2)
        return ops.minimum(mask, ops.transpose(masked, (0, 1, 3, 2))), [masked]

    def self_attention(self, source: Any, target: Any) -> Tensors:
        """Return the training model's self-attention; none of SSRUs."""
        layers = [*self.encoder_layers, *self.decoder_layers]
        inputs = keras.Model(self.model.inputs, [layer.input for layer in layers])([source, target])
        split, pairs = len(self.encoder_layers), list(zip(layers, inputs, strict=True))
        encoder = [layer.attention_weights(x, mask) for layer, (x, mask) in pairs[:split]]
        if self._recurrent:
            return [ops.stack(encoder, axis=1)]
        decoder = [layer.attention_weights(x, mask) for layer, (x, _, mask, _) in pairs[split:]]
        return [ops.stack(encoder, axis=1), ops.stack(decoder, axis=1)]


def _rows(mask: Any, queries: Any) -> Any:
    """Repeat a mask [B, 1, 1, S] for each query, as ONNX's Attention requires."""
    return mask + ops.zeros((1, 1, queries, 1))
