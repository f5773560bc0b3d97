"""Loss, accuracy and schedule, compared with independent computations."""

from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

from nmt_cli.recipe.reading import recipe_from
from nmt_cli.training.loss import (
    SmoothedCrossEntropy,
    TokenMean,
    are_first,
    divergence,
    smoothed_cross_entropy,
)
from nmt_cli.training.optimizer import WarmUp


def test_cross_entropy_by_hand():
    # Uniform logits over four tokens: every token costs ln 4, smoothed or not.
    logits = np.zeros((1, 3, 4), np.float32)
    ids = np.array([[1, 2, 0]], np.int32)
    for smoothing in (0.0, 0.1):
        losses = np.asarray(SmoothedCrossEntropy(smoothing).call(ids, logits))
        np.testing.assert_allclose(losses, np.log([[4, 4, 4]]), rtol=1e-6)


def test_smoothing_by_hand():
    # Probabilities 1/2, 1/4, 1/4; reference 1; the smoothed target is 0.1, 0.8, 0.1.
    logits = np.log(np.array([[[0.5, 0.25, 0.25]]], np.float32))
    ids = np.array([[1]], np.int32)
    target = [0.1, 0.8, 0.1]
    expected = -np.dot(target, logits[0, 0])
    assert float(SmoothedCrossEntropy(0.3)(ids, logits)) == pytest.approx(expected)


def test_the_weighted_loss_is_the_mean_over_real_tokens():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 5, 9)).astype(np.float32)
    ids = np.array([[3, 4, 5, 0, 0], [6, 0, 0, 0, 0]], np.int32)
    weights = (ids != 0).astype(np.float32) / 4
    kept = np.concatenate([logits[0, :3], logits[1, :1]])[None]
    losses = np.asarray(SmoothedCrossEntropy(0.1).call(np.array([[3, 4, 5, 6]], np.int32), kept))
    loss = float(SmoothedCrossEntropy(0.1)(ids, logits, sample_weight=weights))
    assert loss == pytest.approx(losses.mean(), rel=1e-6)


def gradients(tf, function, logits):
    with tf.GradientTape() as tape:
        tape.watch(logits)
        value = 3.0 * function(logits)
    return float(value), tape.gradient(value, logits).numpy()


def test_the_loss_of_half_precision_is_compiled_and_the_same():
    tf = pytest.importorskip("tensorflow")
    rng = np.random.default_rng(2)
    logits = tf.constant(rng.normal(size=(3, 5, 11)), tf.float32)
    ids = rng.integers(0, 11, (3, 5)).astype(np.int32)

    def total(logits):
        return ops.sum(smoothed_cross_entropy(ids, logits, 0.1))

    results = []
    for policy in ("float32", "mixed_bfloat16"):
        keras.config.set_dtype_policy(policy)
        try:
            results.append(gradients(tf, total, logits))
        finally:
            keras.config.set_dtype_policy("float32")
    (loss, gradient), (compiled_loss, compiled_gradient) = results
    assert compiled_loss == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(compiled_gradient, gradient, atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_explicit_gradient_matches_autodiff(smoothing):
    tf = pytest.importorskip("tensorflow")
    rng = np.random.default_rng(1)
    logits = tf.constant(rng.normal(size=(2, 4, 7)), tf.float32)
    ids = tf.constant(rng.integers(0, 7, (2, 4)), tf.int32)
    weights = tf.constant(rng.random((2, 4)), tf.float32)

    def automatic(logits):
        log_probs = ops.log_softmax(logits)
        target = (1 - smoothing) * ops.one_hot(ids, 7) + smoothing / 7
        return -ops.sum(weights * ops.sum(target * log_probs, axis=-1))

    def explicit(logits):
        return ops.sum(weights * smoothed_cross_entropy(ids, logits, smoothing))

    expected, result = gradients(tf, automatic, logits), gradients(tf, explicit, logits)
    assert result[0] == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(result[1], expected[1], atol=1e-6)


def test_divergence_by_hand():
    # p = (3/4, 1/4), q = (1/4, 3/4): KL(p || q) = KL(q || p) = 1/2 ln 3.
    logits = np.log(np.array([[[0.75, 0.25]], [[0.25, 0.75]]], np.float32))
    np.testing.assert_allclose(
        np.asarray(divergence(logits)), [[np.log(3)], [np.log(3)]], rtol=1e-6
    )


def test_r_drop_is_half_the_loss_of_the_paper():
    # Equations 1 to 4 for two passes over one sentence of three tokens.
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(2, 3, 5)).astype(np.float32)
    ids = np.array([[1, 4, 2], [1, 4, 2]], np.int32)
    log_p, log_q = (scores - np.log(np.exp(scores).sum(-1, keepdims=True)) for scores in logits)
    entropy = (
        -sum(log[position, ids[0, position]] for log in (log_p, log_q) for position in range(3)) / 3
    )
    divergences = (np.exp(log_p) * (log_p - log_q)).sum() / 3 + (
        np.exp(log_q) * (log_q - log_p)
    ).sum() / 3
    expected = entropy + 5.0 / 2 * divergences
    weights = np.full((2, 3), 1 / 6, np.float32)
    loss = float(SmoothedCrossEntropy(0.0, r_drop=5.0)(ids, logits, sample_weight=weights))
    assert loss == pytest.approx(expected / 2, rel=1e-5)


