"""The numbers behind pictures: of recipes, runs and prepared data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.batches import Batches
from nmt_cli.data.epochs import training_batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import NmtError
from nmt_cli.plot.schedule import steps_to_draw
from nmt_cli.recipe.config import Recipe


def position_table(
    folder: Path | None, recipe: Recipe | None, length: int, side: str = "source"
) -> tuple[NDArray[np.float32], str]:
    """Position vectors [length, d], and what to call them.

    Args:
        folder: of a run; None: of a recipe.
        recipe: it.
        length: how many; learned ones may be fewer.
        side: "source" or "target", of learned ones that are not shared.

    Raises:
        NmtError: there are none, or they are learned and there is no run.
    """
    from keras import ops

    from nmt_cli.model.positions import sinusoids
    from nmt_cli.training.run import Run

    run = Run.open(folder) if folder else None
    recipe = run.recipe if run else recipe
    assert recipe is not None, "a run or a recipe is given"
    model, name = recipe.model, recipe.label
    positions = getattr(model, "positions", "none")
    if positions == "none":
        raise NmtError(
            f"{name}: its model has no position vectors",
            "take a Transformer whose model.positions is not 'none'",
        )
    if positions != "learned":
        table = sinusoids(ops.arange(length), model.d_model, positions == "sinusoidal")
        return ops.convert_to_numpy(table), f"{name}: {positions} positions"
    if run is None:
        raise NmtError(
            f"{name}: its positions are learned, and a recipe has not learned any",
            "name the run folder",
        )
    from nmt_cli.training.model import trained_model

    trained, _ = trained_model(run, run.preferred)
    names = ("positions", f"{side}_positions")
    layer = next(each for each in trained.layers if each.name in names)
    return ops.convert_to_numpy(layer.table)[:length], f"{name}: learned {side} positions"


def learning_rates(
    recipe: Recipe, steps: int | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Steps from 0, and the learning rate of each.

    Args:
        recipe: whose schedule.
        steps: how many are covered; None: all of the training.
    """
    from keras import ops

    from nmt_cli.training.schedule import make_schedule

    at = steps_to_draw(steps or recipe.training.max_steps)
    schedule = make_schedule(recipe)
    rates = [
        float(ops.convert_to_numpy(schedule(step * recipe.training.accumulate))) for step in at
    ]
    return at, np.array(rates, np.float32)


def log_records(folder: Path) -> Sequence[dict[str, Any]]:
    """What a run's log.jsonl says, record by record.

    Raises:
        NmtError: the folder is no run, or nothing is logged yet.
    """
    from nmt_cli.training.log import read_log
    from nmt_cli.training.run import Run

    records = read_log(Run.open(folder).folder)
    if not records:
        raise NmtError(f"{folder}: nothing is logged yet", "wait for the first training.log_every")
    return records


def first_epoch(prepared: Prepared, recipe: Recipe) -> Batches:
    """The batches of a training's first epoch.

    Raises:
        NmtError: the recipe looks for the largest batch when it trains.
    """
    if not recipe.training.batch_tokens:
        raise NmtError(
            f"{recipe.label}: training.batch_tokens = 0 is settled when a training begins",
            "give the size that was found: --set training.batch_tokens=N",
        )
    return training_batches(recipe, prepared).batches(0)
