"""The Transformer: masking, and the step graph compared with the full forward pass."""

from itertools import product

import keras
import numpy as np
import pytest
from keras import ops

from nmt_cli.model import build_model, step_graph_of
from nmt_cli.recipe.model import TransformerConfig
from tests.model.models import (
    VOCAB,
    batch,
    check_beams,
    check_causality,
    check_padding,
    check_selection,
    check_steps,
    tiny,
)

NORMS = ("pre", "post")
EMBEDDINGS = ("all", "source-target", "target-softmax", "none")
# Together they cover every key of [model] that affects the step graph.
VARIANTS = {
    "defaults": {},
    "tutorial positions, wide keys, swiglu": {
        "positions": "concatenated",
        "key_dim": 12,
        "value_dim": 5,
        "activation": "swiglu",
    },
    "learned positions, narrow keys, no biases": {
        "positions": "learned",
        "max_positions": 9,
        "key_dim": 3,
        "value_dim": 16,
        "heads": 3,
        "d_model": 14,
        "attention_bias": False,
    },
    "shared learned positions, gelu, plain embeddings": {
        "positions": "learned",
        "shared_positions": True,
        "max_positions": 9,
        "activation": "gelu",
        "scale_embeddings": False,
    },
    "no positions, deep and shallow": {
        "positions": "none",
        "encoder_layers": 3,
        "decoder_layers": 1,
    },
    "several pad symbols": {"pad_ids": (0, 1, 9)},
    "SSRU": {"decoder": "ssru", "layer_drop": 0.2},
    "as Marian": {
        "norm": "post",
        "positions": "concatenated",
        "activation": "swish",
        "output_bias": True,
        "epsilon": 1e-5,
    },
    "SSRU, several pad symbols": {"decoder": "ssru", "pad_ids": (0, 1, 9), "norm": "post"},
}


# Except the defaults, which are a variant below.
TIED = [
    pytest.param(*pair, marks=[] if pair == ("post", "none") else [pytest.mark.slow])
    for pair in product(NORMS, EMBEDDINGS)
    if pair != ("pre", "all")
]


@pytest.mark.parametrize(("norm", "embeddings"), TIED)
def test_a_model_with_tied_embeddings_is_consistent(norm, embeddings):
    model = tiny(norm=norm, embeddings=embeddings)
    check_steps(model)


OFTEN = ("defaults", "tutorial positions, wide keys, swiglu", "several pad symbols", "SSRU")


@pytest.mark.parametrize(
    "variant",
    [pytest.param(name, marks=[] if name in OFTEN else [pytest.mark.slow]) for name in VARIANTS],
)
def test_a_variant_is_consistent(variant):
    model = tiny(**VARIANTS[variant])
    check_steps(model)
    check_beams(model)
    check_selection(model)
    check_causality(model)
    check_padding(model)


def test_an_ssru_computes_the_papers_equations():
    model = tiny(decoder="ssru")
    ssru, x = (
        model.get_layer("decoder_0").attention,
        np.random.default_rng(1).normal(size=(2, 5, 16)),
    )
    forget_matrix, matrix = np.split(np.asarray(ssru.matrices.kernel), 2, axis=1)
    state, expected = np.zeros((2, 16)), []
    for token in np.swapaxes(x, 0, 1):
        forget = 1 / (1 + np.exp(-(token @ forget_matrix + np.asarray(ssru.bias))))
        state = forget * state + (1 - forget) * (token @ matrix)
        expected.append(np.maximum(state, 0))
    result = ops.convert_to_numpy(ssru(x.astype(np.float32)))
    np.testing.assert_allclose(result, np.stack(expected, axis=1), atol=1e-5)


def test_ssrus_have_no_self_attention():
    source, target = batch()
    (encoder,) = step_graph_of(tiny(decoder="ssru")).self_attention(source, target)
    assert tuple(encoder.shape) == (3, 2, 2, 7, 7)


@pytest.mark.parametrize(
    ("embeddings", "matrices"),
    [("all", 1), ("source-target", 2), ("target-softmax", 2), ("none", 3)],
)
def test_tying_shares_matrices(embeddings, matrices):
    model = tiny(embeddings=embeddings)
    over_vocabulary = [
        weight
        for weight in model.weights
        if len(weight.shape) == 2 and max(weight.shape) in (VOCAB, VOCAB + 4)
    ]
    assert len(over_vocabulary) == matrices


def test_parameters_by_hand():
    d, ff = 16, 32
    attention = 4 * (d * d + d)
    feed, norm = 2 * d * ff + ff + d, 2 * d
    encoder = 2 * (attention + feed + 2 * norm) + norm
    decoder = 2 * (2 * attention + feed + 3 * norm) + norm
    assert tiny().count_params() == VOCAB * d + encoder + decoder


def test_parameters_of_a_known_model():
    """Two layers with two heads of 512; counts computed by hand."""
    config = TransformerConfig(
        d_model=512,
        heads=2,
        key_dim=512,
        value_dim=512,
        feed_forward=512,
        encoder_layers=2,
        decoder_layers=2,
        norm="post",
        embeddings="none",
    )
    model = build_model(config, 1000, 1000, seed=1)
    counts = {layer.name: layer.count_params() for layer in model.layers}
    sides = {
        side: sum(
            count
            for name, count in counts.items()
            if name == f"{embedding}_embedding" or name.startswith(f"{side}_")
        )
        for side, embedding in (("encoder", "source"), ("decoder", "target"))
    }
    assert sides == {"encoder": 5_768_192, "decoder": 9_971_712}
    assert counts["logits"] == 513_000
    assert model.count_params() == config.count_parameters(1000, 1000) == 16_252_904


def test_the_output_shape_of_a_layer_of_the_paper():
    config = TransformerConfig(
        d_model=512,
        heads=8,
        key_dim=64,
        value_dim=64,
        feed_forward=2048,
        encoder_layers=1,
        decoder_layers=1,
        norm="post",
    )
    model = build_model(config, 20, 20, seed=1)
    decoder = keras.Model(model.inputs, model.get_layer("decoder_0").output)
    ids = np.random.default_rng(0).integers(1, 20, (64, 5)).astype(np.int32)
    assert decoder([ids, ids]).shape == (64, 5, 512)


def test_source_and_target_may_have_different_lengths():
    """The sizes of the TensorFlow tutorial, https://www.tensorflow.org/text/tutorials/transformer:
    62 and 26 positions in its encoder and decoder, 38 and 36 in its Transformer."""
    config = TransformerConfig(
        d_model=512,
        heads=8,
        feed_forward=2048,
        encoder_layers=2,
        decoder_layers=2,
        norm="post",
        positions="concatenated",
        embeddings="none",
    )
    model = build_model(config, 8500, 8000, seed=1)
    layers = [model.get_layer(name).output for name in ("encoder_1", "decoder_1")]
    parts = keras.Model(model.inputs, [*layers, model.output])
    for source, target in ((62, 26), (38, 36)):
        # Without numbers: one step of such a model takes seconds.
        ids = [keras.KerasTensor((64, length), "int32") for length in (source, target)]
        shapes = [part.shape for part in parts(ids)]
        assert shapes == [(64, source, 512), (64, target, 512), (64, target, 8000)]


def test_weights_depend_only_on_the_seed():
    config = TransformerConfig(
        d_model=16, feed_forward=32, heads=2, encoder_layers=1, decoder_layers=1
    )
    one, two, other = (build_model(config, VOCAB, VOCAB, seed) for seed in (1, 1, 2))
    for left, right in zip(one.get_weights(), two.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)
    assert not np.array_equal(one.get_weights()[0], other.get_weights()[0])
