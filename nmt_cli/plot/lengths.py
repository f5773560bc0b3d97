"""Draw the lengths of sentences, and how well they fill their batches."""

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.data.batches import Batches, training_batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import NmtError
from nmt_cli.plot.figure import new_figure
from nmt_cli.recipe.config import Recipe


def first_epoch(prepared: Prepared, recipe: Recipe) -> Batches:
    """Return the batches of a training's first epoch.

    Raises:
        NmtError: the recipe leaves the size of a batch to the training.
    """
    if not recipe.training.batch_tokens:
        raise NmtError(
            f"{recipe.label}: training.batch_tokens = 0 is only known once a training has begun",
            "give its size with `set=training.batch_tokens=N`",
        )
    return training_batches(recipe, prepared).batches(0)


def buckets_of(batches: Batches) -> tuple[NDArray[np.int64], ...]:
    """Group the batches of an epoch by width.

    Returns:
        For each width: the width, in tokens; the pairs in all its batches, copies counted once;
        tokens and cells on both sides, with start and end marks. Cells include those of rows that
        the last batch leaves empty.
    """
    by_width: dict[int, list[NDArray[np.int64]]] = {}
    for width, rows in batches.order(0):
        by_width.setdefault(width, []).append(rows)
    lengths = batches.source.lengths + batches.target.lengths + 1
    found = []
    for width, parts in sorted(by_width.items()):
        rows = np.concatenate(parts)
        cells = 2 * len(parts) * batches.pairs_of(width) * width
        found.append((width, len(rows), lengths[rows].sum(), cells))
    return tuple(np.array(found).T)


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
    places = np.arange(len(widths))
    right.bar(places, pairs, color="#bcd3e8", label="pairs")
    right.set_xticks(places, [str(each) for each in widths], fontsize=9)
    right.set_xlabel("width of the bucket (tokens)")
    right.set_ylabel("pairs")
    share = right.twinx()
    share.plot(places, 100 * tokens / cells, "o-", color="#b5473c", label="filled")
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
