"""How long sentences are, and how much of a batch they fill."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.plot.figure import new_figure


@dataclass(frozen=True)
class Bucket:
    """The pairs that are padded to one width.

    Attributes:
        width: tokens of each row, padding included.
        pairs: how many.
        efficiency: share of the cells of both sides that hold a token.
    """

    width: int
    pairs: int
    efficiency: float


def buckets_of(
    source: NDArray[np.int64], target: NDArray[np.int64], widths: Sequence[int]
) -> list[Bucket]:
    """Sort pairs by the width that they are padded to.

    Args:
        source, target: lengths of the pairs' sides, with their marks.
        widths: that there are, ascending.
    """
    places = np.searchsorted(widths, np.maximum(source, target))
    found = []
    for place, width in enumerate(widths):
        own = places == place
        count = int(own.sum())
        if count:
            filled = int(source[own].sum() + target[own].sum())
            found.append(Bucket(int(width), count, filled / (2 * count * int(width))))
    return found


def lengths_figure(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    languages: tuple[str, str],
    buckets: Sequence[Bucket],
    name: str,
) -> Figure:
    """Histograms of both sides' lengths, and each bucket's size and efficiency."""
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
    shares = [100 * each.efficiency for each in buckets]
    share.plot(places, shares, "o-", color="#b5473c", label="filled")
    share.set_ylim(0, 100)
    share.set_ylabel("cells that hold a token (%)")
    cells = sum(2 * each.pairs * each.width for each in buckets)
    filled = int(source.sum() + target.sum())
    right.set_title(f"buckets: {100 * filled / cells:.1f}% filled in all", fontsize=10)
    figure.legend(*_both_legends(right, share), loc="outside lower right", ncols=2, fontsize=9)
    figure.suptitle(f"{name}: {len(source):,} pairs", fontsize=11)
    return figure


def _both_legends(*axes: Axes) -> tuple[list[Any], list[Any]]:
    """Handles and labels of axes that share a panel."""
    pairs = [each.get_legend_handles_labels() for each in axes]
    return [each for own, _ in pairs for each in own], [each for _, own in pairs for each in own]
