"""Tiny models of every architecture, and checks for all of them."""

from functools import lru_cache

import keras
import numpy as np
from keras import ops

from nmt_cli.model import build_model
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe.model import model_config

VOCAB = 23


def tiny(**keys: object) -> keras.Model:
    """Build a model with random weights and biases; ``keys`` are those of [model]."""
    table = {"d_model": 16, "feed_forward": 32, "heads": 2}
    table |= {"encoder_layers": 2, "decoder_layers": 2, **keys}
    config = model_config(table, "test")
    target_vocab = VOCAB if config.embeddings in ("all", "source-target") else VOCAB + 4
    model = build_model(config, VOCAB, target_vocab, seed=3)
    rng = np.random.default_rng(5)
    for weight in model.weights:  # biases and offsets start at zero and would hide errors
        weight.assign(weight + rng.normal(scale=0.1, size=weight.shape))
    return model


def batch(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a source [3, 7] and a target [3, 6]; the second source is padded."""
    rng = np.random.default_rng(seed)
    source = rng.integers(4, VOCAB, (3, 7)).astype(np.int32)
    target = rng.integers(4, VOCAB, (3, 6)).astype(np.int32)
    source[1, 4:] = 0
    target[:, 0] = 2
    return source, target


def logits(model: keras.Model, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    return ops.convert_to_numpy(model([source, target]))


def log_probs(model: keras.Model, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    return ops.convert_to_numpy(ops.log_softmax(logits(model, source, target)))


@lru_cache(maxsize=1)  # tracing takes a second
def step_model(model: keras.Model) -> KerasStepModel:
    return KerasStepModel(model)


def check_steps(model: keras.Model) -> None:
    """Check that the log-probabilities of single steps match the full forward pass."""
    source, target = batch()
    source[0, 2] = target[0, 2] = target[2, 1] = 9  # a pad symbol of one of the variants
    full = log_probs(model, source, target)
    stepper = step_model(model)
    state = stepper.encode(source)
    for position in range(target.shape[1]):
        ancestry = np.ones((3, 1, position + 1), np.bool_)
        result, state = stepper.log_probs(state, target[:, position : position + 1], ancestry)
        np.testing.assert_allclose(result[:, 0], full[:, position], rtol=1e-5, atol=1e-5)


def check_beams(model: keras.Model) -> None:
    """Compare two hypotheses that swap beams halfway with full forward passes."""
    source, target = batch()
    beams = np.stack([target, batch(seed=9)[1]], axis=1)  # [3, 2, 6]
    stepper = step_model(model)
    state = stepper.encode(source)
    ancestry = np.zeros((3, 2, 0), np.bool_)
    for position in range(target.shape[1]):
        if position == 3:
            beams, ancestry = beams[:, ::-1], ancestry[:, ::-1]
        if position in (0, 3):
            expected = log_probs(model, np.repeat(source, 2, axis=0), beams.reshape(6, 6))
            expected = expected.reshape(3, 2, 6, -1)
        identity = np.broadcast_to(np.eye(2, dtype=np.bool_), (3, 2, 2))
        ancestry = np.concatenate([ancestry, identity], axis=2)
        result, state = stepper.log_probs(state, beams[:, :, position], ancestry)
        np.testing.assert_allclose(result, expected[:, :, position], rtol=1e-5, atol=1e-5)


def check_selection(model: keras.Model) -> None:
    """Check that selected sentences give the same results as in the full batch."""
    source, target = batch()
    stepper = step_model(model)
    whole, part = stepper.encode(source), None
    for position in range(3):
        ancestry = np.ones((3, 1, position + 1), np.bool_)
        tokens = target[:, position : position + 1]
        if position == 1:
            part = stepper.select(whole, np.array([0, 2]))
        expected, whole = stepper.log_probs(whole, tokens, ancestry)
        if part is not None:
            result, part = stepper.log_probs(part, tokens[[0, 2]], ancestry[[0, 2]])
            np.testing.assert_allclose(result, expected[[0, 2]], rtol=1e-5, atol=1e-6)


def check_causality(model: keras.Model) -> None:
    """Check that later target tokens do not change earlier logits."""
    source, target = batch()
    changed = target.copy()
    changed[:, 4:] = 8
    before, after = logits(model, source, target), logits(model, source, changed)
    np.testing.assert_array_equal(before[:, :4], after[:, :4])
    assert np.abs(before[:, 4:] - after[:, 4:]).max() > 1e-3


def check_padding(model: keras.Model) -> None:
    """Check that padding changes nothing, and that a row of padding gives finite logits."""
    source, target = batch()
    wider = np.pad(source, ((0, 0), (0, 5)))
    np.testing.assert_allclose(
        logits(model, source, target), logits(model, wider, target), atol=1e-5
    )
    source[2] = 0
    assert np.isfinite(logits(model, source, target)).all()
