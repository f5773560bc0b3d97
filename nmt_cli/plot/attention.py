"""Draw attention weights: every head of every layer, or aligned words."""

import numpy as np
from matplotlib.figure import Figure

from nmt_cli.errors import InputError, ModelError
from nmt_cli.models import TranslationModel
from nmt_cli.plot.figure import label_width, matrix, new_figure
from nmt_cli.search.alignment import AttentionMaps

_TITLES = {
    "cross": "attention from the translation to the source",
    "encoder": "self-attention of the encoder",
    "decoder": "self-attention of the decoder",
}
# Inches: a token, a panel's title and margins, the smallest panel, the narrowest figure.
_TOKEN, _MARGIN, _MIN_PANEL, _MIN_WIDTH = 0.16, 0.4, 1.8, 4.5


def attention_figure(
    maps: AttentionMaps,
    model: TranslationModel,
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
    source = model.tokenizers.source.tokens(maps.source)
    target = model.tokenizers.target.tokens(maps.target)
    rows, columns = (target if part == "cross" else source), source
    if part == "decoder":
        rows = columns = ["<s>", *target[:-1]]
    width, height = (
        max(_MIN_PANEL, _TOKEN * len(along) + label_width(across) + _MARGIN) * len(panels) + 0.4
        for along, across, panels in ((columns, rows, heads), (rows, columns, layers))
    )
    figure = new_figure(max(_MIN_WIDTH, width), height, *_title(maps, _TITLES[part], model))
    axes = figure.subplots(len(layers), len(heads), squeeze=False)
    for row, layer_index in enumerate(layers):
        for column, head_index in enumerate(heads):
            panel = axes[row][column]
            image = matrix(panel, weights[layer_index, head_index], rows, columns)
            panel.set_title(f"layer {layer_index + 1}, head {head_index + 1}", fontsize=9)
    figure.colorbar(image, ax=axes, shrink=0.6, label="weight")
    return figure


def alignment_figure(maps: AttentionMaps, model: TranslationModel) -> Figure:
    """Draw one matrix: target words down, source words across."""
    weights = maps.word_weights
    if not weights.size:
        raise InputError("the translation is empty: there are no words to align", "give `target`")
    rows, columns = ([word for word, _ in side] for side in (maps.target_words, maps.source_words))
    width = max(_MIN_WIDTH, 0.4 * len(columns) + label_width(rows) + 1.8)
    height = max(2.4, 0.4 * len(rows) + label_width(columns) + 1.6)
    figure = new_figure(width, height, *_title(maps, "alignment by attention", model))
    axes = figure.subplots()
    image = matrix(axes, weights, rows, columns)
    for row, values in enumerate(weights):
        axes.plot(int(np.argmax(values)), row, "o", c="white", ms=3, mec="black", mew=0.5)
    axes.set(xlabel="source", ylabel="translation")
    figure.colorbar(image, ax=axes, shrink=0.8, label="weight")
    return figure


def _title(maps: AttentionMaps, kind: str, model: TranslationModel) -> tuple[str, str]:
    sides = maps.source_words, maps.target_words
    source, target = (" ".join(word for word, _ in words) for words in sides)
    return f"{model.path.absolute().name}: {kind}", f"{source} → {target}"


def _chosen(option: str, number: int | None, count: int) -> list[int]:
    if number is None:
        return list(range(count))
    if not 1 <= number <= count:
        raise ModelError(f"`{option}={number}`: the model has {count}", f"give 1 to {count}")
    return [number - 1]
