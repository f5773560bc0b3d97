"""Draw attention weights: every head of every layer, or aligned words."""

import numpy as np
from matplotlib.figure import Figure

from nmt_cli.errors import InputError, ModelError
from nmt_cli.plot.figure import matrix, new_figure
from nmt_cli.search.alignment import AttentionMaps
from nmt_cli.text.tokenizer import TokenizerPair

_TITLES = {
    "cross": "Attention from the translation to the source",
    "encoder": "Self-attention of the encoder",
    "decoder": "Self-attention of the decoder",
}
# Inches: a token, the labels and title of a panel, the smallest panel, the largest figure.
_TOKEN, _MARGIN, _MIN_PANEL, _MAX_FIGURE = 0.16, 0.9, 1.8, 60.0


def attention_figure(
    maps: AttentionMaps,
    tokenizers: TokenizerPair,
    part: str = "cross",
    layer: int | None = None,
    head: int | None = None,
) -> Figure:
    """Draw a panel for each layer (down) and head (across), or only for one of them, from 1.
    ``part`` is "cross", or "encoder" or "decoder" for their self-attention."""
    weights = getattr(maps, part)
    if weights is None:
        others = "the run of a model that has it, or a bundle exported with `attention=all`"
        reason = f"the model provides no {part} self-attention"
        raise ModelError(reason, f"use `part=cross`, {others}")
    layers = _chosen("layer", layer, weights.shape[0])
    heads = _chosen("head", head, weights.shape[1])
    source = tokenizers.source.tokens(maps.source)
    target = tokenizers.target.tokens(maps.target)
    rows, columns = (target if part == "cross" else source), source
    if part == "decoder":
        rows = columns = ["<s>", *target[:-1]]
    width, height = (
        min(_MAX_FIGURE, max(_MIN_PANEL, _TOKEN * len(labels) + _MARGIN) * len(panels) + 0.6)
        for labels, panels in ((columns, heads), (rows, layers))
    )
    figure = new_figure(width, height)
    axes = figure.subplots(len(layers), len(heads), squeeze=False)
    for row, layer_index in enumerate(layers):
        for column, head_index in enumerate(heads):
            panel = axes[row][column]
            image = matrix(panel, weights[layer_index, head_index], rows, columns)
            panel.set_title(f"layer {layer_index + 1}, head {head_index + 1}", fontsize=9)
    figure.suptitle(_TITLES[part], fontsize=11)
    figure.colorbar(image, ax=axes, shrink=0.6, label="weight")
    return figure


def alignment_figure(maps: AttentionMaps) -> Figure:
    """Draw one matrix: target words down, source words across."""
    weights = maps.word_weights
    if not weights.size:
        raise InputError("the translation is empty: there are no words to align", "give `target`")
    rows, columns = ([word for word, _ in side] for side in (maps.target_words, maps.source_words))
    figure = new_figure(max(3.5, 0.4 * len(columns) + 2.2), max(3.0, 0.4 * len(rows) + 1.6))
    axes = figure.subplots()
    image = matrix(axes, weights, rows, columns)
    for row, values in enumerate(weights):
        axes.plot(int(np.argmax(values)), row, ".", color="white", markersize=4)
    axes.set(xlabel="source", ylabel="translation")
    axes.set_title("Alignment by attention", fontsize=11)
    figure.colorbar(image, ax=axes, shrink=0.8, label="weight")
    return figure


def _chosen(option: str, number: int | None, count: int) -> list[int]:
    if number is None:
        return list(range(count))
    if not 1 <= number <= count:
        raise ModelError(f"`{option}={number}`: the model has {count}", f"give 1 to {count}")
    return [number - 1]
