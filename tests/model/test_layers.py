"""Layers: formulas computed by hand, half precision and masks."""

import math
from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from nmt_cli.model.attention import CrossAttention, SelfAttention, attend
from nmt_cli.model.layers import (
    ACTIVATIONS,
    MASKED,
    FeedForward,
    LayerNorm,
    LearnedPositions,
    PaddingMask,
    PositionalEncoding,
    SpecialRows,
    TargetMask,
    TokenEmbedding,
    causal_mask,
    padding_mask,
    sinusoids,
    target_mask,
)
from nmt_cli.model.transformer import DecoderLayer, EncoderLayer
from nmt_cli.recipe.model import PAD_ID, START_ID, TransformerConfig


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


PRE = TransformerConfig(d_model=8, heads=2, feed_forward=16)
POST = TransformerConfig(d_model=8, heads=2, feed_forward=16, norm="post", key_dim=3, value_dim=5)
IDS = np.array([[1, 2, 0]], np.int32)
STATES, SCORES = numbers(2, 5, 8), np.zeros((2, 1, 1, 5), np.float32)
LAYERS = [
    (partial(TokenEmbedding, 7, 8), [IDS]),
    (partial(TokenEmbedding, 7, 8, scaled=False), [IDS]),
    (PositionalEncoding, [STATES]),
    (partial(PositionalEncoding, interleaved=False), [STATES]),
    (partial(LearnedPositions, 6), [STATES]),
    (partial(LayerNorm, 1e-5), [STATES]),
    *((partial(FeedForward, 16, activation=name), [STATES]) for name in ACTIVATIONS),
    (PaddingMask, [IDS]),
    (partial(PaddingMask, (0, 2)), [IDS]),
    (TargetMask, [IDS]),
    (partial(TargetMask, (0, 2)), [IDS]),
    (partial(SelfAttention, 2, 4, 4), [STATES, SCORES]),
    (partial(SelfAttention, 2, 3, 5, bias=False), [STATES, SCORES]),
    (partial(CrossAttention, 2, 4, 4), [numbers(2, 3, 8), STATES, SCORES]),
    (partial(EncoderLayer, PRE), [STATES, SCORES]),
    (partial(DecoderLayer, POST), [numbers(2, 3, 8), STATES, SCORES[..., :3], SCORES]),
]


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize(("layer", "inputs"), LAYERS)
def test_a_layer_computes_in_half_precision(layer, inputs, policy):
    half = layer(dtype=policy)
    kind = keras.DTypePolicy(policy).compute_dtype
    cast = [ops.cast(array, kind) if array.dtype == np.float32 else array for array in inputs]
    result = half(*cast)
    assert keras.backend.standardize_dtype(result.dtype) == kind
    assert all(weight.dtype == "float32" for weight in half.weights)
    assert np.isfinite(ops.convert_to_numpy(ops.cast(result, "float32"))).all()


def test_sinusoids_match_the_formula_of_the_paper():
    table = ops.convert_to_numpy(sinusoids(ops.arange(50), 6))
    tutorial = ops.convert_to_numpy(sinusoids(ops.arange(50), 6, interleaved=False))
    for position in (0, 1, 49):
        for pair in range(3):
            angle = position / 10000 ** (2 * pair / 6)
            assert table[position, 2 * pair] == pytest.approx(np.sin(angle), abs=1e-5)
            assert table[position, 2 * pair + 1] == pytest.approx(np.cos(angle), abs=1e-5)
            assert tutorial[position, pair] == pytest.approx(np.sin(angle), abs=1e-5)
            assert tutorial[position, 3 + pair] == pytest.approx(np.cos(angle), abs=1e-5)


def test_marians_sinusoids_end_with_the_slowest_wave():
    table = ops.convert_to_numpy(sinusoids(ops.arange(50), 6, interleaved=False, marian=True))
    for position in (0, 1, 49):
        for pair, length in enumerate((1, 100, 10000)):
            assert table[position, pair] == pytest.approx(np.sin(position / length), abs=1e-5)
            assert table[position, 3 + pair] == pytest.approx(np.cos(position / length), abs=1e-5)


