"""How long sentences are, and how much of a batch they fill."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.data.batches import Batches
from nmt_cli.plot.figure import new_figure


@dataclass(frozen=True)
class Bucket:
    """The batches of one width.

    Attributes:
        width: tokens of each row, padding included.
        pairs: in all of them.
        tokens: of both sides, with their marks.
        cells: of both sides, those of rows that a last batch leaves empty included.
    """

    width: int
    pairs: int
    tokens: int
    cells: int

    @property
    def filled(self) -> float:
        """Share of the cells that hold a token."""
        return self.tokens / self.cells


def buckets_of(batches: Batches) -> list[Bucket]:
    """The batches of an epoch by their width, copies of a pair counted once."""
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
    """Histograms of both sides' lengths, and how large and how full each bucket is.

    Args:
        batches: of the training text.
        languages: of source and target.
        name: of the text.
    """
    source, target = batches.source.lengths, batches.target.lengths + 1
    buckets = buckets_of(batches)
    figure = new_figure(10.5, 4.6)
    left, right = figure.subplots(1, 2)
    edges = np.arange(0, max(source.max(), target.max()) + 2)
    for lengths, language in zip((source, target), languages, strict=True):
        label = f"{language}: mean {lengths.mean():.1f}, longest {lengths.max()}"
        left.hist(lengths, bins=edges, histtype="step", label=label, linewidth=1.3)
    left.set_xlabel("tokens, marks included")
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
    right.set_title(f"buckets: {filled:.1%} filled in all", fontsize=10)
    figure.legend(*_both_legends(right, share), loc="outside lower right", ncols=2, fontsize=9)
    figure.suptitle(f"{name}: {len(source):,} pairs", fontsize=11)
    return figure


def _both_legends(*axes: Axes) -> tuple[list[Any], list[Any]]:
    """Handles and labels of axes that share a panel."""
    pairs = [each.get_legend_handles_labels() for each in axes]
    return [each for own, _ in pairs for each in own], [each for _, own in pairs for each in own]
