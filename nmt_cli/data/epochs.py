"""The training batches of a recipe, epoch by epoch.

With training.sample_subwords each epoch draws other subwords (subword regularization for unigram
models, BPE-dropout for BPE), which depend only on the seed and the epoch.
"""

import functools
import math
import threading
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.batches import Batch, Batches, Position, TokenArray
from nmt_cli.data.prepared import Prepared
from nmt_cli.recipe.config import Recipe
from nmt_cli.text.sentence_piece import SentencePieceTokenizer


class Epochs:
    """The batches of a training, epoch by epoch, from any position.

    Args:
        batches: returns the batches of an epoch, given its number.
        curriculum: epochs until the longest pairs are used; before, the share of shorter pairs
            grows with the root of the epoch's number (Platanios et al. 2019,
            https://arxiv.org/abs/1903.09848, equation 7, with an initial competence of 0.1).
    """

    def __init__(self, batches: Callable[[int], Batches], curriculum: int = 0) -> None:
        self._batches = functools.lru_cache(maxsize=1)(batches)
        self._lock = threading.Lock()
        self._curriculum = curriculum

    def batches(self, epoch: int) -> Batches:
        """Return those of an epoch, in one thread at a time: sampling has a global seed."""
        with self._lock:
            return self._batches(epoch)

    def share(self, epoch: int) -> float:
        """Return the share of the pairs that an epoch uses, in (0, 1]."""
        if epoch >= self._curriculum:
            return 1.0
        return math.sqrt(epoch / self._curriculum * (1 - 0.1**2) + 0.1**2)

    def order(self, epoch: int) -> list[tuple[int, NDArray[np.int64]]]:
        """Return (width, row numbers) of each batch of an epoch."""
        return self.batches(epoch).epoch(epoch, self.share(epoch))

    def from_(self, start: Position) -> Iterator[tuple[Position, Batch, Position]]:
        """Yield (position, batch, next position) of the training batches, endlessly."""
        epoch, index = start.epoch, start.index
        while True:
            batches, order = self.batches(epoch), self.order(epoch)
            for at in range(index, len(order)):
                last = at + 1 == len(order)
                following = Position(epoch + 1, 0) if last else Position(epoch, at + 1)
                yield Position(epoch, at), batches.make(*order[at]), following
            epoch, index = epoch + 1, 0


def training_batches(recipe: Recipe, prepared: Prepared) -> Epochs:
    """Return the training batches of a recipe from its prepared data."""
    config, seed, weights = recipe.training, recipe.seed, prepared.weights()
    if not config.sample_subwords:
        arrays = prepared.arrays("train")
        fixed = Batches(*arrays, config.batch_tokens, seed, config.copies, weights=weights)
        return Epochs(lambda epoch: fixed, config.curriculum)
    text, tokenizers = prepared.text("train"), prepared.tokenizers()
    limit = recipe.data.max_tokens

    def sample(tokenizer: object, lines: list[str], number: int) -> list[list[int]]:
        """Draw subwords of lines; a sample of more than ``limit`` tokens is not used."""
        assert isinstance(tokenizer, SentencePieceTokenizer), "recipe rules refuse others"
        drawn = tokenizer.sample(lines, config.sample_subwords, seed * 1_000_003 + number)
        pairs = zip(drawn, tokenizer.encode(lines), strict=True)
        return [ids if len(ids) + 1 <= limit else usual for ids, usual in pairs]

    def sampled(epoch: int) -> Batches:
        sources = sample(tokenizers.source, text.source, 2 * epoch)
        targets = sample(tokenizers.target, text.target, 2 * epoch + 1)
        framed = TokenArray.of([tokenizers.source.frame_source(ids) for ids in sources])
        # The longest pair differs between epochs, and each new width would be compiled.
        arrays = framed, TokenArray.of(targets)
        return Batches(*arrays, config.batch_tokens, seed, config.copies, limit, weights)

    return Epochs(sampled, config.curriculum)
