"""Draw trainings: the logs of runs, and the learning rates of recipes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.errors import ModelError
from nmt_cli.plot.figure import new_figure
from nmt_cli.recipe.config import Recipe

MAX_POINTS = 2000  # of a learning rate curve

# Panels: title, unit, and curves: key of the log, label, line style.
_PANELS = (
    (
        "loss",
        "nats per token",
        (("loss", "training", "-"), ("validation_loss", "validation", "--")),
    ),
    (
        "accuracy",
        "share of tokens",
        (("accuracy", "training", "-"), ("validation_accuracy", "validation", "--")),
    ),
    ("validation, greedy", "BLEU", (("validation_bleu", "", "-"),)),
    ("learning rate", "rate", (("learning_rate", "", "-"),)),
)

Records = Sequence[Mapping[str, Any]]
Curve = tuple[NDArray[np.int64], NDArray[np.float32]]


def log_records(folder: Path) -> Records:
    """Read the records of a run's log."""
    from nmt_cli.training.log import read_log
    from nmt_cli.training.run import Run

    records = read_log(Run.open(folder).folder)
    if not records:
        raise ModelError(
            f"{folder}: the log is empty", "wait for the first training.log_every steps"
        )
    return records


def history_figure(runs: Mapping[str, Records]) -> Figure:
    """Draw loss, accuracy, BLEU and learning rate over the steps of runs, by name."""
    figure = new_figure(10.5, 7.2)
    for axes, (title, unit, curves) in zip(figure.subplots(2, 2).flat, _PANELS, strict=True):
        for number, (name, records) in enumerate(runs.items()):
            for key, split, style in curves:
                points = [(record["step"], record[key]) for record in records if key in record]
                label = ", ".join(filter(None, (name if len(runs) > 1 else "", split)))
                axes.plot(
                    [step for step, _ in points],
                    [value for _, value in points],
                    style,
                    color=f"C{number}",
                    linewidth=1.3,
                    marker="." if len(points) < 30 else None,
                    label=label or name,
                )
        axes.set_xlabel("step")
        axes.set_ylabel(unit)
        axes.set_title(title, fontsize=10)
        axes.grid(alpha=0.3)
        if len(runs) > 1 or len(curves) > 1:
            axes.legend(fontsize=8)
    figure.suptitle("Training: " + ", ".join(runs), fontsize=11)
    return figure


def learning_rates(recipe: Recipe, steps: int | None) -> Curve:
    """Return steps, from 0, and their learning rates, at most MAX_POINTS of each."""
    from keras import ops

    from nmt_cli.training.optimizer import WarmUp

    drawn, schedule = steps_to_draw(steps or recipe.training.max_steps), WarmUp(recipe)
    rates = [ops.convert_to_numpy(schedule(step * recipe.training.accumulate)) for step in drawn]
    return drawn, np.array(rates, np.float32)


def steps_to_draw(count: int) -> NDArray[np.int64]:
    """Return at most MAX_POINTS of ``count`` steps, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, MAX_POINTS)).astype(np.int64))


def schedule_figure(curves: dict[str, Curve]) -> Figure:
    """Draw a learning rate curve for each recipe, by its name."""
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
