"""The step graph of a recurrent encoder-decoder.

Shapes: B sentences, S source positions, K beams, P columns cached so far, d width.
"""

from typing import Any

import keras
from keras import ops

from nmt_cli.model.layers import padding_mask
from nmt_cli.model.rnn.network import seen_tokens, summary_of
from nmt_cli.model.step_graph import Parents, StepGraph, Tensors
from nmt_cli.recipe.model import RecurrentConfig


class Steps(StepGraph):
    """Caches are the states [B, 1, P, d] that the decoder carries from step to step."""

    config: RecurrentConfig

    def __init__(self, model: keras.Model) -> None:
        self.decoder = model.get_layer("decoder")
        super().__init__(model, self.decoder.config)

    def encode(self, source: Any) -> Tensors:
        """Return mask [B, 1, 1, S], keys and values [B, 1, S, d] of attention, and the states
        before the first step, each [B, 1, 1, d]."""
        mask = padding_mask(source, "float32", self.pad_ids)
        x, states = self.source_embedding(source), []
        for layer in self.encoder_layers:
            x, *states = layer(x, mask=seen_tokens(mask), training=False)
        summary = summary_of(states)
        first = [bridge(summary)[:, None, None] for bridge in self.decoder.bridges]
        return [mask, *self.decoder.project(x), *first]

    def decode(
        self, tokens: Any, position: Any, ancestry: Any, encoder_output: Tensors, caches: Tensors
    ) -> tuple[Any, Tensors, Tensors]:
        """Return the softmax layer's input, the caches and the attention to the source."""
        mask, keys, values, *first = encoder_output
        beams = ops.shape(tokens)[1]
        parents = Parents(ancestry, position, beams, ops.shape(caches[0])[2])
        # The states before this step, rows [B * K, d].
        states = [
            parents.rows(cache, start) for cache, start in zip(caches, [*first, None], strict=False)
        ]
        attention: Tensors = []

        def attend(query: Any) -> Any:
            attention.append(self.decoder.weights_of(query, beams, keys, mask))
            return self.decoder.attend(query, beams, keys, values, mask)

        x = self.target_embedding(ops.reshape(tokens, (-1,)))  # [B * K, d]
        # With input feeding, the last state is the attentional vector.
        attended, cells = self.decoder.advance(x, states[: len(first)], states[-1], attend)
        shape = (-1, 1, beams, self.config.d_model)
        pairs = zip(caches, [*cells, attended], strict=False)
        grown = [
            ops.concatenate([cache, ops.reshape(state, shape)], axis=2) for cache, state in pairs
        ]
        return attended, grown, attention
