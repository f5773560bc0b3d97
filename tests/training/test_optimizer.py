"""Optimizer steps with sparse gradients, half precision and several devices."""

import subprocess
import sys
from itertools import product
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from nmt_cli.host import cores
from nmt_cli.model import build_model
from nmt_cli.recipe.config import Recipe
from nmt_cli.recipe.reading import recipe_from
from nmt_cli.training.checkpoint import moving_averages
from nmt_cli.training.loss import SmoothedCrossEntropy
from nmt_cli.training.optimizer import make_optimizer

SIZES = {
    "d_model": 8,
    "feed_forward": 8,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.0,
}
RATE = {"learning_rate": 1.0, "warmup_steps": 1}  # the first step has size d_model**-0.5


def recipe_of(training: dict[str, Any], **model: Any) -> Recipe:
    model = {**SIZES, **model}
    if model.get("architecture") == "rnn":
        model = {key: value for key, value in model.items() if key not in ("feed_forward", "heads")}
    return recipe_from({"model": model, "training": {**RATE, **training}}, where="test")


OPTIMIZERS: tuple[dict[str, Any], ...] = (
    {},
    {"optimizer": "adamw"},
    {"optimizer": "nadam"},
    {"optimizer": "muon"},
    {"clip_norm": 0.1},
)
# An embedding's gradient is a list of rows, to which a softmax with its matrix adds a matrix. The
# default suite has both, and each optimizer.
COMBINATIONS = [
    pytest.param(
        "transformer",
        *combination,
        marks=[] if combination[0] == "all" or not combination[1] else [pytest.mark.slow],
    )
    for combination in product(("all", "none"), OPTIMIZERS)
]
COMBINATIONS += [pytest.param("rnn", embeddings, {}) for embeddings in ("all", "none")]


@pytest.mark.parametrize(("architecture", "embeddings", "training"), COMBINATIONS, ids=str)
def test_the_gradients_of_a_repeated_token_are_summed(
    architecture: str, embeddings: str, training: dict[str, Any]
) -> None:
    recipe = recipe_of(training, architecture=architecture, embeddings=embeddings)
    model = build_model(recipe.model, 20, 20, seed=1)
    source = np.array([[5, 5, 5, 6, 3]], np.int32)
    before, after = np.array([[2, 7, 7, 7, 8]], np.int32), np.array([[7, 7, 7, 8, 3]], np.int32)
    with tf.GradientTape() as tape:
        loss = SmoothedCrossEntropy(0.1)(after, model((source, before), training=True))
    gradients = tape.gradient(loss, [each.value for each in model.trainable_variables])
    values = [each.numpy() for each in model.trainable_variables]
    steps = []
    for given in (gradients, [tf.convert_to_tensor(each) for each in gradients]):
        for variable, value in zip(model.trainable_variables, values, strict=True):
            variable.assign(value)
        make_optimizer(recipe).apply(given, model.trainable_variables)
        steps.append([each.numpy() for each in model.trainable_variables])
    for variable, sparse, dense in zip(model.trainable_variables, *steps, strict=True):
        np.testing.assert_allclose(sparse, dense, rtol=1e-5, err_msg=variable.path)


def test_half_precision_accepts_sparse_gradients() -> None:
    recipe = recipe_of({"precision": "mixed_float16"})
    table = keras.Variable(np.ones((4, 2), np.float32))
    optimizer = make_optimizer(recipe)
    optimizer.build([table])
    rows = tf.IndexedSlices(tf.fill((2, 2), 2.0**15), tf.constant([1, 1]), tf.constant([4, 2]))
    optimizer.apply([rows], [table])
    moved = 1 - table.numpy()
    np.testing.assert_allclose(moved, [[0, 0], [8**-0.5] * 2, [0, 0], [0, 0]], rtol=1e-5)


@pytest.mark.parametrize("accumulate", [1, 4])
def test_moving_averages_forget_the_first_weights(accumulate: int) -> None:
    # With a constant decay of 0.999, the first 20 of 200 would have more than four fifths.
    weight = keras.Variable(np.ones(1, np.float32))
    optimizer = make_optimizer(recipe_of({"ema": 0.999, "accumulate": accumulate}))
    optimizer.build([weight])
    (average,) = moving_averages(optimizer)
    for batch in range(200):
        weight.assign([float(batch < 20)])
        optimizer.apply([np.zeros(1, np.float32)], [weight])
        if batch == 19:
            np.testing.assert_allclose(average.numpy(), 1, rtol=1e-6)
    assert average.numpy() < 1e-6


def test_the_decay_of_moving_averages_rises_to_that_of_the_recipe() -> None:
    weight = keras.Variable(np.zeros(1, np.float32))
    optimizer = make_optimizer(recipe_of({"ema": 0.15}))
    optimizer.build([weight])
    (average,) = moving_averages(optimizer)
    values = []
    for value in (1.0, 0.0, 0.0, 1.0):
        weight.assign([value])
        optimizer.apply([np.zeros(1, np.float32)], [weight])
        values.append(average.numpy()[0])
    # The decays are 0, 1/10, 0.15 (2/11 is more) and 0.15.
    np.testing.assert_allclose(values, [1, 0.1, 0.015, 0.85 + 0.00225], rtol=1e-5)


# Runs in a separate process, which configures two devices; ``bad`` is the device that overflows.
OVERFLOWS = """
import keras, numpy as np, tensorflow as tf
from nmt_cli.training.optimizer import make_optimizer
from tests.training.test_optimizer import recipe_of
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
for clip in (0.0, 1.0):
    with strategy.scope():
        weight = keras.Variable(np.ones(3, np.float32))
        optimizer = make_optimizer(
            recipe_of({"precision": "mixed_float16", "clip_norm": clip}), mirrored=True
        )
        optimizer.build([weight])
    @tf.function
    def step(bad):
        def on_each():
            at = tf.distribute.get_replica_context().replica_id_in_sync_group
            optimizer.apply([tf.where(at == bad, [np.inf] * 3, [1.0] * 3)], [weight])
        strategy.run(on_each)
    for bad in (2, 0, 1):
        step(tf.constant(bad))
        scale = optimizer.dynamic_scale.value.values[0]
        print(*np.isclose(weight.numpy(), 1 - 8**-0.5, rtol=1e-3), float(scale))
"""


@pytest.mark.slow
@pytest.mark.skipif(cores() < 2, reason="needs two cores")
def test_an_overflow_on_any_device_skips_the_step_on_all() -> None:
    done = subprocess.run([sys.executable, "-c", OVERFLOWS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    steps = ["True True True 32768.0", "True True True 16384.0", "True True True 8192.0"]
    assert done.stdout.splitlines() == 2 * steps
