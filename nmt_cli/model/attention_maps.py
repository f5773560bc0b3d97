"""Attention weights of a trained Keras model."""

from typing import Any

import keras
import numpy as np
from keras import ops

from nmt_cli.model.build import step_graph
from nmt_cli.search.attention import AttentionMaps, Weights
from nmt_cli.text.tokenizer import END_ID, START_ID, TokenizerPair


def model_attention(
    model: keras.Model, tokenizers: TokenizerPair, source: str, target_ids: list[int]
) -> AttentionMaps:
    """Return all attention weights of a sentence and its translation, layer by layer.

    Args:
        model: a training model in float32.
        tokenizers: its tokenizers.
        source: a line.
        target_ids: its translation, without END.
    """
    (ids,) = tokenizers.source.encode([source])
    framed = tokenizers.source.frame_source(ids)
    encoder, decoder, cross = step_graph(model).attention(
        np.array([framed], np.int32), np.array([[START_ID, *target_ids]], np.int32)
    )
    maps = [_stacked(each) for each in (encoder, decoder, cross)]
    assert maps[2] is not None, "every architecture attends to the source"
    return AttentionMaps(framed, [*target_ids, END_ID], maps[2], encoder=maps[0], decoder=maps[1])


def _stacked(layers: list[Any]) -> Weights | None:
    """Stack L layers of [1, h, rows, columns] to [L, h, rows, columns]; None if there are none."""
    if not layers:
        return None
    return np.concatenate([ops.convert_to_numpy(each) for each in layers])
