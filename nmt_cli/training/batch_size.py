"""The largest batch that fits: training.batch_tokens = 0.

A process of its own trains single steps of growing size, so that nothing is lost when memory
gives out, and reports its peak. Without an accelerator the peak grows in a straight line
with the batch, and three small steps tell where it meets the memory that is free. With one,
steps double until one fails.
"""

import multiprocessing
import os
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from nmt_cli.errors import NmtError
from nmt_cli.host import free_memory, peak_memory
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.devices import Devices, check_present
from nmt_cli.training.run import Run

LARGEST = 65_536  # tokens; more makes steps too few for any corpus this is meant for
SHARE = 0.8  # of the free memory
ROUND = 256  # tokens
SMALLEST_TRIAL, TRIALS = 1024, 3  # tokens; how many, on a CPU


def largest_batch_tokens(
    recipe: Recipe, source_vocab: int, target_vocab: int, devices: int = 1
) -> int:
    """Find the largest token budget, padding included, whose steps fit into memory.

    Args:
        recipe: what is to be trained.
        source_vocab, target_vocab: sizes of the vocabularies.
        devices: of this machine, that share a batch.

    Raises:
        NmtError: memory does not hold a step of the smallest batch, or nobody knows how much
            is free.
    """
    free = free_memory()
    if free is None:
        raise NmtError(
            "training.batch_tokens = 0: this system does not say how much memory is free",
            "set it to a number, e.g. 4096",
        )
    smallest = devices * recipe.training.copies * recipe.data.max_tokens
    context = multiprocessing.get_context("spawn")  # a fork of TensorFlow would hang
    ours, theirs = context.Pipe(duplex=False)
    tokens = max(smallest, SMALLEST_TRIAL)
    arguments = (theirs, recipe, source_vocab, target_vocab, tokens, Devices(devices))
    process = context.Process(target=_try_steps, args=arguments, daemon=True)
    process.start()
    theirs.close()  # so that the end of the process ends what is read
    try:
        found = _largest(_reports(ours), free)
    finally:
        process.kill()
        process.join()
    if found < smallest:
        raise NmtError(
            f"memory does not suffice for a step of {smallest} tokens",
            "lower data.max_tokens or model.d_model",
        )
    return max(smallest, found // ROUND * ROUND)


def _largest(reports: Iterator[tuple[int, int, bool]], free: int) -> int:
    """The largest budget, of (tokens, peak bytes, is an accelerator) of growing steps.

    The memory in use by the process that reports is part of ``free``.
    """
    points: list[tuple[int, int]] = []
    for tokens, peak, accelerated in reports:
        points.append((tokens, peak))
        if not accelerated and len(points) == TRIALS:
            break
    else:  # an accelerator, or too little memory even for the trials
        return min(points[-1][0], LARGEST) if points else 0
    tokens_tried, peaks = np.array(points, np.float64).T
    slope, base = np.polyfit(tokens_tried, peaks, 1)
    return min(LARGEST, int((SHARE * free - base) / max(slope, 1.0)))


def _reports(connection: Connection) -> Iterator[tuple[int, int, bool]]:
    while True:
        try:
            yield connection.recv()
        except EOFError:
            return


def _try_steps(
    connection: Connection,
    recipe: Recipe,
    source_vocab: int,
    target_vocab: int,
    tokens: int,
    devices: Devices,
) -> None:
    """Take steps of twice the size each time, and report each that worked."""
    # A step too large may end in a crash with pages of messages; its silence says enough.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    from nmt_cli.training.train import compiled_model

    check_present(devices)
    model = compiled_model(Run(Path(), recipe, source_vocab, target_vocab, ""), devices)
    accelerated = _has_accelerator()
    width, copies = recipe.data.max_tokens, recipe.training.copies
    rng = np.random.default_rng(0)
    while tokens <= LARGEST:
        # train_on_batch gives the whole of its rows to each device.
        rows = tokens // (width * copies * devices.count) * copies
        shape = (rows, width)
        source, target = rng.integers(4, min(source_vocab, target_vocab), (2, *shape), np.int32)
        weights = np.full(shape, 1 / target.size, np.float32)
        model.train_on_batch((source, target), target, sample_weight=weights)
        connection.send((tokens, peak_memory(), accelerated))
        tokens *= 2


def _has_accelerator() -> bool:
    import keras

    if keras.backend.backend() == "jax":
        import jax

        return jax.default_backend() != "cpu"
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))
