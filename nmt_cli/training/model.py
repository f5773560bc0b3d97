"""The Keras model of a run, for training and for everything after it, and measurements on this
machine: the largest batch that fits into memory, and the forecast of ``nmt inspect RECIPE``.
"""

import multiprocessing
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import keras
import numpy as np

from nmt_cli.errors import ResourceError
from nmt_cli.host import free_memory, peak_memory
from nmt_cli.model import build_model
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.checkpoint import TrainingState, check_size, load_checkpoint
from nmt_cli.training.devices import (
    ONE_DEVICE,
    Devices,
    check_present,
    local_devices,
    on_tensorflow,
    strategy_scope,
)
from nmt_cli.training.loss import SmoothedCrossEntropy, TokenMean, are_first
from nmt_cli.training.optimizer import make_optimizer
from nmt_cli.training.run import Run

MAX_BATCH_TOKENS = 65_536  # with more, an epoch of most corpora has too few steps
MEMORY_SHARE = 0.8  # of the free memory
BATCH_UNIT = 256  # tokens
FIRST_TRIAL, CPU_TRIALS = 1024, 3  # tokens; number of steps

FORECAST_WIDTH = 32  # tokens; a batch has as many rows as its budget allows
FORECAST_BATCH = 4096  # tokens, for training.batch_tokens = 0
WARM_STEPS, TIMED_STEPS = 2, 5  # TensorFlow traces the first one


def new_model(run: Run, precision: str = "float32") -> keras.Model:
    """Build the run's model with initial weights, and make ``precision`` Keras' policy."""
    keras.config.set_dtype_policy(precision)
    return build_model(run.recipe.model, run.source_vocab, run.target_vocab, run.recipe.seed)


def compiled_model(run: Run, devices: Devices = ONE_DEVICE) -> keras.Model:
    """Build the run's model with its loss and optimizer, ready for fit."""
    recipe = run.recipe
    with strategy_scope(devices):
        model = new_model(run, recipe.training.precision)
        model.compile(
            optimizer=make_optimizer(recipe, mirrored=on_tensorflow() and devices.count > 1),
            loss=SmoothedCrossEntropy(recipe.training.label_smoothing, recipe.training.r_drop),
            metrics=[TokenMean("accuracy", are_first)],
            jit_compile=not on_tensorflow(),  # on TensorFlow, XLA is slower on CPUs
        )
        model.optimizer.build(model.trainable_variables)
    return model


def _train_on_random_tokens(model: keras.Model, run: Run, rows: int, width: int) -> None:
    vocabulary = min(run.source_vocab, run.target_vocab)
    source, target = np.random.default_rng(0).integers(4, vocabulary, (2, rows, width), np.int32)
    weights = np.full(target.shape, 1 / target.size, np.float32)
    model.train_on_batch((source, target), target, sample_weight=weights)


def trained_model(run: Run, checkpoint: Path) -> tuple[keras.Model, TrainingState]:
    """Return the model in float32 with the weights of a checkpoint, and the training state."""
    check_size(checkpoint, run.weights)
    model = new_model(run)
    return model, load_checkpoint(checkpoint, model, training=False)


