"""Build the model that a recipe describes, and find a model's step graph."""

import keras

from nmt_cli.model.step_graph import StepGraph
from nmt_cli.recipe.architecture import ModelConfig, architecture, architecture_of


def build_model(
    config: ModelConfig, source_vocab: int, target_vocab: int, seed: int
) -> keras.Model:
    """Build a training model: (source [B, S], target [B, T]) to logits [B, T, V], float32.

    Args:
        config: the recipe's [model] table.
        source_vocab, target_vocab: sizes of the vocabularies.
        seed: of the initial weights and of dropout.
    """
    return architecture_of(config).build(config, source_vocab, target_vocab, seed)


def step_graph(model: keras.Model) -> StepGraph:
    """Return the step graph of a training model, or of one read back from a file."""
    graph: StepGraph = architecture(model.name).step_graph(model)
    return graph
