"""Draw trainings: logs, learning rates, and the lengths of sentences, which fill batches."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.data.batches import Batches, training_batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import ModelError, RecipeError
from nmt_cli.plot.figure import new_figure, wrapped
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.log import read_log
from nmt_cli.training.run import Run

MAX_POINTS = 2000  # of a learning rate curve

# Panels: title, unit, keys of the log.
_PANELS = (
    ("loss", "nats per token", ("loss", "validation_loss")),
    ("accuracy", "share of tokens", ("accuracy", "validation_accuracy")),
    ("validation, greedy", "BLEU", ("validation_bleu",)),
    ("learning rate", "rate", ("learning_rate",)),
)
# Of the first and the second curve of a panel.
_STYLES = (("training", "-"), ("validation", "--"))

Records = Sequence[Mapping[str, Any]]
Curve = tuple[NDArray[np.int64], NDArray[np.float32]]


def log_records(folder: Path) -> Records:
    """Read the records of a run's log."""
    records = read_log(Run.open(folder).folder)
    if not records:
        hint = "wait for the first training.log_every steps"
        raise ModelError(f"{folder}: the log is empty", hint)
    return records


def history_figure(runs: Mapping[str, Records]) -> Figure:
    """Draw loss, accuracy, BLEU and learning rate over the steps of runs, by name.
    Steps and BLEU begin at 0, so that small differences look small."""
    figure = new_figure(10.5, 7.0, "Training: " + ", ".join(runs))
    for axes, (title, unit, keys) in zip(figure.subplots(2, 2).flat, _PANELS, strict=True):
        for number, (name, records) in enumerate(runs.items()):
            for key, (split, style) in zip(keys, _STYLES, strict=False):
                logged = [record for record in records if key in record]
                steps = [record["step"] for record in logged]
                values = [record[key] for record in logged]
                labels = [wrapped(name, 2.5, 8, 1)] * (len(runs) > 1) + [split] * (len(keys) > 1)
                look = {"color": f"C{number}", "marker": "." if len(steps) < 30 else None}
                label = ", ".join(labels)
                axes.plot(steps, values, style, label=label, linewidth=1.3, **look)
        axes.set(xlabel="step", ylabel=unit, xlim=(0, 1.03 * axes.get_xlim()[1]))
        if unit == "BLEU":
            axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
        axes.set_title(title, fontsize=10)
        axes.grid(alpha=0.3)
        if len(runs) > 1 or len(keys) > 1:
            axes.legend(fontsize=8)
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
    figure = new_figure(7.5, 4.0, "Learning rate: " + ", ".join(curves))
    axes = figure.subplots()
    for name, (steps, rates) in curves.items():
        axes.plot(steps + 1, rates, label=wrapped(name, 5, 9, 1), linewidth=1.4)
    axes.set(xlabel="step", ylabel="learning rate", ylim=(0, None))
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-3, 3))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9)
    return figure


def first_epoch(prepared: Prepared, recipe: Recipe) -> Batches:
    """Return the batches of a training's first epoch."""
    if not recipe.training.batch_tokens:
        reason = "the size of a batch is not known before a training"
        where = f"{recipe.label}: with training.batch_tokens = 0"
        raise RecipeError(f"{where}, {reason}", "set it to a number")
    return training_batches(recipe, prepared).batches(0)


def buckets_of(batches: Batches) -> tuple[NDArray[np.int64], ...]:
    """Group the batches of an epoch by width.

    Returns:
        For each width: the width; the pairs in its batches; the tokens and cells of both sides.
    """
    by_width: dict[int, list[NDArray[np.int64]]] = {}
    for width, rows in batches.order(0):
        by_width.setdefault(width, []).append(rows)
    lengths = batches.source.lengths + batches.target.lengths + 1
    buckets = []
    for width, parts in sorted(by_width.items()):
        rows = np.concatenate(parts)
        cells = 2 * len(parts) * batches.pairs_of(width) * width
        buckets.append((width, len(rows), lengths[rows].sum(), cells))
    return tuple(np.array(buckets).T)


def lengths_figure(batches: Batches, languages: tuple[str, str], name: str) -> Figure:
    """Draw histograms of both sides' lengths, and the size and fill of each bucket."""
    source, target = batches.source.lengths, batches.target.lengths + 1
    widths, pairs, tokens, cells = buckets_of(batches)
    figure = new_figure(10.5, 4.4, f"{name}: {len(source):,} pairs")
    left, right = figure.subplots(1, 2)
    edges = np.arange(0, max(source.max(), target.max()) + 2)
    for lengths, language in zip((source, target), languages, strict=True):
        label = f"{language}: mean {lengths.mean():.1f}, longest {lengths.max()}"
        left.hist(lengths, bins=edges, histtype="step", label=label, linewidth=1.3)
    left.set(xlabel="tokens, with start and end", ylabel="sentences")
    left.legend(fontsize=9)
    left.grid(alpha=0.3)
    positions = np.arange(len(widths))
    right.bar(positions, pairs, color="#bcd3e8", label="pairs")
    right.set_xticks(positions, [str(width) for width in widths], fontsize=9)
    right.set(xlabel="width of the bucket (tokens)", ylabel="pairs")
    share = right.twinx()
    share.plot(positions, 100 * tokens / cells, "o-", color="#b5473c", label="filled")
    share.set(ylabel="cells that hold a token (%)", ylim=(0, 100))
    right.set_title(f"buckets: {tokens.sum() / cells.sum():.1%} filled overall", fontsize=10)
    handles, labels = right.get_legend_handles_labels()
    line, filled_label = share.get_legend_handles_labels()
    figure.legend(
        handles + line, labels + filled_label, loc="outside lower right", ncols=2, fontsize=9
    )
    return figure
