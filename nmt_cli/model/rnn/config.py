"""The [model] table of a recurrent model."""

from dataclasses import dataclass, field

from nmt_cli.recipe.architecture import ModelConfig, one_of

# What a cell carries from step to step.
STATES = {"lstm": ("hidden", "cell"), "gru": ("hidden",)}


@dataclass(frozen=True)
class RecurrentConfig(ModelConfig):
    """The [model] table of a recurrent model."""

    architecture: str = field(default="rnn", init=False)
    encoder_cell: str = one_of("lstm", "gru")
    decoder_cell: str = one_of("lstm", "gru")
    attention: str = one_of("luong-general", "luong-dot", "luong-concat", "bahdanau")
    input_feeding: bool = True  # the attentional vector enters the next step


def cell_states(config: RecurrentConfig) -> list[str]:
    """Names of the states of the decoder's cells, layer by layer."""
    layers = range(config.decoder_layers)
    return [f"{kind}_{layer}" for layer in layers for kind in STATES[config.decoder_cell]]
