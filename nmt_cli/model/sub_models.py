"""Encoder and decoder of a Transformer as Keras models, which take masks and return attention.

They share the layers of the training model. Masks are additive, as in nmt_cli.model.layers.
Shapes: B sentences, S source and T target positions, L layers, h heads, d width, V vocabulary.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from nmt_cli.model.transformer import Steps


def encoder_of(model: keras.Model) -> keras.Model:
    """Return the encoder of a Transformer.

    It maps source ids [B, S] and a mask that broadcasts to [B, h, S, S] to its output [B, S, d] and
    its self-attention, float32 [B, L, h, S, S].
    """
    layers, mask = Steps(model).encoder_layers, model.get_layer("source_mask").output
    maps = [_weights(layer.attention_weights, layer.input) for layer in layers]
    output = model.get_layer("decoder_0").input[1]
    return keras.Model([model.inputs[0], mask], [output, ops.stack(maps, axis=1)])


def decoder_of(model: keras.Model) -> keras.Model:
    """Return the decoder of a Transformer with self-attention.

    It maps target ids [B, T], the encoder's output [B, S, d], and masks that broadcast to
    [B, h, T, T] and [B, h, T, S] to logits, float32 [B, T, V], and its attention to itself and to
    the source, float32 [B, L, h, T, T] and [B, L, h, T, S].
    """
    layers = Steps(model).decoder_layers
    own = [_weights(layer.attention_weights, layer.input[:3:2]) for layer in layers]
    cross = [_weights(layer.cross_weights, layer.input) for layer in layers]
    maps = [ops.stack(weights, axis=1) for weights in (own, cross)]
    return keras.Model([model.inputs[1], *layers[0].input[1:]], [model.output, *maps])


def _weights(method: Callable[..., Any], inputs: list[Any]) -> Any:
    return keras.layers.Lambda(lambda tensors: method(*tensors))(inputs)
