"""The step graph of a recurrent encoder-decoder.

A beam continues from the states of its parent, the last column of its history. Like the
Transformer's, caches only grow; the parent's column is selected from them.

Shapes: B sentences, S source positions, K beams, P columns cached so far, d width.
"""

from typing import Any

import keras
from keras import ops

from nmt_cli.model.layers import padding_mask
from nmt_cli.model.rnn import RecurrentConfig
from nmt_cli.model.rnn.network import seen_tokens, summary_of
from nmt_cli.model.step_graph import StepGraph, Tensors


class Steps(StepGraph):
    """Caches are the states [B, 1, P, d] that the decoder carries from step to step."""

    config: RecurrentConfig

    def __init__(self, model: keras.Model) -> None:
        self.decoder = model.get_layer("decoder")
        super().__init__(model, self.decoder.config)

    def encode(self, source: Any) -> Tensors:
        """Read source ids [B, S].

        Returns:
            source_mask, additive [B, 1, 1, S]; keys and values [B, 1, S, d] of attention; the
            states before the first step, each [B, 1, 1, d].
        """
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
        parents = _parents(ancestry, position, beams)  # [B, K, P + K]
        kept = (ops.shape(tokens)[0], beams, ops.shape(caches[0])[2])
        parents = ops.expand_dims(ops.slice(parents, (0, 0, 0), kept), 1)
        # The states before this step, rows [B * K, d]; before the first step there are no parents.
        orphans = 1.0 - ops.sum(parents, axis=-1, keepdims=True)  # [B, 1, K, 1]
        states = [
            ops.reshape(ops.matmul(parents, cache) + orphans * start, (-1, self.config.d_model))
            for cache, start in zip(caches, [*first, 0.0], strict=False)
        ]
        seen: Tensors = []

        def attend(query: Any) -> Any:
            seen.append(self.decoder.weights_of(query, beams, keys, mask))
            return self.decoder.attend(query, beams, keys, values, mask)

        x = self.target_embedding(ops.reshape(tokens, (-1,)))  # [B * K, d]
        # With input feeding, the last state is the attentional vector.
        attended, cells = self.decoder.advance(x, states[: len(first)], states[-1], attend)
        shape = (-1, 1, beams, self.config.d_model)
        pairs = zip(caches, [*cells, attended], strict=False)
        grown = [
            ops.concatenate([cache, ops.reshape(each, shape)], axis=2) for cache, each in pairs
        ]
        return attended, grown, seen

    def onnx_encoder(self, opset: int) -> Any:
        """Return the encoder in ONNX's recurrent operators, which tf2onnx does not use."""
        from nmt_cli.model.rnn.onnx_encoder import recurrent_encoder

        return recurrent_encoder(self, opset)


def _parents(ancestry: Any, position: Any, beams: Any) -> Any:
    """Return float32 [B, K, columns]: 1 at each beam's parent, the last column of its history.

    The columns of step t are t * K to t * K + K - 1; unused columns may follow.
    """
    columns = ops.arange(1, ops.shape(ancestry)[2] + 1)
    past = ops.logical_and(ancestry, columns <= position * beams)
    numbers = ops.cast(past, "int32") * columns
    latest = ops.max(numbers, axis=-1, keepdims=True)  # [B, K, 1]
    return ops.cast(ops.logical_and(past, ops.equal(numbers, latest)), "float32")
