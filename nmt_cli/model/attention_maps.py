"""Attention weights of a trained Keras model."""

from dataclasses import replace
from typing import Any

import numpy as np
from keras import ops

from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.search.attention import AttentionMaps, Weights
from nmt_cli.search.forced import forced_attention
from nmt_cli.text.tokenizer import START_ID, TokenizerPair


def model_attention(
    model: KerasStepModel, tokenizers: TokenizerPair, source: str, target_ids: list[int]
) -> AttentionMaps:
    """Return all attention weights of a sentence and its translation, layer by layer.

    Args:
        model: in float32.
        tokenizers: its tokenizers.
        source: a line.
        target_ids: its translation, without END.
    """
    maps = forced_attention(model, tokenizers, source, target_ids)
    encoder, decoder = model.graph.self_attention(
        np.array([maps.source], np.int32), np.array([[START_ID, *target_ids]], np.int32)
    )
    return replace(maps, encoder=_stacked(encoder), decoder=_stacked(decoder))


def _stacked(layers: list[Any]) -> Weights | None:
    """Stack L layers of [1, h, rows, columns] to [L, h, rows, columns]; None if there are none."""
    if not layers:
        return None
    return np.concatenate([ops.convert_to_numpy(each) for each in layers])
