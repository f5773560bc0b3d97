"""Layers, training model and step graph.

Shapes: B sentences, S source and T target positions, K beams, P cached columns, d width.
"""

from typing import Any

import keras
from keras import ops

from nmt_cli.model.layers import (
    PaddingMask,
    causal_mask,
    padding_mask,
)
from nmt_cli.model.step_graph import StepGraph, Tensors
from tests.model.averaging import AveragingConfig


class AveragingDecoder(keras.layers.Layer):
    def __init__(self, config: AveragingConfig, **options: Any) -> None:
        super().__init__(**options)
        self.config = config
        self.join = keras.layers.Dense(config.d_model, "tanh", name="join")

    def call(self, targets: Any, vectors: Any, mask: Any) -> Any:
        hidden = causal_mask(ops.shape(targets)[1], "float32")
        seen = ops.cast(ops.equal(hidden[0], 0), "float32")  # [1, T, T]
        return self.advance(seen, targets, vectors, mask)[0]

    def advance(self, seen: Any, history: Any, vectors: Any, mask: Any) -> tuple[Any, Any]:
        """Return outputs [B, T, d], attention [B, T, S]; seen [B, T, P] is 1 for past columns."""
        mean = ops.matmul(seen, history) / ops.sum(seen, axis=-1, keepdims=True)
        scores = ops.matmul(mean, ops.transpose(vectors, (0, 2, 1))) + mask[:, 0]
        weights = ops.softmax(scores, axis=-1)
        return self.join(ops.concatenate([mean, ops.matmul(weights, vectors)], -1)), weights


def connect(
    config: AveragingConfig, source: Any, target: Any, source_embedding: Any, target_embedding: Any
) -> Any:
    x = source_embedding(source)
    for index in range(config.encoder_layers):
        x = keras.layers.Dense(config.d_model, "tanh", name=f"encoder_{index}")(x)
    mask = PaddingMask(name="source_mask")(source)
    return AveragingDecoder(config, name="decoder")(target_embedding(target), x, mask)


class Steps(StepGraph):
    def __init__(self, model: keras.Model) -> None:
        self.decoder = model.get_layer("decoder")
        super().__init__(model, self.decoder.config)

    def encode(self, source: Any) -> Tensors:
        x = self.source_embedding(source)
        for layer in self.encoder_layers:
            x = layer(x)
        return [padding_mask(source, "float32"), ops.expand_dims(x, 1)]

    def decode(
        self, tokens: Any, position: Any, ancestry: Any, encoder_output: Tensors, caches: Tensors
    ) -> tuple[Any, Tensors, Tensors]:
        mask, vectors = encoder_output
        embedded = ops.expand_dims(self.target_embedding(tokens), 1)
        history = ops.concatenate([caches[0], embedded], axis=2)  # [B, 1, P + K, d]
        y, weights = self.decoder.advance(
            ops.cast(ancestry, "float32"), history[:, 0], vectors[:, 0], mask
        )
        return ops.reshape(y, (-1, self.config.d_model)), [history], [ops.expand_dims(weights, 1)]
