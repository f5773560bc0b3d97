"""Draw the learning rate over the steps of a training, as its recipe plans it."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.plot.figure import new_figure
from nmt_cli.recipe.config import Recipe

POINTS = 2000

Curve = tuple[NDArray[np.int64], NDArray[np.float32]]


def learning_rates(recipe: Recipe, steps: int | None) -> Curve:
    """Return steps, from 0, and their learning rates: at most POINTS of each.

    Args:
        recipe: with the schedule.
        steps: the number of steps to cover; None for the whole training.
    """
    from keras import ops

    from nmt_cli.training.optimizer import WarmUp

    at = steps_to_draw(steps or recipe.training.max_steps)
    schedule = WarmUp(recipe)
    rates = [ops.convert_to_numpy(schedule(step * recipe.training.accumulate)) for step in at]
    return at, np.array(rates, np.float32)


def steps_to_draw(count: int) -> NDArray[np.int64]:
    """Return at most POINTS of the steps from 0 to ``count``, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, POINTS)).astype(np.int64))


def schedule_figure(curves: dict[str, Curve]) -> Figure:
    """Draw a curve for each recipe, by its name."""
    figure = new_figure(7.5, 4.2)
    axes = figure.subplots()
    for name, (steps, rates) in curves.items():
        axes.plot(steps + 1, rates, label=name, linewidth=1.4)
    axes.set_xlabel("step")
    axes.set_ylabel("learning rate")
    axes.set_ylim(bottom=0)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-3, 3))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)
    axes.set_title("Learning rate", fontsize=11)
    return figure
