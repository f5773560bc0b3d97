"""The whole model: saving, masking, and the step graph against the full forward pass."""

import keras
import numpy as np
import pytest
from keras import ops

from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.model.transformer import build_transformer
from nmt_cli.recipe.config import ModelConfig

VOCAB = 23
NORMS = ("pre", "post")
EMBEDDINGS = ("all", "source-target", "target-softmax", "none")


def tiny(norm: str = "pre", embeddings: str = "all", layers: int = 2) -> keras.Model:
    config = ModelConfig(
        d_model=16,
        feed_forward=32,
        heads=2,
        encoder_layers=layers,
        decoder_layers=layers,
        norm=norm,
        embeddings=embeddings,
    )
    target_vocab = VOCAB if embeddings in ("all", "source-target") else VOCAB + 4
    model = build_transformer(config, VOCAB, target_vocab, seed=3)
    rng = np.random.default_rng(5)
    for weight in model.weights:  # biases and offsets start at zero and would hide errors
        weight.assign(weight + rng.normal(scale=0.1, size=weight.shape))
    return model


def batch(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    source = rng.integers(4, VOCAB, (3, 7)).astype(np.int32)
    target = rng.integers(4, VOCAB, (3, 6)).astype(np.int32)
    source[1, 4:] = 0
    target[:, 0] = 2
    return source, target


def logits(model: keras.Model, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    return ops.convert_to_numpy(model([source, target]))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("embeddings", EMBEDDINGS)
def test_step_by_step_equals_the_full_pass(norm, embeddings):
    model = tiny(norm, embeddings)
    source, target = batch()
    full = ops.convert_to_numpy(ops.log_softmax(logits(model, source, target)))
    stepper = KerasStepModel(model)
    state = stepper.encode(source)
    for position in range(target.shape[1]):
        ancestry = np.ones((3, 1, position + 1), np.bool_)
        found, state = stepper.log_probs(state, target[:, position : position + 1], ancestry)
        np.testing.assert_allclose(found[:, 0], full[:, position], rtol=1e-5, atol=1e-5)


def test_beams_share_caches_without_seeing_each_other():
    """Two beams of one sentence, the second fed another prefix, against two full passes."""
    model = tiny()
    source, target = batch()
    other = batch(seed=9)[1]
    stepper = KerasStepModel(model)
    state = stepper.encode(source)
    expected = [
        ops.convert_to_numpy(ops.log_softmax(logits(model, source, t))) for t in (target, other)
    ]
    lineage = np.zeros((3, 2, 0), np.bool_)
    for position in range(target.shape[1]):
        tokens = np.stack([target[:, position], other[:, position]], axis=1)
        own = np.broadcast_to(np.eye(2, dtype=np.bool_), (3, 2, 2))
        lineage = np.concatenate([lineage, own], axis=2)
        found, state = stepper.log_probs(state, tokens, lineage)
        for beam in (0, 1):
            np.testing.assert_allclose(found[:, beam], expected[beam][:, position], atol=1e-5)


def test_selected_sentences_go_on_unchanged():
    model = tiny()
    source, target = batch()
    stepper = KerasStepModel(model)
    whole, part = stepper.encode(source), None
    for position in range(3):
        ancestry = np.ones((3, 1, position + 1), np.bool_)
        tokens = target[:, position : position + 1]
        if position == 1:
            part = stepper.select(whole, np.array([0, 2]))
        expected, whole = stepper.log_probs(whole, tokens, ancestry)
        if part is not None:
            found, part = stepper.log_probs(part, tokens[[0, 2]], ancestry[[0, 2]])
            np.testing.assert_allclose(found, expected[[0, 2]], atol=1e-6)


@pytest.mark.parametrize("norm", NORMS)
def test_later_targets_never_change_earlier_logits(norm):
    model = tiny(norm)
    source, target = batch()
    changed = target.copy()
    changed[:, 4:] = 9
    before, after = logits(model, source, target), logits(model, source, changed)
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert np.abs(before[:, 4:] - after[:, 4:]).max() > 1e-3


@pytest.mark.parametrize("norm", NORMS)
def test_padding_changes_nothing(norm):
    model = tiny(norm)
    source, target = batch()
    wider = np.pad(source, ((0, 0), (0, 5)))
    np.testing.assert_allclose(
        logits(model, source, target), logits(model, wider, target), atol=1e-5
    )


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("embeddings", EMBEDDINGS)
def test_a_saved_model_reloads_to_identical_outputs(norm, embeddings, tmp_path):
    model = tiny(norm, embeddings)
    source, target = batch()
    model.save(tmp_path / "model.keras")
    twin = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(logits(model, source, target), logits(twin, source, target))
    assert [each.path for each in twin.weights] == [each.path for each in model.weights]


@pytest.mark.parametrize(
    ("embeddings", "matrices"),
    [("all", 1), ("source-target", 2), ("target-softmax", 2), ("none", 3)],
)
def test_tying_shares_matrices(embeddings, matrices):
    model = tiny(embeddings=embeddings)
    over_vocabulary = [
        each
        for each in model.weights
        if len(each.shape) == 2 and max(each.shape) in (VOCAB, VOCAB + 4)
    ]
    assert len(over_vocabulary) == matrices


def test_parameters_by_hand():
    d, ff = 16, 32
    attention = 4 * (d * d + d)
    feed, norm = 2 * d * ff + ff + d, 2 * d
    encoder = 2 * (attention + feed + 2 * norm) + norm
    decoder = 2 * (2 * attention + feed + 3 * norm) + norm
    assert tiny().count_params() == VOCAB * d + encoder + decoder


def test_the_seed_gives_the_weights():
    config = ModelConfig(d_model=16, feed_forward=32, heads=2, encoder_layers=1, decoder_layers=1)
    one, two, other = (build_transformer(config, VOCAB, VOCAB, seed) for seed in (1, 1, 2))
    for left, right in zip(one.get_weights(), two.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)
    assert not np.array_equal(one.get_weights()[0], other.get_weights()[0])


def test_a_row_of_padding_alone_gives_numbers():
    source, target = batch()
    source[2] = 0
    assert np.isfinite(logits(tiny(), source, target)).all()
