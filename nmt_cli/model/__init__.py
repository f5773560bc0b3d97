"""Keras models: shared layers, step graphs, and one module per architecture.

The module has the name of the architecture and defines the function ``build_model`` and the class
``Steps``; the registry in nmt_cli.recipe.model has its settings.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

    from nmt_cli.model.step_graph import StepGraph
    from nmt_cli.recipe.model import ModelConfig


def build_model(
    config: "ModelConfig", source_vocab: int, target_vocab: int, seed: int
) -> "keras.Model":
    """Build the training model, named like its architecture.

    It maps source [B, S] and target [B, T] to logits [B, T, V], float32. The seed determines the
    initial weights and dropout.
    """
    module = import_module(f"{__name__}.{config.architecture}")
    return module.build_model(config, source_vocab, target_vocab, seed)


def step_graph_of(model: "keras.Model") -> "StepGraph":
    """Return the encoder and the decoder step of a training model."""
    return import_module(f"{__name__}.{model.name}").Steps(model)
