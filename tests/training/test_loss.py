"""Loss, accuracy and schedule against numbers worked out otherwise."""

import keras
import numpy as np
import pytest
from keras import ops

from nmt_cli.training.loss import MaskedAccuracy, MaskedCrossEntropy, smoothed_cross_entropy
from nmt_cli.training.schedule import WarmUp


def test_cross_entropy_by_hand():
    # Uniform logits over four tokens: every token costs ln 4, smoothed or not.
    logits = np.zeros((1, 3, 4), np.float32)
    ids = np.array([[1, 2, 0]], np.int32)
    for smoothing in (0.0, 0.1):
        assert float(MaskedCrossEntropy(smoothing)(ids, logits)) == pytest.approx(np.log(4))


def test_smoothing_by_hand():
    # Probabilities 1/2, 1/4, 1/4; reference 0; smoothing 0.3 wants 0.8, 0.1, 0.1.
    logits = np.log(np.array([[[0.5, 0.25, 0.25]]], np.float32))
    ids = np.array([[1]], np.int32)
    wanted = [0.1, 0.8, 0.1]
    expected = -np.dot(wanted, logits[0, 0])
    assert float(MaskedCrossEntropy(0.3)(ids, logits)) == pytest.approx(expected)


def test_padding_neither_costs_nor_counts():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 5, 9)).astype(np.float32)
    ids = np.array([[3, 4, 5, 0, 0], [6, 0, 0, 0, 0]], np.int32)
    kept = np.concatenate([logits[0, :3], logits[1, :1]])[None]
    alone = MaskedCrossEntropy(0.1)(np.array([[3, 4, 5, 6]], np.int32), kept)
    assert float(MaskedCrossEntropy(0.1)(ids, logits)) == pytest.approx(float(alone), rel=1e-6)
    assert float(MaskedCrossEntropy(0.1)(np.zeros_like(ids), logits)) == 0.0


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_written_gradient_is_the_derived_one(smoothing):
    tf = pytest.importorskip("tensorflow")
    rng = np.random.default_rng(1)
    logits = tf.constant(rng.normal(size=(2, 4, 7)), tf.float32)
    ids = tf.constant(rng.integers(0, 7, (2, 4)), tf.int32)
    weights = tf.constant(rng.random((2, 4)), tf.float32)

    def derived(logits):
        log_probs = ops.log_softmax(logits)
        wanted = (1 - smoothing) * ops.one_hot(ids, 7) + smoothing / 7
        return -ops.sum(weights * ops.sum(wanted * log_probs, axis=-1))

    results = []
    for function in (derived, lambda x: smoothed_cross_entropy(x, ids, weights, smoothing)):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = 3.0 * function(logits)
        results.append((float(value), tape.gradient(value, logits).numpy()))
    assert results[0][0] == pytest.approx(results[1][0], rel=1e-6)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-6)


def test_accuracy_counts_real_tokens_alone():
    logits = np.eye(4, dtype=np.float32)[None, [1, 2, 3, 0]]
    metric = MaskedAccuracy()
    metric.update_state(np.array([[1, 2, 2, 0]], np.int32), logits)
    assert float(metric.result()) == pytest.approx(2 / 3)
    metric.reset_state()
    assert float(metric.result()) == 0.0


def test_the_schedule_is_equation_3_of_the_paper():
    schedule = WarmUp(512, 4000)
    for step in (1, 2000, 4000, 4001, 100_000):
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert float(schedule(step - 1)) == pytest.approx(expected, rel=1e-5)
    twin = WarmUp.from_config(schedule.get_config())
    assert twin.get_config() == schedule.get_config()


def test_loss_and_schedule_survive_serialization():
    loss = keras.losses.deserialize(keras.losses.serialize(MaskedCrossEntropy(0.2)))
    assert loss.label_smoothing == 0.2
