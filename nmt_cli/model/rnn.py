"""A recurrent encoder-decoder: layers, Keras functional model and step graph.

Sutskever et al. 2014 (https://arxiv.org/abs/1409.3215): the decoder knows the source by its first
state only, which comes from the encoder's last one. Bahdanau et al. 2015
(https://arxiv.org/abs/1409.0473): it also attends. The query is the decoder's state before a step,
and the context vector enters the step. Luong et al. 2015 (https://arxiv.org/abs/1508.04025): the
query is the decoder's output. Either way, output and context become an attentional vector (Luong,
equation 5) or their sum, which predicts the next token and, with input feeding, enters the next
step (section 3.3).

Shapes: B sentences, S source positions, T target positions, K beams, P columns cached so far,
d width.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import keras
from keras import ops

from nmt_cli.model.layers import (
    Configured,
    PaddingMask,
    TokenEmbedding,
    padding_mask,
    word_dropout,
)
from nmt_cli.model.step_graph import Parents, StepGraph, Tensors
from nmt_cli.recipe.model import RecurrentConfig

_CELLS = {"lstm": keras.layers.LSTMCell, "gru": keras.layers.GRUCell}
_LAYERS = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}


def encoder_layer(config: RecurrentConfig, name: str) -> keras.layers.Layer:
    """Return an encoder layer: [B, S, d] to [B, S, d] and the last states of both directions.

    Each direction has half the width. Not cuDNN: it rejects rows of nothing but padding, which
    batches contain, and a SavedModel would require it.
    """
    forward = _LAYERS[config.encoder_cell](
        config.d_model // 2,
        return_sequences=True,
        return_state=True,
        use_cudnn=False,
        name="recurrent",
    )
    return keras.layers.Bidirectional(forward, name=name)


def summary_of(states: Sequence[Any]) -> Any:
    """Concatenate the last hidden states of both directions of an encoder layer to [B, d]."""
    return ops.concatenate([states[0], states[len(states) // 2]], axis=-1)


def seen_tokens(mask: Any) -> Any:
    """Convert an additive mask [B, 1, 1, S] to a Keras mask, bool [B, S]."""
    return ops.equal(ops.squeeze(mask, (1, 2)), 0.0)


@keras.saving.register_keras_serializable("nmt_cli")
class RecurrentDecoder(Configured):
    """The decoder between embeddings and softmax."""

    def __init__(self, config: RecurrentConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.drop = keras.layers.Dropout(config.dropout, dtype=self.dtype_policy)
        self.additive = config.attention in ("luong-concat", "bahdanau")
        self.attends_before = config.attention == "bahdanau"

    def build(self, *inputs_shape: Any) -> None:
        """Create cells, attention and the dense layers between them."""
        width, config = self.config.d_model, self.config
        cell = partial(_CELLS[config.decoder_cell], width, dtype=self.dtype_policy)
        dense = partial(keras.layers.Dense, use_bias=False, dtype=self.dtype_policy)

        def built(layer: Any, inputs: int = width) -> Any:
            layer.build((None, inputs))
            return layer

        entering = width * (1 + config.feeds + self.attends_before)
        self.cells = [
            built(cell(name=f"cell_{layer}"), width if layer else entering)
            for layer in range(config.decoder_layers)
        ]
        # To the states before the first step.
        self.bridges = [
            built(dense(width, activation="tanh", use_bias=True, name=f"first_{name}"))
            for name in config.cell_states()
        ]
        self.keys = self.scale = self.combine = None
        if config.attention not in ("luong-dot", "none"):
            self.keys = built(dense(width, name="keys"))
        if config.attention_scale:
            self.scale = self.add_weight(name="scale", initializer="ones")
        if self.additive:
            self.query = built(dense(width, name="query"))
            self.energy = built(dense(1, name="energy"))
        if config.attends and config.attentional_vector:
            self.combine = built(dense(width, activation="tanh", name="combine"), 2 * width)

    def call(
        self, x: Any, encoder_output: Any, summary: Any, mask: Any, training: bool = False
    ) -> Any:
        """Map embedded targets [B, T, d] to outputs [B, T, d], given the encoder's output
        [B, S, d], its last states [B, d] and an additive mask [B, 1, 1, S]."""
        keys, values = self.project(encoder_output)

        def attend(query: Any) -> Any:
            return self.attend(query, 1, keys, values, mask)

        # Dropout masks of all cells' inputs but the first are drawn in advance, because random
        # states do not pass through a scan.
        inputs = [x]
        if training and self.config.dropout:
            inputs += [self.drop(ops.ones_like(x), training=True) for _ in self.cells[1:]]
        # One tensor: on TensorFlow, Keras' scan does not accept several of unknown length.
        over_time = ops.transpose(ops.concatenate(inputs, axis=-1), (1, 0, 2))

        def step(before: list[Any], joined: Any) -> tuple[list[Any], list[Any]]:
            embedded, *gaps = ops.split(joined, len(inputs), axis=-1)
            attended, states = self.advance(embedded, before[:-1], before[-1], attend, gaps)
            return [*states, attended], [*states, attended]

        start = [*(bridge(summary) for bridge in self.bridges), ops.zeros_like(summary)]
        _, states = ops.scan(step, start, over_time)  # each [T, B, d]
        return ops.transpose(states[-1], (1, 0, 2))

    def project(self, encoder_output: Any) -> tuple[Any, Any]:
        """Project the encoder's output [B, S, d] to keys and values [B, 1, S, d]."""
        keys = self.keys(encoder_output) if self.keys else encoder_output
        if self.scale is not None:
            keys = keys * ops.cast(self.scale, keys.dtype)
        return ops.expand_dims(keys, 1), ops.expand_dims(encoder_output, 1)

    def advance(
        self,
        x: Any,
        states: list[Any],
        attended: Any,
        attend: Callable[[Any], Any],
        gaps: Sequence[Any] = (),
    ) -> tuple[Any, list[Any]]:
        """Process one step of N rows; return their outputs and new cell states.

        Args:
            x, states, attended: embedded tokens, cell states and outputs of the previous step,
                each [N, d].
            attend: maps queries [N, d] to weighted sums of the encoder's output, [N, d].
            gaps: dropout masks of the inputs of all cells but the first.
        """
        size = len(self.config.cell_states()) // self.config.decoder_layers
        entering = [x, attended] if self.config.feeds else [x]
        context = None
        if self.attends_before:
            context = attend(states[-size])  # the topmost hidden state
            entering.append(context)
        x = ops.concatenate(entering, axis=-1)
        after: list[Any] = []
        for layer, cell in enumerate(self.cells):
            if layer and gaps:
                x = x * gaps[layer - 1]
            x, cell_states = cell(x, states[layer * size : (layer + 1) * size])
            after.extend(cell_states)
        if not self.config.attends:
            return x, after
        if context is None:
            context = attend(x)
        if self.combine is None:
            return context + x, after
        return self.combine(ops.concatenate([context, x], axis=-1)), after

    def attend(self, rows: Any, beams: Any, keys: Any, values: Any, mask: Any) -> Any:
        """Return the context vectors [B * K, d] of queries [B * K, d]."""
        weights = ops.cast(self.weights_of(rows, beams, keys, mask), values.dtype)
        return ops.reshape(ops.matmul(weights, values), (-1, self.config.d_model))

    def weights_of(self, rows: Any, beams: Any, keys: Any, mask: Any) -> Any:
        """Return the attention weights, float32 [B, 1, K, S], of queries [B * K, d] to keys
        [B, 1, S, d]: Luong's dot, general and concat (section 3.1) or Bahdanau's (section A.1.2).

        The products with the encoder's output are in the keys already.
        """
        query = self.query(rows) if self.additive else rows
        query = ops.reshape(query, (-1, 1, beams, self.config.d_model))
        if self.additive:
            sums = ops.expand_dims(query, 3) + ops.expand_dims(keys, 2)  # [B, 1, K, S, d]
            scores = ops.squeeze(self.energy(ops.tanh(sums)), -1)
        else:
            scores = ops.matmul(query, ops.transpose(keys, (0, 1, 3, 2)))
        return ops.softmax(ops.cast(scores + mask, "float32"), axis=-1)


