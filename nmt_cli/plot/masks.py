"""Draw which tokens may attend to which: the masks that a Transformer's layers use.

If PAD is the only pad symbol, the decoder uses the causal mask as target mask: padding follows
the translation, where only padding can attend to it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from nmt_cli.errors import NmtError
from nmt_cli.model.layers import causal_mask, padding_mask, target_mask
from nmt_cli.plot.figure import new_figure
from nmt_cli.recipe.architecture import architecture_of
from nmt_cli.text.tokenizer import PAD_ID, START_ID, Tokenizer
from nmt_cli.training.run import Run

_SEEN, _HIDDEN = "#2f6da8", "#e6e6e6"


def run_masks(run: Run, texts: Sequence[str]) -> Figure:
    """Draw the masks of sentences in one batch, as a run's model would read them.

    Raises:
        NmtError: its model has no self-attention to mask.
    """
    pad_ids = architecture_of(run.recipe.model).pad_ids(run.recipe.model)
    if not pad_ids:
        raise NmtError(f"{run.folder}: its model masks only padding", "use a Transformer")
    tokenizer = run.tokenizers().target
    return masks_figure(tokenizer.encode(list(texts)), tokenizer, pad_ids)


def masks_figure(
    sequences: Sequence[Sequence[int]], tokenizer: Tokenizer, pad_ids: Sequence[int] = (PAD_ID,)
) -> Figure:
    """Draw source, causal and target masks of sequences in one padded batch.

    Args:
        sequences: ids of each.
        tokenizer: for the tokens' names.
        pad_ids: ids that no token attends to.
    """
    width = max(map(len, sequences)) + 1
    ids = np.full((len(sequences), width), PAD_ID, np.int32)
    for row, each in enumerate(sequences):
        ids[row, : len(each) + 1] = [START_ID, *each]
    symbols = tuple(pad_ids)
    source, causal, target = (
        ops.convert_to_numpy(each) == 0
        for each in (
            padding_mask(ids, "float32", symbols),
            causal_mask(width, "float32"),
            target_mask(ids, "float32", symbols),
        )
    )
    names = [tokenizer.tokens(row.tolist()) for row in ids]
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
    for column, own in enumerate(names):
        title = f"target mask, sentence {column + 1}"
        _draw(grid[1][column], target[column, 0], own, own, title)
    figure.legend(
        handles=[Patch(color=_SEEN, label="visible"), Patch(color=_HIDDEN, label="hidden")],
        loc="outside lower center",
        ncols=2,
    )
    figure.suptitle("Rows attend to columns", fontsize=11)
    return figure


def _draw(axes: Axes, seen: Any, rows: list[str], columns: list[str], title: str) -> None:
    axes.set_axis_on()
    axes.imshow(seen, cmap=ListedColormap([_HIDDEN, _SEEN]), vmin=0, vmax=1, aspect="equal")
    size = 9 if len(columns) < 24 else 6
    axes.set_yticks(range(len(rows)), rows, fontsize=size)
    axes.set_xticks(range(len(columns)), columns, fontsize=size, rotation=90)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="both", length=0)
    axes.set_title(title, fontsize=10)