def test_rows_of_padding_and_start_are_kept():
    rows = SpecialRows(-1.5)(numbers(6, 3))
    expected = np.array(numbers(6, 3))
    expected[[PAD_ID, START_ID]] = -1.5
    np.testing.assert_array_equal(ops.convert_to_numpy(rows), expected)
    restored = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(SpecialRows(-1.5))
    )
    assert restored.number == -1.5


def test_learned_positions_are_rows_of_a_table():
    layer = LearnedPositions(3)
    x = numbers(2, 3, 8)
    result = ops.convert_to_numpy(layer(x))
    (table,) = layer.get_weights()
    assert table.shape == (3, 8)
    np.testing.assert_array_equal(result, x + table)
    # A batch may be padded beyond the table; nothing attends to padding.
    np.testing.assert_array_equal(layer.at(np.array([4]), 8), table[2:])


def test_activations_by_hand():
    """One input of 1 and two hidden units (SwiGLU: two gates, then two values)."""
    weights = {
        "relu": [[[2.0, -3.0]], [0.5, 0.5], [[1.0], [1.0]], [0.25]],
        "gelu": [[[2.0, -3.0]], [0.0, 0.0], [[1.0], [1.0]], [0.0]],
        "swish": [[[2.0, -3.0]], [0.0, 0.0], [[1.0], [1.0]], [0.0]],
        "swiglu": [[[2.0, -3.0, 5.0, 7.0]], [0.0, 0.0, 0.0, 1.0], [[1.0], [1.0]], [0.0]],
    }
    normal = lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))  # noqa: E731
    sigmoid = lambda x: 1 / (1 + math.exp(-x))  # noqa: E731
    expected = {
        "relu": 2.5 + 0.25,
        "gelu": 2 * normal(2) - 3 * normal(-3),
        "swish": 2 * sigmoid(2) - 3 * sigmoid(-3),
        "swiglu": 2 * sigmoid(2) * 5 - 3 * sigmoid(-3) * 8,
    }
    for activation, arrays in weights.items():
        layer = FeedForward(2, activation=activation)
        layer.build((None, None, 1))
        layer.set_weights([np.array(array, np.float32) for array in arrays])
        result = ops.convert_to_numpy(layer(np.ones((1, 1, 1), np.float32))).item()
        assert result == pytest.approx(expected[activation], rel=1e-5), activation


def test_attention_by_hand():
    # Two keys; the query equals the first, whose score is 1 / sqrt(1) higher.
    query = np.array([[[[1.0]]]], np.float32)
    key = np.array([[[[1.0], [0.0]]]], np.float32)
    value = np.array([[[[10.0], [20.0]]]], np.float32)
    share = np.exp(1) / (np.exp(1) + 1)
    mixed = ops.convert_to_numpy(attend(query, key, value, 0.0))
    assert mixed.item() == pytest.approx(10 * share + 20 * (1 - share), rel=1e-6)
    mask = np.array([[[[MASKED, 0.0]]]], np.float32)
    assert ops.convert_to_numpy(attend(query, key, value, mask)).item() == pytest.approx(20.0)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("keys", "values"), [(4, 4), (3, 5), (16, 2)])
def test_attention_matches_keras(keys, values, bias):
    """Keras' MultiHeadAttention with the same weights gives the same output."""
    x, encoder_output = numbers(2, 3, 8), numbers(2, 5, 8) * 0.5
    fused = CrossAttention(2, keys, values, bias=bias)
    fused(x, encoder_output, np.zeros((1, 1, 1, 5), np.float32))
    separate = keras.layers.MultiHeadAttention(2, keys, values, use_bias=bias)
    separate(x, encoder_output)
    for number, weight in enumerate(fused.weights):  # biases start at zero and would hide errors
        weight.assign(np.random.default_rng(number).normal(size=weight.shape))
    set_keras_attention(separate, fused, keys, values)
    keep = np.array([[[True, True, True, False, False]] * 3] * 2)
    mask = np.where(keep, 0.0, MASKED).astype(np.float32)[:, None]
    np.testing.assert_allclose(
        fused(x, encoder_output, mask),
        separate(x, encoder_output, attention_mask=keep),
        rtol=1e-5,
        atol=1e-6,
    )


