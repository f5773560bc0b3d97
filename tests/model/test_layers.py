"""Layers one by one: formulas by hand, serialization, masks."""

import keras
import numpy as np
import pytest
from keras import ops

from nmt_cli.model.attention import CrossAttention, SelfAttention, attend
from nmt_cli.model.blocks import DecoderLayer, EncoderLayer
from nmt_cli.model.layers import (
    MASKED,
    FeedForward,
    LayerNorm,
    PaddingMask,
    PositionalEncoding,
    TokenEmbedding,
    positions,
)
from nmt_cli.model.transformer import CausalMask


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


LAYERS = [
    (TokenEmbedding(7, 8), [np.array([[1, 2, 0]], np.int32)]),
    (PositionalEncoding(), [numbers(2, 5, 8)]),
    (LayerNorm(1e-5), [numbers(2, 5, 8)]),
    (FeedForward(16), [numbers(2, 5, 8)]),
    (PaddingMask(), [np.array([[1, 2, 0]], np.int32)]),
    (CausalMask(), [np.array([[1, 2, 0]], np.int32)]),
    (SelfAttention(2), [numbers(2, 5, 8), np.zeros((2, 1, 1, 5), np.float32)]),
    (CrossAttention(2), [numbers(2, 3, 8), numbers(2, 5, 8), np.zeros((2, 1, 1, 5), np.float32)]),
    (EncoderLayer(2, 16, 0.1, "pre", 1e-6), [numbers(2, 5, 8), np.zeros((1,) * 4, np.float32)]),
    (
        DecoderLayer(2, 16, 0.1, "post", 1e-6),
        [numbers(2, 3, 8), numbers(2, 5, 8), *[np.zeros((1,) * 4, np.float32)] * 2],
    ),
]


@pytest.mark.parametrize(("layer", "inputs"), LAYERS, ids=lambda each: type(each).__name__)
def test_a_layer_comes_back_from_its_config(layer, inputs):
    expected = ops.convert_to_numpy(layer(*inputs))
    twin = type(layer).from_config(layer.get_config())
    twin(*inputs)
    twin.set_weights(layer.get_weights())
    assert twin.get_config() == layer.get_config()
    np.testing.assert_array_equal(ops.convert_to_numpy(twin(*inputs)), expected)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize(("layer", "inputs"), LAYERS, ids=lambda each: type(each).__name__)
def test_a_layer_computes_in_half_precision(layer, inputs, policy):
    half = type(layer).from_config({**layer.get_config(), "dtype": policy})
    kind = keras.DTypePolicy(policy).compute_dtype
    cast = [ops.cast(each, kind) if each.dtype == np.float32 else each for each in inputs]
    result = half(*cast)
    assert keras.backend.standardize_dtype(result.dtype) == kind
    assert all(weight.dtype == "float32" for weight in half.weights)
    assert np.isfinite(ops.convert_to_numpy(ops.cast(result, "float32"))).all()


def test_positions_are_the_papers_formula():
    table = ops.convert_to_numpy(positions(ops.arange(50), 6))
    for position in (0, 1, 49):
        for pair in range(3):
            angle = position / 10000 ** (2 * pair / 6)
            assert table[position, 2 * pair] == pytest.approx(np.sin(angle), abs=1e-5)
            assert table[position, 2 * pair + 1] == pytest.approx(np.cos(angle), abs=1e-5)


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


def test_attention_is_that_of_keras():
    """Keras' MultiHeadAttention with the same weights gives the same numbers."""
    x, memory = numbers(2, 3, 8), numbers(2, 5, 8) * 0.5
    ours = CrossAttention(2)
    ours(x, memory, np.zeros((1, 1, 1, 5), np.float32))
    theirs = keras.layers.MultiHeadAttention(2, 4)
    theirs(x, memory)
    query, query_bias, both, both_bias, out, out_bias = ours.get_weights()
    theirs.set_weights(
        [
            query.reshape(8, 2, 4),
            query_bias.reshape(2, 4),
            both[:, :8].reshape(8, 2, 4),
            both_bias[:8].reshape(2, 4),
            both[:, 8:].reshape(8, 2, 4),
            both_bias[8:].reshape(2, 4),
            out.reshape(2, 4, 8),
            out_bias,
        ]
    )
    keep = np.array([[[True, True, True, False, False]] * 3] * 2)
    mask = np.where(keep, 0.0, MASKED).astype(np.float32)[:, None]
    np.testing.assert_allclose(
        ours(x, memory, mask), theirs(x, memory, attention_mask=keep), atol=1e-6
    )


def test_masks_written_out():
    ids = np.array([[1, 2, 3, 4, 5, 0, 0], [1, 2, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7]], np.int32)
    source = ops.convert_to_numpy(PaddingMask()(ids))
    hidden = [[0, 0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 1, 1, 1], [0] * 7]
    np.testing.assert_array_equal(source[:, 0, 0] == MASKED, np.array(hidden, bool))
    causal = ops.convert_to_numpy(CausalMask()(ids))
    np.testing.assert_array_equal(causal[0, 0] == MASKED, np.triu(np.ones((7, 7), bool), 1))


def test_layer_norm_is_that_of_keras():
    x = numbers(4, 6, 8) * 3 + 1
    np.testing.assert_allclose(
        LayerNorm(1e-5)(x), keras.layers.LayerNormalization(epsilon=1e-5)(x), atol=1e-5
    )


def test_a_feed_forward_layer_is_trained_as_it_is_used():
    tf = pytest.importorskip("tensorflow")
    layer, inputs = FeedForward(1024), tf.constant(numbers(2, 5, 8))
    layer(inputs)
    layer.inner.bias.assign(numbers(1024))
    layer.outer.bias.assign(numbers(8))
    found = {}
    for training in (False, True):
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = layer(inputs, training=training)
            score = tf.reduce_sum(outputs * numbers(2, 5, 8))
        weights = [each.value for each in layer.trainable_variables]
        found[training] = [outputs, *tape.gradient(score, [inputs, *weights])]
    for used, trained in zip(found[False], found[True], strict=True):
        np.testing.assert_allclose(trained, used, rtol=1e-5, atol=1e-5)
