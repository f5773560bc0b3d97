"""Draw position vectors: all of them as a heat map, some dimensions as curves."""

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.plot.figure import new_figure
from nmt_cli.recipe.architecture import architecture_of
from nmt_cli.recipe.config import Recipe
from nmt_cli.training.run import Run

CURVES = 4


def position_table(
    recipe: Recipe, run: Run | None, length: int, side: str = "source"
) -> tuple[NDArray[np.float32], str]:
    """Return position vectors [length, d_model] and a title for them.

    Args:
        recipe: of the model.
        run: its run, if there is one.
        length: the number of positions; learned ones may be fewer.
        side: "source" or "target", for learned ones that are not shared.

    Raises:
        NmtError: the model has no position vectors, or they are learned and there is no run.
    """
    from keras import ops

    from nmt_cli.model.positions import sinusoids

    kind = architecture_of(recipe.model).positions(recipe.model)
    if kind == "none":
        raise NmtError(
            f"{recipe.label}: its model has no position vectors",
            "use a Transformer whose model.positions is not 'none'",
        )
    if kind != "learned":
        table = sinusoids(ops.arange(length), recipe.model.d_model, kind == "sinusoidal")
        return ops.convert_to_numpy(table), f"{recipe.label}: {kind} positions"
    if run is None:
        raise NmtError(
            f"{recipe.label}: its positions are learned, and a recipe has no weights",
            "name a run folder",
        )
    from nmt_cli.training.model import trained_model

    trained, _ = trained_model(run, run.preferred)
    names = ("positions", f"{side}_positions")
    layer = next(each for each in trained.layers if each.name in names)
    return ops.convert_to_numpy(layer.table)[:length], f"{recipe.label}: learned {side} positions"


def positions_figure(
    table: NDArray[np.float32], title: str, dimensions: list[int] | None = None
) -> Figure:
    """Draw a heat map and curves of a table [positions, d_model].

    Args:
        table: a vector for each position.
        title: of the figure.
        dimensions: to draw as curves, from 0; default: CURVES of the first half, where sinusoids
            still change.

    Raises:
        NmtError: the vectors do not have such a dimension.
    """
    places, width = table.shape
    chosen = dimensions or sorted({width * each // (2 * CURVES) for each in range(CURVES)})
    if max(chosen) >= width:
        raise NmtError(
            f"--dimension {max(chosen)}: the model has {width}", f"give 0 to {width - 1}"
        )
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
