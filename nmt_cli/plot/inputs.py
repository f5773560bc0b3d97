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
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from nmt_cli.errors import ModelError
from nmt_cli.model.layers import causal_mask, padding_mask, sinusoids, target_mask
from nmt_cli.models import TranslationModel
from nmt_cli.plot.figure import label_width, matrix, new_figure, wrapped
from nmt_cli.recipe.config import Recipe
from nmt_cli.text.tokenizer import PAD_ID, START_ID, TokenizerPair
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run

CURVES, STACKED = 4, 16
_VISIBLE, _HIDDEN = "#2f6da8", "#e6e6e6"
# Inches: a token, the smallest panel, the narrowest figure.
_CELL, _MIN_PANEL, _MIN_WIDTH = 0.22, 2.8, 4.5


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
        model.tokenizers,
        pad_ids,
        f"{model.path.absolute().name}: ",
    )


def masks_figure(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    tokenizers: TokenizerPair | None = None,
    pad_ids: Sequence[int] = (PAD_ID,),
    model: str = "",
) -> Figure:
    """Draw the masks of a batch of ids, which are padded to one width: a column for each sentence,
    with the padding of both sides, the causal mask, and the target mask, which combines two.
    Without tokenizers, tokens are shown as ids. No token attends to ``pad_ids``."""
    ids = _padded(sources), _padded(targets)
    (count, source_width), (_, width) = ids[0].shape, ids[1].shape
    source, padding = (padding_mask(side, "float32", pad_ids)[:, 0] for side in ids)
    causal = causal_mask(width, "float32")[0, 0]
    target = target_mask(ids[1], "float32", pad_ids)[:, 0]
    names = [f"sentence {number + 1}" for number in range(count)]
    read, written = ([list(map(str, row)) for row in side] for side in ids)
    if tokenizers:
        pair = tokenizers.source, tokenizers.target
        texts = (side.decode(rows.tolist()) for side, rows in zip(pair, ids, strict=True))
        titles = zip(names, *texts, strict=True)
        names = [f"{name}: {text} → {translation}" for name, text, translation in titles]
        sides = zip(pair, ids, strict=True)
        read, written = ([side.tokens(row) for row in rows] for side, rows in sides)
    label = label_width([token for row in read + written for token in row])
    size = max(_MIN_PANEL, _CELL * max(width, source_width) + label + 0.4)
    height = 2 * _CELL * (width + 1) + 4 * (label + 0.4) + 1.0
    title = f"{model}masks of a batch, whose rows attend to columns"
    figure = new_figure(max(_MIN_WIDTH, size * count), height, title)
    for row, column in enumerate(figure.subfigures(1, count, squeeze=False)[0]):
        column.suptitle(wrapped(names[row], size, 10), fontsize=10)
        panels = column.subplots(4, 1, height_ratios=(1, 1, width, width))
        _draw(panels[0], source[row], [""], read[row], "padding mask of the source")
        _draw(panels[1], padding[row], [""], written[row], "padding mask of the target")
        _draw(panels[2], causal, written[row], written[row], "causal mask")
        _draw(panels[3], target[row], written[row], written[row], "target mask: both")
    handles = [Patch(color=_VISIBLE, label="visible"), Patch(color=_HIDDEN, label="hidden")]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def _padded(sequences: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    ids = np.full((len(sequences), max(map(len, sequences))), PAD_ID, np.int32)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return ids


def _draw(axes: Axes, mask: Any, rows: list[str], columns: list[str], title: str) -> None:
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
    chosen: Sequence[int] = (),
    curves: str = "dimensions",
) -> Figure:
    """Draw a heat map of a table [positions, d_model], and curves of its values.

    Args:
        chosen: dimensions or positions to draw, from 0; none for CURVES dimensions of the first
            half, where sinusoids still change, or for STACKED positions.
        curves: "dimensions" for some dimensions over the positions; "all" for all of them, one
            above the other; "positions" for some positions over the dimensions, too.
    """
    length, width = table.shape
    if curves == "positions":
        size, option, drawn = length, "position", np.linspace(0, length - 1, STACKED)
    else:
        size, option, drawn = width, "dimension", np.arange(CURVES) * width / (2 * CURVES)
    chosen = chosen or sorted({int(index) for index in drawn})
    if max(chosen) >= size:
        reason = f"`{option}={max(chosen)}`: the table has {size}"
        raise ModelError(reason, f"give 0 to {size - 1}")
    tall = {"all": width, "positions": 4 * len(chosen)}.get(curves, 0)
    figure = new_figure(10.5, min(12.0, max(4.4, 0.06 * tall)), title)
    heat, panel = figure.subplots(1, 2)
    bound: Any = float(np.abs(table).max()) or 1.0
    image = heat.imshow(
        table, cmap=colormaps["RdBu"], vmin=-bound, vmax=bound, aspect="auto", origin="lower"
    )
    heat.set(xlabel="dimension", ylabel="position")
    figure.colorbar(image, ax=heat, label="value")
    if curves == "dimensions":
        for dimension in chosen:  # a dot is a position
            label = f"dimension {dimension}"
            panel.plot(table[:, dimension], ".-", label=label, linewidth=0.8, markersize=3)
        panel.set(xlabel="position", ylabel="value")
        panel.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=4)
    else:
        rows = table.T if curves == "all" else table[list(chosen)]
        # A curve reaches halfway to its neighbours.
        panel.plot(np.arange(len(rows)) + rows.T / (2 * bound), color=_VISIBLE, linewidth=0.6)
        panel.set(xlabel="position", ylabel="dimension + value / 2")
        panel.margins(y=0.01)
    if curves == "positions":
        panel.set(xlabel="dimension", ylabel="position, and half its value")
        panel.set_yticks(range(len(chosen)), chosen)
        heat.set_yticks(chosen)
    panel.grid(alpha=0.3)
    return figure
