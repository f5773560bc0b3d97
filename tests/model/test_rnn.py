"""Recurrent models: scores by hand, and the step graph compared with the full forward pass."""

import math
from dataclasses import replace

import keras
import numpy as np
import pytest
from keras import ops

from nmt_cli.model.layers import MASKED
from nmt_cli.model.rnn import RecurrentDecoder
from nmt_cli.recipe.model import RecurrentConfig
from tests.model.models import (
    VOCAB,
    batch,
    check_beams,
    check_causality,
    check_padding,
    check_selection,
    check_steps,
    logits,
    tiny,
)

ATTENTIONS = ("luong-dot", "luong-general", "luong-concat", "bahdanau")
CELLS = ("lstm", "gru")


# Two settings per attention that cover all pairs of attention, cell and input feeding.
PAIRS = [
    ("luong-general", "lstm", True),
    ("bahdanau", "lstm", False),
    ("none", "gru", True),
    *(
        pytest.param(*settings, marks=pytest.mark.slow)
        for settings in (
            ("luong-dot", "gru", False),
            ("luong-concat", "gru", True),
            ("luong-dot", "lstm", True),
            ("luong-general", "gru", False),
            ("luong-concat", "lstm", False),
            ("bahdanau", "gru", True),
            ("none", "lstm", False),
        )
    ),
]


@pytest.mark.parametrize(("attention", "cell", "feeding"), PAIRS)
def test_a_model_is_consistent(attention, cell, feeding):
    other = CELLS[cell == "lstm"]
    model = tiny(
        architecture="rnn",
        encoder_cell=other,
        decoder_cell=cell,
        attention=attention,
        input_feeding=feeding,
    )
    check_steps(model)
    check_beams(model)
    check_selection(model)
    check_causality(model)
    check_padding(model)


@pytest.mark.parametrize(
    "keys",
    [
        {"embeddings": "none", "decoder_layers": 1, "scale_embeddings": False},
        {"embeddings": "target-softmax", "encoder_layers": 3, "decoder_layers": 3},
        {"attention": "luong-dot", "attention_scale": True, "attentional_vector": False},
        {"attention": "bahdanau", "attentional_vector": False, "input_feeding": False},
    ],
)
def test_a_variant_is_consistent(keys):
    model = tiny(architecture="rnn", **keys)
    check_steps(model)
    check_padding(model)


