"""The step graph of a Transformer.

Shapes: B sentences, S source positions, K beams, P columns cached so far, h heads, k width of
a head's queries and keys, v of its values, d width.
"""

from typing import Any

import keras
from keras import ops

from nmt_cli.model.layers import MASKED, padding_mask
from nmt_cli.model.step_graph import Parents, StepGraph, Tensors, named_layer
from nmt_cli.recipe.model import TransformerConfig
from nmt_cli.text.tokenizer import PAD_ID


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
