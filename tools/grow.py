"""Make a larger run from a trained one, so that a training does not begin from nothing.

    python -m tools.grow RUN NEW_RUN --encoder-layers 6
    python -m tools.grow RUN NEW_RUN --d-model 256 --feed-forward 1536 --tokenizer FOLDER
    nmt train RECIPE --init-from NEW_RUN

New encoder layers are spread among the old ones. Each is a copy of the layer before it whose
sub-layers end in zeros, so that at first it adds nothing, as in Net2Net (Chen et al. 2016,
https://arxiv.org/abs/1511.05641). With more layers and wider feed-forward layers only, the new run
computes the same as the old one.

A wider model (``--d-model``) has random new features of the size of the old ones, which nothing
reads at first. It computes nearly the same: its layer norms also see the new features, and an old
feature's position has the nearest of the new frequencies. With another tokenizer, a new piece
begins with the mean of the embeddings of the old pieces that spell it.

Only for Transformers with sinusoidal positions, one vocabulary, and the norm before each sub-layer.
"""

import argparse
import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.files import replacing_folder
from nmt_cli.host import import_keras
from nmt_cli.recipe.model import TransformerConfig
from nmt_cli.text.tokenizer import Tokenizer, load_tokenizers
from nmt_cli.training import RUN
from nmt_cli.training.checkpoint import (
    TrainingState,
    inference_weights,
    read_checkpoint,
    save_checkpoint,
)
from nmt_cli.training.run import Run

Array = NDArray[np.float32]

# The ends of a layer's sub-layers, which are added to its input.
ENDS = ("attention/output/", "feed_forward/outer/")
SPACE = "▁"  # SentencePiece's


