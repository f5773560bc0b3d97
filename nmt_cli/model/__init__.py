"""Keras models: shared layers, step graphs, and one module per architecture.

The module has the name of the architecture and defines the function ``connect``, the layers between
embeddings and softmax, and the class ``Steps``; the registry in nmt_cli.recipe.model has its
settings.
"""

from importlib import import_module

import keras

from nmt_cli.model.layers import embeddings, float32_logits
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.recipe.model import ModelConfig


def build_model(
    config: ModelConfig, source_vocab: int, target_vocab: int, seed: int
) -> keras.Model:
    """Build the training model, named like its architecture.

    It maps source [B, S] and target [B, T] to logits [B, T, V], float32. The seed determines the
    initial weights and dropout.
    """
    keras.utils.set_random_seed(seed)
    ids = [keras.Input((None,), dtype="int32", name=name) for name in ("source", "target")]
    sides = embeddings(config, source_vocab, target_vocab)
    x = import_module(f"{__name__}.{config.architecture}").connect(config, *ids, *sides)
    logits = float32_logits(x, config, sides[1], target_vocab)
    return keras.Model(ids, logits, name=config.architecture)


def step_graph_of(model: keras.Model) -> StepGraph:
    """Return the encoder and the decoder step of a training model."""
    return import_module(f"{__name__}.{model.name}").Steps(model)
