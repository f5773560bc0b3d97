"""How many parameters a model has, by its recipe alone: no package has to build it.

Each number is that of the layer named beside it; the tests hold all of them to Keras' own count.
"""

from nmt_cli.recipe.config import ModelConfig


def count_parameters(shape: ModelConfig, source_vocab: int, target_vocab: int) -> int:
    """All weights of a model, moving averages and the optimizer's own numbers left out.

    Args:
        shape: the recipe's [model] table.
        source_vocab, target_vocab: sizes of the vocabularies.
    """
    layers = _recurrent(shape) if shape.architecture == "rnn" else _transformer(shape)
    return _ends(shape, source_vocab, target_vocab) + layers


def _ends(shape: ModelConfig, source_vocab: int, target_vocab: int) -> int:
    """Embeddings and softmax (model/embedding.py)."""
    count = target_vocab * shape.d_model
    if shape.embeddings in ("target-softmax", "none"):
        count += source_vocab * shape.d_model
    if shape.embeddings in ("source-target", "none"):
        count += _dense(shape.d_model, target_vocab)
    return count


def _transformer(shape: ModelConfig) -> int:
    """model/transformer.py."""
    norm = 2 * shape.d_model
    attention, feed_forward = _attention(shape), _feed_forward(shape)
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    count = shape.encoder_layers * encoder + shape.decoder_layers * decoder
    if shape.norm == "pre":
        count += 2 * norm
    if shape.positions == "learned":
        tables = 1 if shape.shared_positions else 2
        count += tables * shape.max_positions * shape.d_model
    return count


def _attention(shape: ModelConfig) -> int:
    """Either kind (model/attention.py): they differ in what is fused alone."""
    keys, values = shape.heads * shape.key_size, shape.heads * shape.value_size
    inner = _dense(shape.d_model, 2 * keys + values, shape.attention_bias)
    return inner + _dense(values, shape.d_model, shape.attention_bias)


def _feed_forward(shape: ModelConfig) -> int:
    """model/layers.py."""
    gates = 2 if shape.activation == "swiglu" else 1
    inner = _dense(shape.d_model, gates * shape.feed_forward)
    return inner + _dense(shape.feed_forward, shape.d_model)


def _recurrent(shape: ModelConfig) -> int:
    """model/recurrent.py: RecurrentDecoder.build, from the bridges on, and both sides' cells."""
    width, half = shape.d_model, shape.d_model // 2
    count = shape.encoder_layers * 2 * _cell(shape.encoder_cell, width, half)
    entering = width * (1 + shape.input_feeding + (shape.attention == "bahdanau"))
    count += _cell(shape.decoder_cell, entering, width)
    count += (shape.decoder_layers - 1) * _cell(shape.decoder_cell, width, width)
    states = 2 if shape.decoder_cell == "lstm" else 1
    count += shape.decoder_layers * states * _dense(width, width)
    if shape.attention != "luong-dot":
        count += width * width  # keys
    if shape.attention in ("luong-concat", "bahdanau"):
        count += width * width + width  # query and energy
    return count + 2 * width * width  # what joins output and attention


def _cell(kind: str, inputs: int, units: int) -> int:
    """Keras' cells. A GRU has two biases a gate, as cuDNN's has (reset_after)."""
    gates, biases = (4, 1) if kind == "lstm" else (3, 2)
    return gates * units * (inputs + units + biases)


def _dense(inputs: int, outputs: int, bias: bool = True) -> int:
    return outputs * (inputs + bias)