def connect(
    config: RecurrentConfig,
    source: Any,
    target: Any,
    source_embedding: TokenEmbedding,
    target_embedding: TokenEmbedding,
) -> Any:
    """Map ids [B, S] and [B, T] to the softmax layer's input [B, T, d]."""
    source_mask = PaddingMask(name="source_mask")(source)
    tokens = seen_tokens(source_mask)
    x = word_dropout(source_embedding(source), "source", config)
    states: list[Any] = []
    for index in range(config.encoder_layers):
        x = keras.layers.Dropout(config.dropout, name=f"encoder_dropout_{index}")(x)
        x, *states = encoder_layer(config, f"encoder_{index}")(x, mask=tokens)

    y = word_dropout(target_embedding(target), "target", config)
    y = keras.layers.Dropout(config.dropout, name="target_dropout")(y)
    y = RecurrentDecoder(config, name="decoder")(y, x, summary_of(states), source_mask)
    return keras.layers.Dropout(config.dropout, name="output_dropout")(y)


class Steps(StepGraph):
    """Caches are the states [B, 1, P, d] that the decoder carries from step to step."""

    config: RecurrentConfig

    def __init__(self, model: keras.Model) -> None:
        self.decoder = model.get_layer("decoder")
        super().__init__(model, self.decoder.config)

    def encode(self, source: Any) -> Tensors:
        """Return mask [B, 1, 1, S], keys and values [B, 1, S, d] of attention if there is any, and
        the states before the first step, each [B, 1, 1, d]."""
        mask = padding_mask(source, "float32", self.pad_ids)
        x, states = self.source_embedding(source), []
        for layer in self.encoder_layers:
            x, *states = layer(x, mask=seen_tokens(mask), training=False)
        summary = summary_of(states)
        first = [bridge(summary)[:, None, None] for bridge in self.decoder.bridges]
        return [mask, *(self.decoder.project(x) if self.config.attends else ()), *first]

    def decode(
        self, tokens: Any, position: Any, ancestry: Any, encoder_output: Tensors, caches: Tensors
    ) -> tuple[Any, Tensors, Tensors]:
        """Return the softmax layer's input, the caches and the attention to the source."""
        count = len(self.decoder.bridges)
        (mask, *cross), first = encoder_output[:-count], encoder_output[-count:]
        beams = ops.shape(tokens)[1]
        parents = Parents(ancestry, position, beams, ops.shape(caches[0])[2])
        # The states before this step, rows [B * K, d].
        states = [
            parents.rows(cache, start) for cache, start in zip(caches, [*first, None], strict=False)
        ]
        attention: Tensors = []

        def attend(query: Any) -> Any:
            attention.append(self.decoder.weights_of(query, beams, cross[0], mask))
            return self.decoder.attend(query, beams, *cross, mask)

        x = self.target_embedding(ops.reshape(tokens, (-1,)))  # [B * K, d]
        # With input feeding, the last state is the output.
        attended, cells = self.decoder.advance(x, states[:count], states[-1], attend)
        shape = (-1, 1, beams, self.config.d_model)
        pairs = zip(caches, [*cells, attended], strict=False)
        grown = [
            ops.concatenate([cache, ops.reshape(state, shape)], axis=2) for cache, state in pairs
        ]
        return attended, grown, attention
