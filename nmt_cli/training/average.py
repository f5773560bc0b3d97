"""Averages of checkpoints (Vaswani et al. 2017, section 6.1)."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError, OptionError
from nmt_cli.training.checkpoint import (
    Progress,
    check_match,
    inference_weights,
    read_checkpoint,
    write_checkpoint,
)
from nmt_cli.training.run import Run


def average_run(
    run: Run,
    last: int | None = None,
    checkpoints: Sequence[Path] = (),
    output: Path | None = None,
    force: bool = False,
) -> tuple[Path, list[Path]]:
    """Average checkpoints of a run.

    Args:
        run: the run.
        last: number of its newest checkpoints to average; None: all.
        checkpoints: average these files instead.
        output: checkpoint to write; None: the run's average.npz.
        force: replace an existing file.

    Returns:
        The file written, and the checkpoints averaged.

    Raises:
        OptionError: both ``last`` and ``checkpoints`` are given.
        NmtError: there are too few checkpoints; the output exists; a checkpoint is missing,
            damaged, or of a different model; the output cannot be written.
    """
    if last and checkpoints:
        raise OptionError("give one of `last` and `checkpoint`")
    paths = list(checkpoints) or run.checkpoints()[-(last or 0) :]
    needed = max(2, last or 0)
    if len(paths) < needed:
        raise NmtError(
            f"{run.folder}: {len(paths)} checkpoint(s) to average, {needed} needed",
            "train with a larger training.keep, or name files with --checkpoint",
        )
    place = output or run.average
    if place.exists() and not force:
        raise NmtError(f"{place}: already exists", "replace it with --force")
    average_checkpoints(paths, place)
    return place, paths


def average_checkpoints(paths: Sequence[Path], output: Path) -> None:
    """Write the mean of several checkpoints' weights, for translation and export only.

    The progress is that of the last checkpoint.

    Raises:
        NmtError: a file is missing, damaged, or of a different model; the output cannot be
            written.
    """
    total: dict[str, NDArray[np.float64]] = {}
    progress = Progress()
    for path in paths:
        arrays, progress = read_checkpoint(path)
        weights = inference_weights(arrays)
        check_match(path, total or weights, weights)
        for name, each in weights.items():
            total[name] = total.get(name, 0.0) + each.astype(np.float64) / len(paths)
    mean = {name: each.astype(np.float32) for name, each in total.items()}
    write_checkpoint(output, mean, progress)


def undamaged(paths: Sequence[Path], count: int, say: Callable[[str], None]) -> list[Path]:
    """Return the last ``count`` of the checkpoints that can be read; the last one if none can."""
    found: list[Path] = []
    for path in reversed(paths):
        try:
            read_checkpoint(path)
        except NmtError as error:
            say(f"{error.message}; left out of the average")
        else:
            found.insert(0, path)
        if len(found) == count:
            break
    return found or list(paths[-1:])
