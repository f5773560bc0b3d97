"""Write an imported model as a run: the part that all sources share."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.corpus import read_held_out
from nmt_cli.errors import OutputError
from nmt_cli.files import locked, replacing_folder
from nmt_cli.host import import_keras
from nmt_cli.recipe.config import Recipe
from nmt_cli.training import RUN
from nmt_cli.training.run import Run

Weights = dict[str, NDArray[np.float32]]
Shapes = Mapping[str, tuple[int, ...]]

logger = logging.getLogger(__name__)


def write_run(
    recipe: Recipe,
    sizes: tuple[int, int],
    write_tokenizers: Callable[[Path], object],
    read_weights: Callable[[Shapes], Weights],
    output: Path | None,
    dev: str | None,
    force: bool,
    initial: dict[str, Any] | None = None,
) -> Path:
    """Write an imported model as a run; returns the run's folder.

    Args:
        recipe: has the keys that the source records.
        sizes: of the source and target vocabularies.
        write_tokenizers: fills an empty folder.
        read_weights: returns the model's weights, given their names and shapes.
        output: folder to write; None for one under runs/, named after the model.
        dev: corpus whose lines calibrate and verify exports of the run, as in data.dev.
        force: replace an existing run.
        initial: see Run.initial.
    """
    held_out = read_held_out(dev, recipe.data)
    folder = output or Path("runs", recipe.label)
    with locked(folder):
        if (folder / RUN).exists() and not force:
            raise OutputError(f"{folder}: a run already exists", "replace it with `force`")
        with replacing_folder(folder, RUN) as work, TemporaryDirectory() as tokenizers:
            write_tokenizers(Path(tokenizers))
            run = Run(work, recipe, *sizes, prepared_key="", initial=initial or {})
            run.write(Path(tokenizers), *held_out)
            _write_weights(run, read_weights)
    logger.info(f"{sizes[1]:,} target tokens, {run.weights:,} weights")
    return folder


def _write_weights(run: Run, read: Callable[[Shapes], Weights]) -> None:
    import_keras()
    from nmt_cli.training.checkpoint import TrainingState, save_checkpoint
    from nmt_cli.training.model import new_model

    model = new_model(run)
    values = read({weight.path: tuple(weight.shape) for weight in model.weights})
    for weight in model.weights:
        weight.assign(values[weight.path])
    save_checkpoint(run.best, model, TrainingState())
