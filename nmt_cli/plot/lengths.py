"""Draw the lengths of sentences, and how well they fill their batches."""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.data.batches import Batches
from nmt_cli.data.epochs import training_batches
from nmt_cli.data.prepared import Prepared
from nmt_cli.errors import NmtError
from nmt_cli.plot.figure import new_figure
from nmt_cli.recipe.config import Recipe


@dataclass(frozen=True)
class Bucket:
    """The batches of one width.

    Attributes:
        width: tokens per row, with padding.
        pairs: the number of pairs in all of them.
        tokens: on both sides, with start and end marks.
        cells: on both sides, with those of rows that the last batch leaves empty.
    """

    width: int
    pairs: int
    tokens: int
    cells: int

    @property
    def filled(self) -> float:
        """The share of cells that hold a token."""
        return self.tokens / self.cells


def first_epoch(prepared: Prepared, recipe: Recipe) -> Batches:
    """Return the batches of a training's first epoch.

    Raises:
        NmtError: the recipe leaves the size of a batch to the training.
    """
    if not recipe.training.batch_tokens:
        raise NmtError(
            f"{recipe.label}: training.batch_tokens = 0 is only known once a training has begun",
            "give its size with --set training.batch_tokens=N",
        )
    return training_batches(recipe, prepared).batches(0)


def buckets_of(batches: Batches) -> list[Bucket]:
    """Group the batches of an epoch by width; copies of a pair count once."""
    by_width: dict[int, list[NDArray[np.int64]]] = {}
    for width, rows in batches.epoch(0):
        by_width.setdefault(width, []).append(rows)
    source, target = batches.source.lengths, batches.target.lengths + 1
    found = []
    for width, parts in sorted(by_width.items()):
        rows = np.concatenate(parts)
        cells = 2 * len(parts) * batches.pairs_of(width) * width
        tokens = int(source[rows].sum() + target[rows].sum())
        found.append(Bucket(width, len(rows), tokens, cells))
    return found


def lengths_figure(batches: Batches, languages: tuple[str, str], name: str) -> Figure:
    """Draw histograms of both sides' lengths, and the size and fill of each bucket.

    Args:
        batches: of the training text.
        languages: source and target.
        name: of the text, for the title.
    """
    source, target = batches.source.lengths, batches.target.lengths + 1
    buckets = buckets_of(batches)
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
    places = np.arange(len(buckets))
    right.bar(places, [each.pairs for each in buckets], color="#bcd3e8", label="pairs")
    right.set_xticks(places, [str(each.width) for each in buckets], fontsize=9)
    right.set_xlabel("width of the bucket (tokens)")
    right.set_ylabel("pairs")
    share = right.twinx()
    share.plot(
        places, [100 * each.filled for each in buckets], "o-", color="#b5473c", label="filled"
    )
    share.set_ylim(0, 100)
    share.set_ylabel("cells that hold a token (%)")
    filled = sum(each.tokens for each in buckets) / sum(each.cells for each in buckets)
    right.set_title(f"buckets: {filled:.1%} filled overall", fontsize=10)
    handles, labels = right.get_legend_handles_labels()
    line, filled_label = share.get_legend_handles_labels()
    figure.legend(
        handles + line, labels + filled_label, loc="outside lower right", ncols=2, fontsize=9
    )
    figure.suptitle(f"{name}: {len(source):,} pairs", fontsize=11)
    return figure
