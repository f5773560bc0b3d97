"""Draw the logs of trainings, one curve per run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from nmt_cli.errors import NmtError
from nmt_cli.plot.figure import new_figure

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


def log_records(folder: Path) -> Records:
    """Read the records of a run's log.

    Raises:
        NmtError: the folder is not a run, or its log is empty.
    """
    from nmt_cli.training.log import read_log
    from nmt_cli.training.run import Run

    records = read_log(Run.open(folder).folder)
    if not records:
        raise NmtError(f"{folder}: the log is empty", "wait for the first training.log_every steps")
    return records


def history_figure(runs: Mapping[str, Records]) -> Figure:
    """Draw loss, accuracy, BLEU and learning rate over the steps.

    Args:
        runs: log records by the run's name.
    """
    figure = new_figure(10.5, 7.2)
    for axes, (title, unit, curves) in zip(figure.subplots(2, 2).flat, _PANELS, strict=True):
        for number, (name, records) in enumerate(runs.items()):
            for key, kind, style in curves:
                points = [(each["step"], each[key]) for each in records if key in each]
                label = ", ".join(each for each in (name if len(runs) > 1 else "", kind) if each)
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
