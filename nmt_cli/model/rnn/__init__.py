"""The recurrent encoder-decoder with attention (Bahdanau et al. 2015,
https://arxiv.org/abs/1409.0473; Luong et al. 2015, https://arxiv.org/abs/1508.04025)."""

from dataclasses import dataclass, field

from nmt_cli.recipe.architecture import (
    Architecture,
    CacheShape,
    ModelConfig,
    Shape,
    dense_parameters,
    one_of,
)

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


class Recurrent(Architecture[RecurrentConfig]):
    """A bidirectional encoder and a decoder of LSTM or GRU cells that attends to it."""

    config = RecurrentConfig

    def summary(self, config: RecurrentConfig) -> str:
        """Describe cells, layers, width and attention."""
        return (
            f"A recurrent model ({config.encoder_cell.upper()} and {config.decoder_cell.upper()}, "
            f"{config.encoder_layers} encoder and {config.decoder_layers} decoder layers, width "
            f"{config.d_model}, attention {config.attention})"
        )

    def layer_parameters(self, config: RecurrentConfig) -> int:
        """Count the weights of both sides' cells and of RecurrentDecoder's dense layers."""
        width, half = config.d_model, config.d_model // 2
        count = config.encoder_layers * 2 * _cell(config.encoder_cell, width, half)
        entering = width * (1 + config.input_feeding + (config.attention == "bahdanau"))
        count += _cell(config.decoder_cell, entering, width)
        count += (config.decoder_layers - 1) * _cell(config.decoder_cell, width, width)
        count += len(cell_states(config)) * dense_parameters(width, width)
        if config.attention != "luong-dot":
            count += width * width  # keys
        if config.attention in ("luong-concat", "bahdanau"):
            count += width * width + width  # query and energy
        return count + 2 * width * width  # what joins output and attention

    def widest_product(self, config: RecurrentConfig) -> int:
        """Count the entries of a square cell's matrix, of four gates."""
        return 4 * config.d_model**2

    def encoder_output(self, config: RecurrentConfig) -> dict[str, Shape]:
        """Return mask, keys and values of attention, and the states before the first step."""
        return {
            "source_mask": ("B", 1, 1, "S"),
            "cross_key": ("B", 1, "S", config.d_model),
            "cross_value": ("B", 1, "S", config.d_model),
            **{f"first_{each}": ("B", 1, 1, config.d_model) for each in cell_states(config)},
        }

    def caches(self, config: RecurrentConfig) -> dict[str, CacheShape]:
        """Return the states that the decoder carries from step to step."""
        states = cell_states(config) + ["attended"] * config.input_feeding
        return dict.fromkeys(states, ("B", 1, "P", config.d_model))

    def cross_attention(self, config: RecurrentConfig) -> tuple[int, int]:
        """Return one layer and one head."""
        return 1, 1


def _cell(kind: str, inputs: int, units: int) -> int:
    """Keras' cells. A GRU has two biases a gate, as cuDNN's has (reset_after)."""
    gates, biases = (4, 1) if kind == "lstm" else (3, 2)
    return gates * units * (inputs + units + biases)


ARCHITECTURE = Recurrent()
