"""Position vectors: all of them as a heat map, some dimensions as curves."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.plot.figure import new_figure

CURVES = 4


def positions_figure(
    table: NDArray[np.float32], title: str, dimensions: list[int] | None = None
) -> Figure:
    """Heat map and curves of a table [positions, d].

    Args:
        table: a vector for each position.
        title: what they are.
        dimensions: whose curves are drawn, from 0; none: CURVES of the first half, where
            sinusoids still move.
    """
    places, width = table.shape
    chosen = dimensions or sorted({width * each // (2 * CURVES) for each in range(CURVES)})
    figure = new_figure(10.5, 4.6)
    heat, curves = figure.subplots(1, 2)
    bound: Any = float(np.abs(table).max()) or 1.0
    image = heat.imshow(
        table, cmap=colormaps["RdBu"], vmin=-bound, vmax=bound, aspect="auto", origin="lower"
    )
    heat.set_xlabel("dimension")
    heat.set_ylabel("position")
    figure.colorbar(image, ax=heat, label="value")
    for each in chosen:
        curves.plot(np.arange(places), table[:, each], label=f"dimension {each}", linewidth=1.2)
    curves.set_xlabel("position")
    curves.set_ylabel("value")
    curves.grid(alpha=0.3)
    curves.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4)
    figure.suptitle(title, fontsize=11)
    return figure
