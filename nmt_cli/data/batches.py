"""Token-budget batches of token arrays: deterministic, seekable, with a bounded set of shapes.

Pairs of similar length are padded to a common width from WIDTHS, with as many rows as the token
budget allows, including padding. The order of an epoch depends only on the seed and the epoch's
number, so a position (epoch, index) is all that a checkpoint needs.

With training.sample_subwords, each epoch draws different subwords (subword regularization for
unigram models, BPE-dropout for BPE), which depend only on the seed and the epoch.
"""

import functools
import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.prepared import Prepared, TokenArray
from nmt_cli.recipe.config import Recipe
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID

# The steps grow with the width: padding stays near 10% with few shapes.
WIDTHS = (8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)


class Batch(NamedTuple):
    """One training batch; all arrays int32 [rows, width], padded with PAD.
    ``target_in`` is START and the sentence, ``target_out`` the sentence and END."""

    source: NDArray[np.int32]
    target_in: NDArray[np.int32]
    target_out: NDArray[np.int32]


@dataclass(frozen=True)
class Position:
    """Position of a batch: its epoch and its index in that epoch's order."""

    epoch: int = 0
    index: int = 0


class Batches:
    """All batches of a parallel corpus, source with special tokens and target without.

    Args:
        batch_tokens: maximum rows times width, including padding, of either side.
        copies: consecutive rows per pair, within the budget.
        max_width: the largest width even if no pair needs it: pairs of another epoch may.
        weights: how often an epoch draws each pair; 2.3: twice, and a third time with
            probability 0.3. None: once.
    """

    def __init__(
        self,
        source: TokenArray,
        target: TokenArray,
        batch_tokens: int,
        seed: int,
        copies: int = 1,
        max_width: int = 0,
        weights: NDArray[np.float32] | None = None,
    ) -> None:
        self.source, self.target = source, target
        self.batch_tokens, self.seed, self.copies = batch_tokens, seed, copies
        self.weights = weights
        needed = np.maximum(source.lengths, target.lengths + 1)
        widest = int(needed.max(initial=max(max_width, WIDTHS[0])))
        widths = [*WIDTHS, *range(WIDTHS[-1] + 32, widest, 32)]
        self.widths = [width for width in widths if width < widest] + [widest]
        self._bucket = np.searchsorted(self.widths, needed)
        self._by_length = np.argsort(needed, kind="stable")

    def order(self, epoch: int, share: float = 1.0) -> list[tuple[int, NDArray[np.int64]]]:
        """Return (width, row numbers) of an epoch's batches, of a share of the shortest pairs."""
        rng = np.random.default_rng([self.seed, epoch])
        used = np.zeros(len(self.source), bool)
        used[self._by_length[: math.ceil(share * len(self.source))]] = True
        rows = np.arange(len(self.source))
        if self.weights is not None:
            rows = np.repeat(rows, (self.weights + rng.random(len(rows))).astype(np.int64))
        order = rng.permutation(rows)
        order = order[used[order]]
        batches = []
        for bucket, width in enumerate(self.widths):
            rows = order[self._bucket[order] == bucket]
            size = self.pairs_of(width)
            batches += [(width, rows[start : start + size]) for start in range(0, len(rows), size)]
        return [batches[index] for index in rng.permutation(len(batches))]

    def pairs_of(self, width: int) -> int:
        """Return the number of pairs in a full batch of this width."""
        return max(1, self.batch_tokens // (width * self.copies))

    def make(self, width: int, rows: NDArray[np.int64]) -> Batch:
        """Make a batch of the given pairs, padded to the full shape of its width."""
        shape = (self.pairs_of(width), width)
        batch = Batch(*(np.full(shape, PAD_ID, np.int32) for _ in range(3)))
        for index, row in enumerate(rows):
            source, target = self.source[row], self.target[row]
            batch.source[index, : len(source)] = source
            batch.target_in[index, 0] = START_ID
            batch.target_in[index, 1 : len(target) + 1] = target
            batch.target_out[index, : len(target)] = target
            batch.target_out[index, len(target)] = END_ID
        return Batch(*(np.repeat(side, self.copies, axis=0) for side in batch))

    def once(self) -> Iterator[tuple[Position, Batch, Position]]:
        """Yield the batches of epoch 0, for validation, as :meth:`Epochs.starting_at` does."""
        for index, (width, rows) in enumerate(self.order(0)):
            yield Position(0, index), self.make(width, rows), Position(0, index + 1)

    def efficiency(self) -> float:
        """Return the share of target cells that are tokens, not padding, in one epoch."""
        batches = self.order(0)
        cells = sum(self.pairs_of(width) * width for width, _ in batches)
        return sum(int((self.target.lengths[rows] + 1).sum()) for _, rows in batches) / cells


class Epochs:
    """The batches of a training, epoch by epoch, from any position.

    The first ``curriculum`` epochs use only the shorter pairs, whose share grows with the square
    root of the epoch's number (Platanios et al. 2019, https://arxiv.org/abs/1903.09848, equation 7,
    with an initial competence of 0.1).
    """

    def __init__(self, batches: Callable[[int], Batches], curriculum: int = 0) -> None:
        self._batches = functools.lru_cache(maxsize=1)(batches)
        self._lock = threading.Lock()
        self._curriculum = curriculum

    def batches(self, epoch: int) -> Batches:
        """Return the batches of an epoch. One thread at a time makes them: sampling has a global
        seed."""
        with self._lock:
            return self._batches(epoch)

    def share(self, epoch: int) -> float:
        """Return the share of the pairs that an epoch uses, in (0, 1]."""
        if epoch >= self._curriculum:
            return 1.0
        return math.sqrt(epoch / self._curriculum * (1 - 0.1**2) + 0.1**2)

    def order(self, epoch: int) -> list[tuple[int, NDArray[np.int64]]]:
        """Return (width, row numbers) of each batch of an epoch."""
        return self.batches(epoch).order(epoch, self.share(epoch))

    def starting_at(self, start: Position) -> Iterator[tuple[Position, Batch, Position]]:
        """Yield (position, batch, next position) of the training batches, endlessly."""
        epoch, index = start.epoch, start.index
        while True:
            batches, order = self.batches(epoch), self.order(epoch)
            while index < len(order):
                is_last = index + 1 == len(order)
                following = Position(epoch + 1, 0) if is_last else Position(epoch, index + 1)
                yield Position(epoch, index), batches.make(*order[index]), following
                index += 1
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
        """Draw subwords of lines; a sample of more than ``limit`` tokens is not used.
        Lines that are longer anyway are trimmed."""
        assert isinstance(tokenizer, SentencePieceTokenizer), "recipe rules refuse others"
        drawn = tokenizer.sample(lines, config.sample_subwords, seed * 1_000_003 + number)
        pairs = zip(drawn, tokenizer.encode(lines), strict=True)
        return [ids if len(ids) + 1 <= limit else default[: limit - 1] for ids, default in pairs]

    def sampled(epoch: int) -> Batches:
        sources = sample(tokenizers.source, text.source, 2 * epoch)
        targets = sample(tokenizers.target, text.target, 2 * epoch + 1)
        framed = [tokenizers.source.with_special_tokens(ids) for ids in sources]
        # The longest pair differs between epochs, and each new width would be compiled.
        arrays = TokenArray.of(framed), TokenArray.of(targets)
        return Batches(*arrays, config.batch_tokens, seed, config.copies, limit, weights)

    return Epochs(sampled, config.curriculum)