def set_keras_attention(separate, fused, keys, values):
    """Split the fused matrices and set them as the weights of Keras' layer."""
    query, both, out = (
        layer.get_weights() for layer in (fused.query, fused.key_value, fused.output_projection)
    )
    cut = 2 * keys
    parts = [query, [side[..., :cut] for side in both], [side[..., cut:] for side in both]]
    shaped = [
        side.reshape(*side.shape[:-1], 2, size)
        for part, size in zip(parts, (keys, keys, values), strict=True)
        for side in part
    ]
    separate.set_weights([*shaped, out[0].reshape(2, values, 8), *out[1:]])


def test_embeddings_are_scaled_by_the_square_root_of_the_width():
    scaled, plain = (TokenEmbedding(5, 16, scale) for scale in (True, False))
    ids = np.array([[4, 0]], np.int32)
    for layer in (scaled, plain):
        layer.build(ids.shape)
        layer.matrix.assign(np.arange(80, dtype=np.float32).reshape(5, 16))
    np.testing.assert_array_equal(plain(ids)[0, 0], np.arange(64, 80))
    np.testing.assert_array_equal(scaled(ids)[0, 0], 4 * np.arange(64, 80))  # sqrt(16) = 4
    # The softmax layer has the same matrix, and no scale.
    logits = scaled(np.eye(1, 16, dtype=np.float32), reverse=True)
    np.testing.assert_array_equal(logits[0], [0, 16, 32, 48, 64])


def test_masks_by_hand():
    ids = np.array([[1, 2, 3, 4, 5, 0, 0], [1, 2, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7]], np.int32)
    seen = {
        "source": [
            ["1111100"],
            ["1100000"],
            ["1111111"],
        ],
        "causal": [["1000000", "1100000", "1110000", "1111000", "1111100", "1111110", "1111111"]],
        "target": [
            ["1000000", "1100000", "1110000", "1111000", "1111100", "1111100", "1111100"],
            ["1000000", "1100000", "1100000", "1100000", "1100000", "1100000", "1100000"],
            ["1000000", "1100000", "1110000", "1111000", "1111100", "1111110", "1111111"],
        ],
    }
    masks = {
        "source": padding_mask(ids, "float32"),
        "causal": causal_mask(7, "float32"),
        "target": target_mask(ids, "float32"),
    }
    for name, rows in seen.items():
        expected = [[[int(number) for number in row] for row in sentence] for sentence in rows]
        result = ops.convert_to_numpy(masks[name])
        np.testing.assert_array_equal(result[:, 0] == 0, np.array(expected, bool), name)
        np.testing.assert_array_equal(result[:, 0] == MASKED, ~np.array(expected, bool), name)


def test_masks_of_several_pad_symbols():
    ids = np.array([[4, 1, 5, 0]], np.int32)
    source = ops.convert_to_numpy(PaddingMask((0, 1))(ids))
    np.testing.assert_array_equal(source[0, 0, 0] == 0, [True, False, True, False])
    target = ops.convert_to_numpy(TargetMask((0, 1))(ids))
    expected = ["1000", "1000", "1010", "1010"]
    np.testing.assert_array_equal(
        target[0, 0] == 0, np.array([[mark == "1" for mark in row] for row in expected])
    )
    # With PAD only, the causal mask is enough: PAD follows everything else.
    only_pad = ops.convert_to_numpy(TargetMask()(ids))
    np.testing.assert_array_equal(only_pad, ops.convert_to_numpy(causal_mask(4, "float32")))


def test_layer_norm_matches_keras():
    x = numbers(4, 6, 8) * 3 + 1
    np.testing.assert_allclose(
        LayerNorm(1e-5)(x), keras.layers.LayerNormalization(epsilon=1e-5)(x), atol=1e-5
    )


def test_a_feed_forward_layer_computes_the_same_in_training():
    tf = pytest.importorskip("tensorflow")
    layer, inputs = FeedForward(1024), tf.constant(numbers(2, 5, 8))
    layer(inputs)
    layer.inner.bias.assign(numbers(1024))
    layer.outer.bias.assign(numbers(8))
    results = {}
    for training in (False, True):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = layer(inputs, training=training)
            score = tf.reduce_sum(outputs * numbers(2, 5, 8))
        weights = [variable.value for variable in layer.trainable_variables]
        results[training] = [outputs, *tape.gradient(score, [inputs, *weights])]
    for used, trained in zip(results[False], results[True], strict=True):
        np.testing.assert_allclose(trained, used, rtol=1e-5, atol=1e-5)
