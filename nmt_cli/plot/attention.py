"""Attention weights: every head of every layer, or words aligned."""

import numpy as np
from matplotlib.figure import Figure

from nmt_cli.errors import NmtError
from nmt_cli.plot.figure import matrix, new_figure
from nmt_cli.search.attention import Alignment, AttentionMaps
from nmt_cli.text.tokenizer import TokenizerPair

PARTS = ("cross", "encoder", "decoder")
_TITLES = {
    "cross": "What the decoder looks at in the source",
    "encoder": "What the encoder looks at",
    "decoder": "What the decoder looks at in its translation",
}
# Inches for a token, for a panel's labels and title, at least for a panel, at most in all.
_TOKEN, _AROUND, _LEAST, _MOST = 0.16, 0.9, 1.8, 60.0


def attention_figure(
    maps: AttentionMaps,
    tokenizers: TokenizerPair,
    part: str = "cross",
    layer: int | None = None,
    head: int | None = None,
) -> Figure:
    """A panel for each layer (down) and head (across).

    Args:
        maps: of one sentence and its translation.
        tokenizers: to name the tokens.
        part: one of PARTS.
        layer, head: that one alone, from 1; None: all.

    Raises:
        NmtError: the model has no such attention, layer or head.
    """
    weights = {"cross": maps.cross, "encoder": maps.encoder, "decoder": maps.decoder}[part]
    if weights is None:
        raise NmtError(
            f"the model tells nothing of '{part}' attention",
            "take --part cross; the other parts are those of a Transformer's run",
        )
    layers = _chosen("layer", layer, weights.shape[0])
    heads = _chosen("head", head, weights.shape[1])
    source = tokenizers.source.tokens(maps.source)
    given = tokenizers.target.tokens(maps.target)
    before = ["<s>", *given[:-1]]
    rows, columns = {
        "cross": (given, source),
        "encoder": (source, source),
        "decoder": (before, before),
    }[part]
    panel_width = max(_LEAST, _TOKEN * len(columns) + _AROUND)
    panel_height = max(_LEAST, _TOKEN * len(rows) + _AROUND)
    figure = new_figure(
        min(_MOST, panel_width * len(heads) + 0.6), min(_MOST, panel_height * len(layers) + 0.6)
    )
    axes = figure.subplots(len(layers), len(heads), squeeze=False)
    for down, at_layer in enumerate(layers):
        for across, at_head in enumerate(heads):
            panel = axes[down][across]
            image = matrix(panel, weights[at_layer, at_head], rows, columns)
            panel.set_title(f"layer {at_layer + 1}, head {at_head + 1}", fontsize=9)
    figure.suptitle(_TITLES[part], fontsize=11)
    figure.colorbar(image, ax=axes, shrink=0.6, label="weight")
    return figure


def alignment_figure(alignment: Alignment) -> Figure:
    """One matrix: target words down, source words across.

    Raises:
        NmtError: a side has no words.
    """
    if not alignment.weights.size:
        raise NmtError("the translation is empty: there are no words to align", "give --target")
    rows, columns = alignment.target, alignment.source
    figure = new_figure(max(3.5, 0.4 * len(columns) + 2.2), max(3.0, 0.4 * len(rows) + 1.6))
    axes = figure.subplots()
    image = matrix(axes, alignment.weights, rows, columns)
    for row, values in enumerate(alignment.weights):
        axes.plot(int(np.argmax(values)), row, ".", color="white", markersize=4)
    axes.set_xlabel("source")
    axes.set_ylabel("translation")
    axes.set_title("Alignment by attention", fontsize=11)
    figure.colorbar(image, ax=axes, shrink=0.8, label="weight")
    return figure


def _chosen(kind: str, wanted: int | None, count: int) -> list[int]:
    if wanted is None:
        return list(range(count))
    if not 1 <= wanted <= count:
        raise NmtError(f"--{kind} {wanted}: the model has {count}", f"give 1 to {count}")
    return [wanted - 1]
