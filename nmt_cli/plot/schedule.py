"""Learning rates over the steps of a training, as its recipe plans them."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.plot.figure import new_figure

POINTS = 2000


def steps_to_draw(last: int) -> NDArray[np.int64]:
    """At most POINTS steps from 0 to the last one."""
    return np.unique(np.linspace(0, last - 1, min(last, POINTS)).astype(np.int64))


def schedule_figure(rates: dict[str, tuple[NDArray[np.int64], NDArray[np.float32]]]) -> Figure:
    """A curve for each recipe.

    Args:
        rates: steps (from 0) and learning rates, by the recipe's name.
    """
    figure = new_figure(7.5, 4.2)
    axes = figure.subplots()
    for name, (steps, values) in rates.items():
        axes.plot(steps + 1, values, label=name, linewidth=1.4)
    axes.set_xlabel("step")
    axes.set_ylabel("learning rate")
    axes.set_ylim(bottom=0)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-3, 3))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)
    axes.set_title("Learning rate", fontsize=11)
    return figure
