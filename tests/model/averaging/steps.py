"""The step graph. B sentences, S source positions, K beams, P cached columns, d width."""

from typing import Any

import keras
from keras import ops

from nmt_cli.model.layers import padding_mask
from nmt_cli.model.step_graph import StepGraph, Tensors


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
        own = ops.expand_dims(self.target_embedding(tokens), 1)
        history = ops.concatenate([caches[0], own], axis=2)  # [B, 1, P + K, d]
        y, weights = self.decoder.advance(
            ops.cast(ancestry, "float32"), history[:, 0], vectors[:, 0], mask
        )
        return ops.reshape(y, (-1, self.config.d_model)), [history], [ops.expand_dims(weights, 1)]