def largest_batch_tokens(
    recipe: Recipe, source_vocab: int, target_vocab: int, devices: int = 1
) -> int:
    """Find the largest token budget that fits into memory, of a batch that ``devices`` share.

    A separate process trains single steps of growing size and reports its peak memory. Without an
    accelerator the peak grows linearly with the batch, so three small steps show where it reaches
    the free memory. With one, steps double until one fails.
    """
    free = free_memory()
    if free is None:
        reason = "training.batch_tokens = 0: this system does not report its free memory"
        raise ResourceError(reason, "set it to a number, e.g. 4096")
    smallest = devices * recipe.training.copies * recipe.data.max_tokens
    context = multiprocessing.get_context("spawn")  # a fork of TensorFlow would hang
    receiver, sender = context.Pipe(duplex=False)
    run = Run(source_vocab, target_vocab, "", folder=Path(), recipe=recipe)
    arguments = (sender, run, max(smallest, FIRST_TRIAL), Devices(devices))
    process = context.Process(target=_try_steps, args=arguments, daemon=True)
    process.start()
    sender.close()  # so that reading ends when the process does
    try:
        tokens = _largest(iter(receiver.recv, None), free)
    finally:
        process.kill()
        process.join()
    if tokens < smallest:
        reason = f"not enough memory for a step of {smallest} tokens"
        raise ResourceError(reason, "lower data.max_tokens or model.d_model")
    return max(smallest, tokens // BATCH_UNIT * BATCH_UNIT)


def _largest(reports: Iterator[tuple[int, int, bool]], free: int) -> int:
    """Return the largest budget that fits in ``free`` bytes, including the reporting process, from
    (tokens, peak bytes, on an accelerator) of growing steps."""
    points: list[tuple[int, int]] = []
    with suppress(EOFError):
        for tokens, peak, is_accelerated in reports:
            points.append((tokens, peak))
            if not is_accelerated and len(points) == CPU_TRIALS:
                tokens_tried, peaks = np.array(points, np.float64).T
                slope, base = np.polyfit(tokens_tried, peaks, 1)
                return min(MAX_BATCH_TOKENS, int((MEMORY_SHARE * free - base) / max(slope, 1.0)))
    # An accelerator, or too little memory for the trials.
    return min(points[-1][0], MAX_BATCH_TOKENS) if points else 0


def _try_steps(connection: Connection, run: Run, tokens: int, devices: Devices) -> None:
    """Train steps, doubling their size, and report each that succeeds."""
    # A step that is too large may crash with pages of messages.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    check_present(devices)
    model = compiled_model(run, devices)
    is_accelerated = not local_devices()[0].lower().startswith("cpu")
    width, copies = run.recipe.data.max_tokens, run.recipe.training.copies
    while tokens <= MAX_BATCH_TOKENS:
        # train_on_batch gives all of its rows to each device.
        rows = tokens // (width * copies * devices.count) * copies
        _train_on_random_tokens(model, run, rows, width)
        connection.send((tokens, peak_memory(), is_accelerated))
        tokens *= 2


def forecast(recipe: Recipe) -> dict[str, Any]:
    """Build a recipe's model and train a few steps on random tokens.

    Both vocabularies are assumed to have ``tokenizer.vocab_size`` entries. Returns JSON values;
    the memory is the peak of this process, frameworks included.
    """
    vocabulary, config = recipe.tokenizer.vocab_size, recipe.training
    run = Run(vocabulary, vocabulary, "", folder=Path(), recipe=recipe)
    model = new_model(run)  # without the optimizer's state, which a summary would count
    lines: list[str] = []
    model.summary(print_fn=lambda line, line_break=False: lines.append(line))
    tokens = config.batch_tokens or FORECAST_BATCH
    seconds = _seconds_per_step(run, tokens)
    return {
        "kind": "recipe",
        "name": recipe.label,
        "source": recipe.data.source,
        "target": recipe.data.target,
        "parameters": model.count_params(),
        "vocabulary": vocabulary,
        "batch_tokens": tokens,
        "peak_bytes": peak_memory(),
        "seconds_per_step": seconds,
        "steps": config.max_steps,
        "hours": seconds * config.accumulate * config.max_steps / 3600,
        "layers": [
            {
                "name": layer.name,
                "class": type(layer).__name__,
                "parameters": layer.count_params(),
                "outputs": [list(tensor.shape) for tensor in keras.tree.flatten(layer.output)],
            }
            for layer in model.layers
        ],
        "summary_table": "\n".join(lines),
    }


def _seconds_per_step(run: Run, tokens: int) -> float:
    model, copies = compiled_model(run), run.recipe.training.copies
    width = min(FORECAST_WIDTH, run.recipe.data.max_tokens)
    rows = max(1, tokens // (width * copies)) * copies
    seconds = []
    for _ in range(WARM_STEPS + TIMED_STEPS):
        began = time.perf_counter()
        _train_on_random_tokens(model, run, rows, width)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[WARM_STEPS:])
