"""Draw the inputs of attention: the masks of a batch, and position vectors.

If PAD is the only padding token, the decoder uses the causal mask as target mask: padding follows
the translation, where only padding can attend to it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from nmt_cli.errors import ModelError
from nmt_cli.model.layers import causal_mask, padding_mask, sinusoids, target_mask
from nmt_cli.models import TranslationModel
from nmt_cli.plot.figure import matrix, new_figure
from nmt_cli.recipe.config import Recipe
from nmt_cli.text.tokenizer import PAD_ID, START_ID, Tokenizer
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run

CURVES = 4
_VISIBLE, _HIDDEN = "#2f6da8", "#e6e6e6"


def model_masks(
    model: TranslationModel, sources: Sequence[str], targets: Sequence[str] = ()
) -> Figure:
    """Draw the masks of sentences and their translations, by default the model's, in a batch."""
    pad_ids = getattr(model.config, "pad_ids", ())
    if not pad_ids:
        raise ModelError(f"{model.path}: its model masks only padding", "use a Transformer")
    source, target = model.tokenizers.source, model.tokenizers.target
    if targets:
        translations = target.encode(list(targets))
    else:
        translations = [translation.ids for translation in model.translate(sources)]
    return masks_figure(
        [source.with_special_tokens(ids) for ids in source.encode(list(sources))],
        [[START_ID, *ids] for ids in translations],
        target,
        pad_ids,
    )


def masks_figure(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    tokenizer: Tokenizer | None = None,
    pad_ids: Sequence[int] = (PAD_ID,),
) -> Figure:
    """Draw source, causal and target masks of a batch of ids, which are padded to one width.
    Without a tokenizer, tokens are shown as ids. No token attends to ``pad_ids``."""
    source_ids, target_ids = _padded(sources), _padded(targets)
    (count, width), (_, source_width) = target_ids.shape, source_ids.shape
    source = padding_mask(source_ids, "float32", pad_ids)[:, 0, 0]
    causal = causal_mask(width, "float32")[0, 0]
    target = target_mask(target_ids, "float32", pad_ids)[:, 0]
    size = max(2.4, 0.22 * max(width, source_width) + 1.0)
    columns = max(2, count)
    figure = new_figure(size * columns, 2 * size + 0.8)
    grid = figure.subplots(2, columns, squeeze=False)
    for panel in grid.flat:
        panel.set_axis_off()
    positions = [str(position) for position in range(max(width, source_width))]
    sentences = [f"sentence {number + 1}" for number in range(count)]
    _draw(grid[0][0], source, sentences, positions[:source_width], "source mask")
    _draw(grid[0][1], causal, positions[:width], positions[:width], "causal mask")
    for column, ids in enumerate(target_ids.tolist()):
        tokens = tokenizer.tokens(ids) if tokenizer else list(map(str, ids))
        title = f"target mask, {sentences[column]}"
        _draw(grid[1][column], target[column], tokens, tokens, title)
    handles = [Patch(color=_VISIBLE, label="visible"), Patch(color=_HIDDEN, label="hidden")]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    figure.suptitle("Rows attend to columns", fontsize=11)
    return figure


def _padded(sequences: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    ids = np.full((len(sequences), max(map(len, sequences))), PAD_ID, np.int32)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return ids


def _draw(axes: Axes, mask: Any, rows: list[str], columns: list[str], title: str) -> None:
    axes.set_axis_on()
    visible = ops.convert_to_numpy(mask) == 0
    matrix(axes, visible, rows, columns).set_cmap(ListedColormap([_HIDDEN, _VISIBLE]))
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)
    axes.set_title(title, fontsize=10)


def position_table(
    recipe: Recipe, run: Run | None, length: int, side: str = "source"
) -> tuple[NDArray[np.float32], str]:
    """Return position vectors [length, d_model] and a title for them.
    Learned positions need the run, may be fewer, and may differ between the sides."""
    positions = getattr(recipe.model, "positions", "none")
    if positions == "none":
        hint = "use a Transformer whose model.positions is not 'none'"
        raise ModelError(f"{recipe.label}: its model has no position vectors", hint)
    if positions != "learned":
        form = positions == "sinusoidal", positions == "marian"
        table = sinusoids(ops.arange(length), recipe.model.d_model, *form)
        return ops.convert_to_numpy(table), f"{recipe.label}: {positions} positions"
    if run is None:
        reason = f"{recipe.label}: its positions are learned, and a recipe has no weights"
        raise ModelError(reason, "name a run folder")
    trained, _ = trained_model(run, run.preferred)
    names = ("positions", f"{side}_positions")
    layer = next(layer for layer in trained.layers if layer.name in names)
    return ops.convert_to_numpy(layer.table)[:length], f"{recipe.label}: learned {side} positions"


def positions_figure(
    table: NDArray[np.float32],
    title: str,
    dimensions: Sequence[int] = (),
    curves: str = "dimensions",
) -> Figure:
    """Draw a heat map of a table [positions, d_model], and curves of its values.

    Args:
        dimensions: dimensions to draw, from 0, with ``curves`` "dimensions"; none for CURVES of
            the first half, where sinusoids still change.
        curves: "dimensions" for some dimensions over the positions; "all" for all of them, one
            above the other; "positions" for a curve over the dimensions for each position.
    """
    length, width = table.shape
    chosen = dimensions or sorted({width * curve // (2 * CURVES) for curve in range(CURVES)})
    if max(chosen) >= width:
        reason = f"`dimension={max(chosen)}`: the model has {width}"
        raise ModelError(reason, f"give 0 to {width - 1}")
    figure = new_figure(10.5, min(12.0, max(4.6, 0.06 * width)) if curves == "all" else 4.6)
    heat, panel = figure.subplots(1, 2)
    bound: Any = float(np.abs(table).max()) or 1.0
    image = heat.imshow(
        table, cmap=colormaps["RdBu"], vmin=-bound, vmax=bound, aspect="auto", origin="lower"
    )
    heat.set(xlabel="dimension", ylabel="position")
    figure.colorbar(image, ax=heat, label="value")
    if curves == "positions":
        colors = ScalarMappable(Normalize(0, length - 1), colormaps["viridis"])
        for vector, color in zip(table, colors.to_rgba(np.arange(length)), strict=True):
            panel.plot(vector, color=color, linewidth=0.6)
        figure.colorbar(colors, ax=panel, label="position")
        panel.set(xlabel="dimension", ylabel="value")
    elif curves == "all":
        # A curve reaches halfway to its neighbours.
        panel.plot(np.arange(width) + table / (2 * bound), color=_VISIBLE, linewidth=0.6)
        panel.set(xlabel="position", ylabel="dimension + value / 2")
        panel.margins(y=0.01)
    else:
        for dimension in chosen:
            panel.plot(table[:, dimension], label=f"dimension {dimension}", linewidth=1.2)
        panel.set(xlabel="position", ylabel="value")
        panel.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4)
    panel.grid(alpha=0.3)
    figure.suptitle(title, fontsize=11)
    return figure
