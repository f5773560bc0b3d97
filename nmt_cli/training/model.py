"""The Keras model of a run, for training and for everything after it."""

from pathlib import Path

import keras
import numpy as np

from nmt_cli.model import build_model
from nmt_cli.training.checkpoint import Progress, check_size, load_checkpoint
from nmt_cli.training.devices import ONE_DEVICE, Devices, building, on_tensorflow
from nmt_cli.training.loss import SmoothedCrossEntropy, TokenAccuracy
from nmt_cli.training.optimizer import make_optimizer
from nmt_cli.training.run import Run


def new_model(run: Run, precision: str = "float32") -> keras.Model:
    """Build the run's model with initial weights, and make ``precision`` Keras' policy."""
    keras.config.set_dtype_policy(precision)
    return build_model(run.recipe.model, run.source_vocab, run.target_vocab, run.recipe.seed)


def compiled_model(run: Run, devices: Devices = ONE_DEVICE) -> keras.Model:
    """Build the run's model with its loss and optimizer, ready for fit."""
    recipe = run.recipe
    with building(devices):
        model = new_model(run, recipe.training.precision)
        optimizer = make_optimizer(recipe, mirrored=on_tensorflow() and devices.count > 1)
        model.compile(
            optimizer=optimizer,
            loss=SmoothedCrossEntropy(recipe.training.label_smoothing, recipe.training.r_drop),
            metrics=[TokenAccuracy()],
            jit_compile=not on_tensorflow(),  # on TensorFlow, XLA is slower on CPUs
        )
        optimizer.build(model.trainable_variables)
    return model


def train_on_random_tokens(model: keras.Model, run: Run, rows: int, width: int) -> None:
    """Train a step on a batch of random tokens, [rows, width], of both vocabularies."""
    vocabulary = min(run.source_vocab, run.target_vocab)
    source, target = np.random.default_rng(0).integers(4, vocabulary, (2, rows, width), np.int32)
    weights = np.full(target.shape, 1 / target.size, np.float32)
    model.train_on_batch((source, target), target, sample_weight=weights)


def trained_model(run: Run, checkpoint: Path) -> tuple[keras.Model, Progress]:
    """Return the run's model in float32 with the weights of a checkpoint, and its progress.

    Raises:
        NmtError: the checkpoint is missing, damaged, or of a different model.
    """
    check_size(checkpoint, run.weights)
    model = new_model(run)
    return model, load_checkpoint(checkpoint, model, training=False)
