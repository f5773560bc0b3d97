"""The model that a recipe's ``model.architecture`` names, and its step graph."""

import keras

from nmt_cli.model.recurrent_steps import RecurrentSteps
from nmt_cli.model.rnn import build_rnn
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.model.transformer import build_transformer
from nmt_cli.model.transformer_steps import TransformerSteps
from nmt_cli.recipe.config import ModelConfig

_BUILDERS = {"transformer": build_transformer, "rnn": build_rnn}
_STEPS: dict[str, type[StepGraph]] = {"transformer": TransformerSteps, "rnn": RecurrentSteps}


def build_model(
    config: ModelConfig, source_vocab: int, target_vocab: int, seed: int
) -> keras.Model:
    """Build a training model: (source [B, S], target [B, T]) to logits [B, T, V], float32.

    Args:
        config: the recipe's [model] table.
        source_vocab, target_vocab: sizes of the vocabularies.
        seed: of the initial weights and of dropout.
    """
    return _BUILDERS[config.architecture](config, source_vocab, target_vocab, seed)


def step_graph(model: keras.Model) -> StepGraph:
    """What search needs of a training model, or of one read back from a file."""
    return _STEPS[model.name](model)
