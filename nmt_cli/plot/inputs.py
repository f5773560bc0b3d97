"""Draw what attention starts from: the masks of a batch, and position vectors.

If PAD is the only pad symbol, the decoder uses the causal mask as target mask: padding follows
the translation, where only padding can attend to it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.model.layers import causal_mask, padding_mask, target_mask
from nmt_cli.model.positions import sinusoids
from nmt_cli.plot.figure import matrix, new_figure
from nmt_cli.recipe.config import Recipe
from nmt_cli.text.tokenizer import PAD_ID, START_ID, Tokenizer
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run

CURVES = 4
_SEEN, _HIDDEN = "#2f6da8", "#e6e6e6"


def run_masks(run: Run, texts: Sequence[str]) -> Figure:
    """Draw the masks of sentences in one batch, as a run's model would read them.

    Raises:
        NmtError: its model has no self-attention to mask.
    """
    pad_ids = getattr(run.recipe.model, "pad_ids", ())
    if not pad_ids:
        raise NmtError(f"{run.folder}: its model masks only padding", "use a Transformer")
    tokenizer = run.tokenizers().target
    return masks_figure(tokenizer.encode(list(texts)), tokenizer, pad_ids)


def masks_figure(
    sequences: Sequence[Sequence[int]], tokenizer: Tokenizer, pad_ids: Sequence[int] = (PAD_ID,)
) -> Figure:
    """Draw source, causal and target masks of sequences in one padded batch.

    No token attends to ``pad_ids``.
    """
    width = max(map(len, sequences)) + 1
    ids = np.full((len(sequences), width), PAD_ID, np.int32)
    for row, each in enumerate(sequences):
        ids[row, : len(each) + 1] = [START_ID, *each]
    source, causal, target = (
        ops.convert_to_numpy(each) == 0
        for each in (
            padding_mask(ids, "float32", pad_ids),
            causal_mask(width, "float32"),
            target_mask(ids, "float32", pad_ids),
        )
    )
    size = max(2.4, 0.22 * width + 1.0)
    columns = max(2, len(sequences))
    figure = new_figure(size * columns, 2 * size + 0.8)
    grid = figure.subplots(2, columns, squeeze=False)
    for spare in grid.flat:
        spare.set_axis_off()
    places = [str(place) for place in range(width)]
    sentences = [f"sentence {number + 1}" for number in range(len(sequences))]
    _draw(grid[0][0], source[:, 0, 0], sentences, places, "source mask")
    _draw(grid[0][1], causal[0, 0], places, places, "causal mask")
    for column, own in enumerate(map(tokenizer.tokens, ids.tolist())):
        _draw(grid[1][column], target[column, 0], own, own, f"target mask, {sentences[column]}")
    figure.legend(
        handles=[Patch(color=_SEEN, label="visible"), Patch(color=_HIDDEN, label="hidden")],
        loc="outside lower center",
        ncols=2,
    )
    figure.suptitle("Rows attend to columns", fontsize=11)
    return figure


def _draw(axes: Axes, seen: Any, rows: list[str], columns: list[str], title: str) -> None:
    axes.set_axis_on()
    matrix(axes, seen, rows, columns).set_cmap(ListedColormap([_HIDDEN, _SEEN]))
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)
    axes.set_title(title, fontsize=10)


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
    kind = getattr(recipe.model, "positions", "none")
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
    trained, _ = trained_model(run, run.preferred)
    names = ("positions", f"{side}_positions")
    layer = next(each for each in trained.layers if each.name in names)
    return ops.convert_to_numpy(layer.table)[:length], f"{recipe.label}: learned {side} positions"


def positions_figure(
    table: NDArray[np.float32], title: str, dimensions: list[int] | None = None
) -> Figure:
    """Draw a heat map of a table [positions, d_model], and some dimensions (from 0) as curves.

    The default is CURVES dimensions of the first half, where sinusoids still change.

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
