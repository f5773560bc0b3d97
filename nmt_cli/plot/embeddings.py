"""Draw embeddings of words: their nearest neighbours, and two of their dimensions."""

import unicodedata
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from nmt_cli.errors import InputError, ModelError
from nmt_cli.models import TranslationModel
from nmt_cli.plot.figure import new_figure, shortened
from nmt_cli.text.tokenizer import Tokenizer

WORDS, NEIGHBOURS = 100, 5
_COLORS, _GIVEN, _OTHER = colormaps["Blues"], "#1f5a94", "#777777"
# Of a label: its distance from the point in points, and where it is, right (1) and up (1) first.
_PLACES = [
    (distance, x, y)
    for distance in (5, 12, 20, 30)
    for x, y in product((1, -1, 0), (1, -1, 0))
    if x or y
]
Vectors = NDArray[np.float32]


def embedding_matrix(model: TranslationModel, side: str) -> Vectors:
    """Return the embeddings of a run's or bundle's "source" or "target" side, [V, d]."""
    shared = model.config.embeddings in ("all", "source-target")
    weight = f"{'target' if shared else side}_embedding/matrix"
    if model.kind == "run":
        from nmt_cli.training.checkpoint import inference_weights, read_checkpoint
        from nmt_cli.training.run import Run

        arrays, _ = read_checkpoint(Run.open(model.path).preferred)
        return inference_weights(arrays)[f"weights/{weight}"]
    from nmt_cli.bundle.reading import read_manifest
    from nmt_cli.export.importing.runs import bundle_weights

    manifest = read_manifest(model.path)
    if weight not in manifest.stored_weights.tensors:
        reason = f"{model.path}: does not record where its graphs store the embeddings"
        raise ModelError(reason, "use the run that it was exported from")
    shape = manifest.vocabulary[side], model.config.d_model
    return bundle_weights(model.path, manifest, {weight: shape})[weight]


def embeddings_figure(
    matrix: Vectors, tokenizer: Tokenizer, title: str, words: Sequence[str] = ()
) -> Figure:
    """Draw words in the two dimensions in which they differ most (principal components), and a
    table of each word's nearest neighbours in the vocabulary, by the cosine.

    Vectors are compared without their mean, which hides differences (Mu and Viswanath 2018,
    https://arxiv.org/abs/1702.01417). A word of several tokens has the mean of their vectors.

    Args:
        matrix: embeddings, [V, d].
        words: none for the first WORDS of the vocabulary, without neighbours.

    Raises:
        InputError: words are not in the vocabulary.
    """
    texts = [surface.decode(errors="ignore") for surface in tokenizer.surfaces()]
    vocabulary = [token for token, text in enumerate(texts) if _is_word(text)]
    names = list(dict.fromkeys(words)) or [texts[token][1:] for token in vocabulary[:WORDS]]
    ids = tokenizer.encode(names) if words else [[token] for token in vocabulary[:WORDS]]
    # Single bytes have no text either.
    known = [bool(row) and all(texts[token] for token in row) for row in ids]
    if not names or not all(known):
        unknown = [name for name, is_known in zip(names, known, strict=True) if not is_known]
        reason = f"not in the vocabulary: {', '.join(unknown) or 'words of letters'}"
        raise InputError(reason, "give other `words`")
    mean = matrix[vocabulary].mean(axis=0) if vocabulary else 0
    vectors = _unit(np.array([matrix[row].mean(axis=0) for row in ids]) - mean)
    if not words or len(vocabulary) < 2:
        figure = new_figure(9, 7, title)
        _draw_words(figure, figure.subplots(), vectors, names, len(names))
        return figure
    figure = new_figure(12.5, max(5.0, 0.42 * len(names) + 0.6), title)
    left, right = figure.subplots(1, 2)
    candidates = _unit(matrix[vocabulary] - mean)
    cosines = vectors @ candidates.T
    cosines[[[row == [token] for token in vocabulary] for row in ids]] = -2  # the word itself
    count = min(NEIGHBOURS, len(vocabulary) - 1)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    others = [texts[token][1:] for token in vocabulary]
    counts = (f" ({len(row)} tokens)" if len(row) > 1 else "" for row in ids)
    labels = [f"{shortened(name)}{count}" for name, count in zip(names, counts, strict=True)]
    right.imshow(np.take_along_axis(cosines, nearest, 1), _COLORS, aspect="auto", vmin=0, vmax=1)
    right.set_yticks(range(len(labels)), labels)
    right.set_xticks(range(count), [str(rank + 1) for rank in range(count)])
    right.set_xlabel("nearest words, and the cosine")
    for (row, rank), index in np.ndenumerate(nearest):
        text, cosine = shortened(others[index], 12), cosines[row, index]
        color = "white" if cosine > 0.6 else "black"
        right.text(
            rank, row, f"{text}\n{cosine:.2f}", ha="center", va="center", size=8, color=color
        )
    near = [index for index in dict.fromkeys(nearest.flat) if [vocabulary[index]] not in ids]
    points = np.concatenate([vectors, candidates[near]])
    _draw_words(figure, left, points, [*names, *(others[index] for index in near)], len(names))
    return figure


def _is_word(text: str) -> bool:
    """Whether the text of a piece begins a word and has two or more letters, and nothing else."""
    letters = [unicodedata.category(character)[0] in "LM" for character in text[1:]]
    return text[:1] == " " and len(letters) > 1 and all(letters)


def _unit(vectors: Vectors) -> Vectors:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _draw_words(
    figure: Figure, axes: Axes, vectors: Vectors, names: Sequence[str], given: int
) -> None:
    """Draw words as points with labels that do not overlap, the ``given`` ones, which come first,
    in another colour. A label that finds no room is left out."""
    left, scales, right = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    # A component has two directions: the word's dimension that weighs most decides.
    heaviest = right[np.arange(len(right)), np.abs(right).argmax(axis=1)]
    points = (left * scales * np.sign(heaviest))[:, :2]
    points = np.pad(points, ((0, 0), (0, 2 - points.shape[1])))  # a single word has one dimension
    shares = 100 * scales**2 / max((scales**2).sum(), 1e-9)
    colors = [_GIVEN] * given + [_OTHER] * (len(names) - given)
    axes.scatter(points[:, 0], points[:, 1], s=8, c=colors)
    axes.set(xlabel=f"first component ({shares[0]:.0f}% of the variance)")
    axes.set(ylabel=f"second component ({sum(shares[1:2]):.0f}%)")
    axes.margins(0.12)
    figure.draw_without_rendering()  # determines the places
    taken = [Bbox.from_bounds(x - 3, y - 3, 6, 6) for x, y in axes.transData.transform(points)]
    for point, name, color in zip(points, names, colors, strict=True):
        look: dict[str, Any] = {
            "fontsize": 8,
            "color": color,
            "arrowprops": {"arrowstyle": "-", "lw": 0.3},
        }
        label = axes.annotate(shortened(name), point, (0, 0), textcoords="offset points", **look)
        for distance, x, y in _PLACES:
            sides = {"ha": ("center", "left", "right")[x], "va": ("center", "bottom", "top")[y]}
            label.set(position=(distance * x, distance * y), **sides)
            label.get_window_extent()  # moves it
            box = Text.get_window_extent(label)  # without the arrow
            if axes.bbox.count_contains([box.min, box.max]) == 2 and not box.count_overlaps(taken):
                taken.append(box)
                break
        else:
            label.remove()
