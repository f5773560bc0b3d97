"""Averages of checkpoints (Vaswani et al. 2017, section 6.1)."""

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import ModelError, NmtError, OptionError, OutputError
from nmt_cli.files import locked
from nmt_cli.training.checkpoint import (
    TrainingState,
    check_match,
    inference_weights,
    read_checkpoint,
    write_checkpoint,
)
from nmt_cli.training.run import Run

logger = logging.getLogger(__name__)


def average_run(
    run: Run,
    last: int | None = None,
    checkpoints: Sequence[Path] = (),
    output: Path | None = None,
    force: bool = False,
) -> tuple[Path, list[Path]]:
    """Average checkpoints of a run.

    Args:
        last: number of the newest checkpoints to average; None: all.
        checkpoints: files to average instead.
        output: checkpoint to write; None: the run's average.npz.
        force: replace an existing file.

    Returns:
        The file written, and the checkpoints averaged.

    Raises:
        OptionError: both ``last`` and ``checkpoints`` are given.
        ModelError: there are too few checkpoints; one is damaged or of a different model.
        OutputError: the output exists.
        BusyError: the output is in the run's folder, and the run is in use.
    """
    if last and checkpoints:
        raise OptionError("give one of `last` and `checkpoint`")
    paths = list(checkpoints) or run.checkpoints()[-(last or 0) :]
    needed = max(2, last or 0)
    if len(paths) < needed:
        raise ModelError(
            f"{run.folder}: {len(paths)} checkpoint(s) to average, {needed} needed",
            "train with a larger training.keep, or name files with `checkpoint`",
        )
    output = output or run.average
    is_inside = run.folder.resolve() in output.resolve().parents
    with locked(run.folder) if is_inside else nullcontext():
        if output.exists() and not force:
            raise OutputError(f"{output}: already exists", "replace it with `force`")
        average_checkpoints(paths, output)
    return output, paths


def average_checkpoints(paths: Sequence[Path], output: Path) -> None:
    """Write the mean of several checkpoints' weights, for translation and export only.

    The state is that of the last checkpoint.
    """
    total: dict[str, NDArray[np.float64]] = {}
    state = TrainingState()
    for path in paths:
        arrays, state = read_checkpoint(path)
        weights = inference_weights(arrays)
        check_match(path, total or weights, weights)
        for name, weight in weights.items():
            total[name] = total.get(name, 0.0) + weight.astype(np.float64) / len(paths)
    mean = {name: weight.astype(np.float32) for name, weight in total.items()}
    write_checkpoint(output, mean, state)


def undamaged(paths: Sequence[Path], count: int) -> list[Path]:
    """Return the last ``count`` checkpoints that can be read, or the last path if none can."""
    readable: list[Path] = []
    for path in reversed(paths):
        try:
            read_checkpoint(path)
        except NmtError as error:
            logger.warning("%s; left out of the average", error.message)
        else:
            readable.insert(0, path)
        if len(readable) == count:
            break
    return readable or list(paths[-1:])