def test_parameters_by_hand():
    d, layers = 16, 2
    encoder = layers * 2 * 4 * (d // 2) * (d + d // 2 + 1)  # two directions, four gates
    cells = 4 * d * (2 * d + d + 1) + 4 * d * (
        d + d + 1
    )  # the first layer also gets the attentional vector
    bridges = 2 * layers * (d * d + d)
    attention, combine = d * d, 2 * d * d
    expected = VOCAB * d + encoder + cells + bridges + attention + combine
    assert tiny(architecture="rnn").count_params() == expected


CONFIG = RecurrentConfig(d_model=2, encoder_layers=1, decoder_layers=1)
QUERY = np.array([[1.0, 2.0]], np.float32)
ENCODER_OUTPUT = np.array([[[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]]], np.float32)
MASK = np.array([[[[0.0, 0.0, MASKED]]]], np.float32)
MATRIX = np.array([[1.0, 0.5], [0.0, 2.0]], np.float32)
OTHER = np.array([[0.5, 0.0], [1.0, 1.0]], np.float32)
ENERGY = np.array([[1.0], [-1.0]], np.float32)
SCORES = {
    "luong-dot": [1.0, 2.0],
    # q W m, with m W the rows of W.
    "luong-general": [1.0 * 1 + 2 * 0.5, 1.0 * 0 + 2 * 2],
    # v tanh(q U + m W), with q U = [2.5, 2].
    "luong-concat": [
        math.tanh(2.5 + 1) - math.tanh(2 + 0.5),
        math.tanh(2.5 + 0) - math.tanh(2 + 2),
    ],
}
SCORES["bahdanau"] = SCORES["luong-concat"]


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_scores_by_hand(attention):
    decoder = RecurrentDecoder(replace(CONFIG, attention=attention))
    decoder.build()
    if decoder.keys:
        decoder.keys.kernel.assign(MATRIX)
    if decoder.additive:
        decoder.query.kernel.assign(OTHER)
        decoder.energy.kernel.assign(ENERGY)
    keys, values = decoder.project(ENCODER_OUTPUT)
    one, two = np.exp(SCORES[attention])
    expected = np.array([one, two]) / (one + two)
    weights = ops.convert_to_numpy(decoder.weights_of(QUERY, 1, keys, MASK))
    np.testing.assert_allclose(weights[0, 0, 0], [*expected, 0.0], atol=1e-6)
    result = ops.convert_to_numpy(decoder.attend(QUERY, 1, keys, values, MASK))
    np.testing.assert_allclose(result[0], expected, atol=1e-6)


@pytest.mark.parametrize("attention", ["luong-dot", "luong-general"])
def test_a_learned_scale_multiplies_the_scores(attention):
    """As in TensorFlow's LuongAttention with ``scale=True``, it starts at 1."""
    decoder = RecurrentDecoder(replace(CONFIG, attention=attention, attention_scale=True))
    decoder.build()
    if decoder.keys:
        decoder.keys.kernel.assign(MATRIX)
    for scale in (1.0, 0.25, -2.0):
        if scale == 1.0:
            assert float(decoder.scale) == 1.0
        decoder.scale.assign(scale)
        one, two = np.exp(scale * np.array(SCORES[attention]))
        keys, _ = decoder.project(ENCODER_OUTPUT)
        weights = ops.convert_to_numpy(decoder.weights_of(QUERY, 1, keys, MASK))
        expected = [one / (one + two), two / (one + two), 0.0]
        np.testing.assert_allclose(weights[0, 0, 0], expected, atol=1e-6)


def test_the_scale_is_learned():
    model = tiny(architecture="rnn", attention="luong-dot", attention_scale=True)
    scale = model.get_layer("decoder").scale
    before = float(scale)
    model.compile(optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy(True))
    source, target = batch()
    model.train_on_batch([source, target], target)
    assert float(scale) != before


@pytest.mark.parametrize("attention", ["luong-general", "bahdanau"])
@pytest.mark.parametrize("feeding", [True, False])
def test_without_an_attentional_vector_context_and_output_are_added(attention, feeding):
    """The softmax layer's input is their sum; with input feeding, the next step gets it, too."""
    config = replace(CONFIG, attention=attention, input_feeding=feeding, decoder_cell="gru")
    decoder = RecurrentDecoder(replace(config, attentional_vector=False))
    decoder.build()
    assert decoder.combine is None
    x, context = np.array([[0.3, -0.2]], np.float32), np.array([[2.0, -3.0]], np.float32)
    hidden, attended = np.array([[0.5, -0.5]], np.float32), np.array([[0.1, 0.9]], np.float32)
    entering = [x, attended] if feeding else [x]
    entering += [context] if attention == "bahdanau" else []
    after, _ = decoder.cells[0](np.concatenate(entering, axis=1), [hidden])
    output, _ = decoder.advance(x, [hidden], attended, lambda query: context)
    np.testing.assert_allclose(output, context + np.asarray(after), atol=1e-6)


@pytest.mark.parametrize("feeding", [True, False])
def test_without_attention_a_step_has_the_token_and_the_states_only(feeding):
    """Input feeding has nothing to feed, so it changes nothing."""
    config = replace(CONFIG, attention="none", input_feeding=feeding, decoder_cell="gru")
    decoder = RecurrentDecoder(config)
    decoder.build()
    layers = {weight.path.split("/")[-2] for weight in decoder.weights}
    assert layers == {"cell_0", "first_hidden_0"}
    x, hidden = np.array([[0.3, -0.2]], np.float32), np.array([[0.5, -0.5]], np.float32)
    after, _ = decoder.cells[0](x, [hidden])
    output, (state,) = decoder.advance(x, [hidden], None, None)
    np.testing.assert_array_equal(output, after)
    np.testing.assert_array_equal(state, after)


def test_without_attention_the_source_is_known_by_the_first_state():
    model = tiny(architecture="rnn", attention="none")
    source, target = batch()
    before = logits(model, source, target)
    changed = source.copy()
    changed[0, 0] = 4 + (source[0, 0] - 3) % (VOCAB - 4)
    after = logits(model, changed, target)
    assert np.abs(after[0] - before[0]).max() > 1e-4
    np.testing.assert_array_equal(after[1:], before[1:])


@pytest.mark.parametrize("attention", ["luong-general", "bahdanau"])
@pytest.mark.parametrize("feeding", [True, False])
def test_a_step_by_hand(attention, feeding):
    """Compute which state attends, and the input of the cell, with Keras' own cell."""
    config = replace(CONFIG, attention=attention, input_feeding=feeding, decoder_cell="gru")
    decoder = RecurrentDecoder(config)
    decoder.build()
    x = np.array([[0.3, -0.2]], np.float32)
    hidden, attended = np.array([[0.5, -0.5]], np.float32), np.array([[0.1, 0.9]], np.float32)
    keys, values = decoder.project(ENCODER_OUTPUT)

    def attend(query):
        return decoder.attend(query, 1, keys, values, MASK)

    entering = [x, attended] if feeding else [x]
    if attention == "bahdanau":  # the state before the step attends, and enters with the token
        context = attend(hidden)
        entering.append(context)
    after, _ = decoder.cells[0](np.concatenate(entering, axis=1), [hidden])
    if attention != "bahdanau":  # the cell's output attends
        context = attend(after)
    expected = np.tanh(np.concatenate([context, after], axis=1) @ decoder.combine.kernel.numpy())
    output, states = decoder.advance(x, [hidden], attended, attend)
    np.testing.assert_allclose(output, expected, atol=1e-6)
    np.testing.assert_allclose(states[0], after, atol=1e-6)


@pytest.mark.parametrize(("layers", "drops"), [(1, False), (2, True)])
def test_dropout_applies_between_the_layers_of_the_decoder(layers, drops):
    decoder = tiny(architecture="rnn", dropout=0.5, decoder_layers=layers).get_layer("decoder")
    rng = np.random.default_rng(0)
    x, encoder_output = (rng.normal(size=(2, 3, 16)).astype(np.float32) for _ in range(2))
    inputs = (x, encoder_output, encoder_output[:, 0], np.zeros((2, 1, 1, 3), np.float32))
    used, trained = (
        ops.convert_to_numpy(decoder(*inputs, training=training)) for training in (False, True)
    )
    assert (np.abs(used - trained).max() > 1e-3) == drops


def test_half_precision_computes():
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = tiny(architecture="rnn", dropout=0.1)
        ids = np.array([[5, 6, 3]], np.int32)
        result = model([ids, ids], training=True)
        assert result.dtype == "float32"
        assert np.isfinite(ops.convert_to_numpy(result)).all()
    finally:
        keras.config.set_dtype_policy(policy)
