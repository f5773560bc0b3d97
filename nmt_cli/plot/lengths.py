"""Draw the lengths of sentences, and how well they fill their batches."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.data.batches import Batches, training_batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import RecipeError
from nmt_cli.plot.figure import new_figure
from nmt_cli.recipe.config import Recipe


def first_epoch(prepared: Prepared, recipe: Recipe) -> Batches:
    """Return the batches of a training's first epoch."""
    if not recipe.training.batch_tokens:
        raise RecipeError(
            f"{recipe.label}: with training.batch_tokens = 0, the size of a batch is not known "
            "before a training",
            "set it to a number",
        )
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
    figure = new_figure(10.5, 4.6)
    left, right = figure.subplots(1, 2)
    edges = np.arange(0, max(source.max(), target.max()) + 2)
    for lengths, language in zip((source, target), languages, strict=True):
        label = f"{language}: mean {lengths.mean():.1f}, longest {lengths.max()}"
        left.hist(lengths, bins=edges, histtype="step", label=label, linewidth=1.3)
    left.set_xlabel("tokens, with start and end")
    left.set_ylabel("sentences")
    left.legend(fontsize=9)
    left.grid(alpha=0.3)
    positions = np.arange(len(widths))
    right.bar(positions, pairs, color="#bcd3e8", label="pairs")
    right.set_xticks(positions, [str(width) for width in widths], fontsize=9)
    right.set_xlabel("width of the bucket (tokens)")
    right.set_ylabel("pairs")
    share = right.twinx()
    share.plot(positions, 100 * tokens / cells, "o-", color="#b5473c", label="filled")
    share.set_ylim(0, 100)
    share.set_ylabel("cells that hold a token (%)")
    right.set_title(f"buckets: {tokens.sum() / cells.sum():.1%} filled overall", fontsize=10)
    handles, labels = right.get_legend_handles_labels()
    line, filled_label = share.get_legend_handles_labels()
    figure.legend(
        handles + line, labels + filled_label, loc="outside lower right", ncols=2, fontsize=9
    )
    figure.suptitle(f"{name}: {len(source):,} pairs", fontsize=11)
    return figure