def test_the_gradient_of_the_divergence_matches_autodiff():
    tf = pytest.importorskip("tensorflow")
    rng = np.random.default_rng(3)
    logits = tf.constant(rng.normal(size=(4, 3, 6)), tf.float32)
    weights = tf.constant(rng.random((4, 3)), tf.float32)

    def automatic(logits):
        logs = ops.log_softmax(logits)
        p, q = logs[0::2], logs[1::2]
        both = ops.sum((ops.exp(p) - ops.exp(q)) * (p - q), axis=-1)
        return ops.sum((weights[0::2] + weights[1::2]) * both)

    def explicit(logits):
        return ops.sum(weights * divergence(logits))

    expected, result = gradients(tf, automatic, logits), gradients(tf, explicit, logits)
    assert result[0] == pytest.approx(expected[0], rel=1e-5)
    np.testing.assert_allclose(result[1], expected[1], atol=1e-5)


def test_accuracy_counts_only_real_tokens():
    logits = np.eye(4, dtype=np.float32)[None, [1, 2, 3, 0]]
    metric = TokenMean("accuracy", are_first)
    metric.update_state(np.array([[1, 2, 2, 0]], np.int32), logits)
    assert float(metric.result()) == pytest.approx(2 / 3)
    metric.reset_state()
    assert float(metric.result()) == 0.0


def test_accuracy_matches_the_argmax():
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(3, 8, 5)).astype(np.float32)
    ids = rng.integers(0, 5, (3, 8)).astype(np.int32)
    metric = TokenMean("accuracy", are_first)
    metric.update_state(ids, logits)
    assert float(metric.result()) == pytest.approx((logits.argmax(-1) == ids)[ids != 0].mean())


def test_the_loss_of_a_set_is_a_mean_over_its_tokens():
    rng = np.random.default_rng(4)
    metric, losses = TokenMean("loss", partial(smoothed_cross_entropy, smoothing=0.1)), []
    for row in ([[3, 4, 5, 0]], [[6, 0, 0, 0]]):
        ids, logits = np.array(row, np.int32), rng.normal(size=(1, 4, 9)).astype(np.float32)
        metric.update_state(ids, logits)
        losses += list(np.asarray(smoothed_cross_entropy(ids, logits, 0.1))[ids != 0])
    assert float(metric.result()) == pytest.approx(np.mean(losses), rel=1e-6)


def test_the_schedule_is_equation_3_of_the_paper():
    tree = {"model": {"d_model": 512}, "training": {"warmup_steps": 4000, "learning_rate": 1.0}}
    schedule = WarmUp(recipe_from(tree, "test"))
    for step in (1, 2000, 4000, 4001, 100_000):
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert float(schedule(step - 1)) == pytest.approx(expected, rel=1e-5)


def test_a_constant_rate_follows_the_warm_up():
    training = {"warmup_steps": 10, "learning_rate": 2.0, "schedule": "constant", "max_steps": 50}
    schedule = WarmUp(recipe_from({"model": {"d_model": 16}, "training": training}, "test"))
    peak = 2.0 * (16 * 10) ** -0.5
    for step, share in {1: 0.1, 5: 0.5, 10: 1.0, 11: 1.0, 50: 1.0, 2000: 1.0}.items():
        assert float(schedule(step - 1)) == pytest.approx(peak * share, rel=1e-5)


@pytest.mark.parametrize(("kind", "middle"), [("cosine", 0.5), ("linear", 0.5)])
def test_schedules_that_end(kind, middle):
    training = {"warmup_steps": 100, "learning_rate": 2.0, "schedule": kind, "max_steps": 1100}
    schedule = WarmUp(recipe_from({"model": {"d_model": 16}, "training": training}, "test"))
    peak = 2.0 * (16 * 100) ** -0.5
    expected = {50: 0.5, 100: 1.0, 600: middle, 1100: 0.0, 2000: 0.0}
    for step, share in expected.items():
        assert float(schedule(step - 1)) == pytest.approx(peak * share, abs=1e-6)
    quarter = {"cosine": 0.5 + 0.5 * 2**-0.5, "linear": 0.75}[kind]
    assert float(schedule(349)) == pytest.approx(peak * quarter, rel=1e-4)