def origins(old: int, new: int) -> list[tuple[int, bool]]:
    """For each new layer, the old one that it copies, and whether it is that layer itself.

    >>> origins(2, 5)
    [(0, True), (0, False), (0, False), (1, True), (1, False)]
    """
    copied = [place * old // new for place in range(new)]
    return [(layer, layer not in copied[:place]) for place, layer in enumerate(copied)]


def features(old: int, new: int) -> NDArray[np.int64]:
    """For each feature of a hidden vector of width ``old``, its place in one of width ``new``.

    Features 2i and 2i + 1 share the frequency ``10000^(-2i/d)``, so a pair takes the place whose
    frequency is the nearest.

    >>> features(4, 8).tolist()
    [0, 1, 4, 5]
    """
    pairs = np.round(np.arange(old // 2) * (new / old)).astype(np.int64)
    return np.stack([2 * pairs, 2 * pairs + 1], axis=1).reshape(-1)


class _Growth:
    """Maps the weights of a model to those of a larger one."""

    def __init__(self, old: TransformerConfig, new: TransformerConfig, seed: int) -> None:
        self._old, self._new = old, new
        self._kept = features(old.d_model, new.d_model)
        self._random = np.random.default_rng(seed)

    def weight(self, path: str, value: Array) -> Array:
        """Return the new value of a weight other than the embeddings."""
        part = path.split("/")[-2]
        if part in ("query_key_value", "key_value", "query"):
            blocks = len(value.T) // self._old.d_model  # of width d: all heads together
            halves = [self._heads(block) for block in np.split(value, blocks, axis=-1)]
            if part != "key_value":  # the scale of products depends on the width of a head
                halves[0] = halves[0] * math.sqrt(self._new.key_size / self._old.key_size)
            value = np.concatenate(halves, axis=-1)
            return self._reads(value) if value.ndim == 2 else value
        if part == "output":  # reads the values of all heads
            return self._writes(self._heads(value.T).T if value.ndim == 2 else value)
        if part == "inner":
            return self._reads(self._units(value)) if value.ndim == 2 else self._units(value)
        if part == "outer":
            extra = self._new.feed_forward - self._old.feed_forward if value.ndim == 2 else 0
            return self._writes(np.pad(value, ((0, extra), (0, 0))) if extra else value)
        grown = self._writes(value)
        if not path.startswith("decoder_norm/"):
            return grown
        # The softmax multiplies old features by an embedding that is smaller now, new ones by 0.
        unread = np.zeros_like(grown)
        unread[self._kept] = value
        return unread * math.sqrt(self._new.d_model / self._old.d_model)

    def embedding(self, matrix: Array) -> Array:
        """Return embeddings [V, new d], scaled so that a vector times sqrt(d) is the same."""
        grown = self._writes(matrix)
        return grown * math.sqrt(self._old.d_model / self._new.d_model)

    def _writes(self, value: Array) -> Array:
        """Widen the last axis to the new d; new features get random numbers of the same size."""
        width = self._new.d_model
        grown = np.zeros((*value.shape[:-1], width), np.float32)
        new = np.setdiff1d(np.arange(width), self._kept)
        if len(new):
            like = self._random.integers(0, value.shape[-1], len(new))
            if value.ndim == 1:
                grown[new] = value[like]
            else:
                spread = value.std(axis=0)[like]
                grown[:, new] = self._random.normal(size=(len(value), len(new))) * spread
        grown[..., self._kept] = value
        return grown

    def _reads(self, value: Array) -> Array:
        """Widen the first axis to the new d; nothing is read from new features at first."""
        grown = np.zeros((self._new.d_model, value.shape[-1]), np.float32)
        grown[self._kept] = value
        return grown

    def _heads(self, value: Array) -> Array:
        """Widen each head of the last axis with zeros."""
        old, new = self._old, self._new
        split = value.reshape(*value.shape[:-1], old.heads, old.key_size)
        extra = ((0, 0),) * (split.ndim - 1) + ((0, new.key_size - old.key_size),)
        return np.pad(split, extra).reshape(*value.shape[:-1], new.heads * new.key_size)

    def _units(self, value: Array) -> Array:
        """Add hidden units of the feed-forward layer that read random mixtures."""
        extra = self._new.feed_forward - self._old.feed_forward
        if value.ndim == 1:
            return np.pad(value, (0, extra))
        like = value.std()
        added = self._random.normal(size=(len(value), extra)).astype(np.float32) * like
        return np.concatenate([value, added], axis=1)


def respelled(matrix: Array, old: Tokenizer, new: Tokenizer, seed: int) -> Array:
    """Return embeddings of the new tokenizer's pieces, [new V, d], from those of the old ones."""
    places = {piece: row for row, piece in enumerate(old.tokens(range(old.vocab_size)))}
    random = np.random.default_rng(seed)
    rows = []
    for piece in new.tokens(range(new.vocab_size)):
        if piece in places:
            rows.append(matrix[places[piece]])
            continue
        ids = old.encode([piece.replace(SPACE, " ").strip()])[0]
        tokens = old.tokens(ids)
        if not piece.startswith(SPACE) and tokens and tokens[0].startswith(SPACE):
            inner = tokens[0].removeprefix(SPACE)  # the piece continues a word
            ids = ([places[inner]] if inner in places else []) + ids[1:]
        if ids:
            rows.append(matrix[ids].mean(axis=0))
        else:
            rows.append(random.normal(size=matrix.shape[1]) * matrix.std())
    return np.stack(rows).astype(np.float32)


def grow(
    folder: Path,
    output: Path,
    layers: int = 0,
    d_model: int = 0,
    feed_forward: int = 0,
    tokenizer: Path | None = None,
) -> None:
    """Write the grown run; 0 and None: as in the old one.

    Raises:
        NmtError: the run cannot be read or grown in this way, or the new one exists.
    """
    run = Run.open(folder)
    old = run.recipe.model
    _check(folder, old)
    assert isinstance(old, TransformerConfig), "checked"
    new = replace(
        old,
        encoder_layers=layers or old.encoder_layers,
        d_model=d_model or old.d_model,
        feed_forward=feed_forward or old.feed_forward,
    )
    for key in ("encoder_layers", "d_model", "feed_forward"):
        if getattr(new, key) < getattr(old, key):
            reason = f"its model.{key} is {getattr(old, key)}, not less"
            raise NmtError(f"{folder}: {reason}", "give a larger one")
    if new.d_model % new.heads:
        raise NmtError(f"model.d_model = {d_model} is not a multiple of model.heads = {new.heads}")
    if new == old and not tokenizer:
        raise NmtError(f"{folder}: nothing to grow", "give a larger size or another tokenizer")
    if output.exists():
        raise NmtError(f"{output}: exists", "choose another name")
    import_keras()
    from nmt_cli.training.model import new_model

    arrays, progress = read_checkpoint(run.preferred)
    weights = inference_weights(arrays)
    matrix = weights["weights/target_embedding/matrix"]
    if tokenizer:
        before, after = (load_tokenizers(place) for place in (folder / "tokenizer", tokenizer))
        matrix = respelled(matrix, before.target, after.target, run.recipe.seed)
    recipe = replace(run.recipe, model=new)
    steps = progress.step + run.initial.get("steps", 0)
    initial = {"name": recipe.label, "steps": steps, "sources": run.provenance()["sources"]}
    growth = _Growth(old, new, recipe.seed)
    with replacing_folder(output, RUN) as work:
        grown = replace(
            run,
            source_vocab=len(matrix),
            target_vocab=len(matrix),
            folder=work,
            recipe=recipe,
            prepared_key="",
            pairs={},
            initial=initial,
        )
        grown.write(tokenizer or folder / "tokenizer", *run.held_out())
        model = new_model(grown)
        places = origins(old.encoder_layers, new.encoder_layers)
        for weight in model.weights:
            layer, _, rest = weight.path.partition("/")
            kept = True
            if layer.startswith("encoder_") and layer != "encoder_norm":
                place, kept = places[int(layer.removeprefix("encoder_"))]
                layer = f"encoder_{place}"
            path = f"{layer}/{rest}"
            if path == "target_embedding/matrix":
                value = growth.embedding(matrix)
            else:
                value = growth.weight(path, weights[f"weights/{path}"])
            weight.assign(value * (kept or not rest.startswith(ENDS)))
        save_checkpoint(grown.best, model, TrainingState())


def _check(folder: Path, old: Any) -> None:
    if old.architecture != "transformer" or (old.norm, old.positions) != ("pre", "sinusoidal"):
        reason = "a Transformer with model.norm = 'pre' and model.positions = 'sinusoidal'"
        raise NmtError(f"{folder}: its model is not {reason}")
    settings = old.embeddings, old.output_bias, old.decoder, old.key_dim, old.value_dim
    if settings != ("all", False, "attention", 0, 0) or old.activation == "swiglu":
        reason = "its embeddings, decoder, heads or activation are of a kind that cannot grow"
        raise NmtError(f"{folder}: {reason}")


def main() -> None:
    """Parse the command line and grow a run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--encoder-layers", type=int, default=0)
    parser.add_argument("--d-model", type=int, default=0)
    parser.add_argument("--feed-forward", type=int, default=0)
    parser.add_argument("--tokenizer", type=Path)
    options = parser.parse_args()
    sizes = options.encoder_layers, options.d_model, options.feed_forward
    try:
        grow(options.run, options.output, *sizes, options.tokenizer)
    except NmtError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
