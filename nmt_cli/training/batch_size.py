"""The largest batch that fits into memory, for training.batch_tokens = 0.

A separate process trains single steps of growing size and reports its peak memory, so that
running out of memory does no harm. Without an accelerator the peak grows linearly with the batch,
so three small steps show where it reaches the free memory. With one, steps double until one
fails.
"""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from nmt_cli.errors import NmtError
from nmt_cli.host import free_memory, peak_memory
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.devices import Devices, check_present, local_devices
from nmt_cli.training.model import compiled_model, train_on_random_tokens
from nmt_cli.training.run import Run

LARGEST = 65_536  # tokens; with more, an epoch of most corpora has too few steps
SHARE = 0.8  # of the free memory
ROUND = 256  # tokens
SMALLEST_TRIAL, TRIALS = 1024, 3  # tokens; number of steps on a CPU


def largest_batch_tokens(
    recipe: Recipe, source_vocab: int, target_vocab: int, devices: int = 1
) -> int:
    """Find the largest token budget, including padding, whose steps fit into memory.

    ``devices`` of this machine share a batch.

    Raises:
        NmtError: a step of the smallest batch does not fit, or the system does not report its
            free memory.
    """
    free = free_memory()
    if free is None:
        raise NmtError(
            "training.batch_tokens = 0: this system does not report its free memory",
            "set it to a number, e.g. 4096",
        )
    smallest = devices * recipe.training.copies * recipe.data.max_tokens
    context = multiprocessing.get_context("spawn")  # a fork of TensorFlow would hang
    ours, theirs = context.Pipe(duplex=False)
    run = Run(Path(), recipe, source_vocab, target_vocab, "")
    arguments = (theirs, run, max(smallest, SMALLEST_TRIAL), Devices(devices))
    process = context.Process(target=_try_steps, args=arguments, daemon=True)
    process.start()
    theirs.close()  # so that reading ends when the process does
    try:
        found = _largest(_reports(ours), free)
    finally:
        process.kill()
        process.join()
    if found < smallest:
        raise NmtError(
            f"not enough memory for a step of {smallest} tokens",
            "lower data.max_tokens or model.d_model",
        )
    return max(smallest, found // ROUND * ROUND)


def _largest(reports: Iterator[tuple[int, int, bool]], free: int) -> int:
    """Return the largest budget, given (tokens, peak bytes, on an accelerator) of growing steps.

    ``free`` includes the memory that the reporting process uses.
    """
    points: list[tuple[int, int]] = []
    for tokens, peak, accelerated in reports:
        points.append((tokens, peak))
        if not accelerated and len(points) == TRIALS:
            break
    else:  # an accelerator, or too little memory for the trials
        return min(points[-1][0], LARGEST) if points else 0
    tokens_tried, peaks = np.array(points, np.float64).T
    slope, base = np.polyfit(tokens_tried, peaks, 1)
    return min(LARGEST, int((SHARE * free - base) / max(slope, 1.0)))


def _reports(connection: Connection) -> Iterator[tuple[int, int, bool]]:
    with suppress(EOFError):
        while True:
            yield connection.recv()


def _try_steps(connection: Connection, run: Run, tokens: int, devices: Devices) -> None:
    """Train steps, each twice as large as the one before, and report each that succeeded."""
    # A step that is too large may crash with pages of messages.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    check_present(devices)
    model = compiled_model(run, devices)
    accelerated = not local_devices()[0].lower().startswith("cpu")
    width, copies = run.recipe.data.max_tokens, run.recipe.training.copies
    while tokens <= LARGEST:
        # train_on_batch gives all of its rows to each device.
        rows = tokens // (width * copies * devices.count) * copies
        train_on_random_tokens(model, run, rows, width)
        connection.send((tokens, peak_memory(), accelerated))
        tokens *= 2
