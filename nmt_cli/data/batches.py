"""Token-budget batches: deterministic, seekable, of a bounded set of shapes.

Pairs of like length are padded to a common width of the ladder below, and as many rows are
taken as the budget allows, padding included. The order of an epoch depends on the seed and
the epoch's number alone, so a position (epoch, index) is all that a checkpoint needs.
"""

import functools
import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.arrays import TokenArray
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID

# Steps grow with the width, so that padding stays near 10% with few shapes.
LADDER = (8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)


@dataclass(frozen=True)
class Batch:
    """One training batch; all arrays int32, padded with PAD.

    Attributes:
        source: [rows, width], framed as the tokenizer wants it.
        target_in: [rows, width], START then the sentence.
        target_out: [rows, width], the sentence then END.
    """

    source: NDArray[np.int32]
    target_in: NDArray[np.int32]
    target_out: NDArray[np.int32]


@dataclass(frozen=True)
class Position:
    """The next batch to come: its epoch and its index in that epoch's order."""

    epoch: int = 0
    index: int = 0


class Batches:
    """All batches of a parallel corpus.

    Args:
        source: framed source sequences.
        target: target sequences without START and END.
        batch_tokens: budget: rows times width, padding included, of either side.
        seed: of the order.
        copies: of each pair, in rows behind one another, within the budget.
        longest: a width to go up to even if no pair needs it, as those of another epoch may.
    """

    def __init__(
        self,
        source: TokenArray,
        target: TokenArray,
        batch_tokens: int,
        seed: int,
        copies: int = 1,
        longest: int = 0,
    ) -> None:
        self.source, self.target = source, target
        self.batch_tokens, self.seed, self.copies = batch_tokens, seed, copies
        needed = np.maximum(source.lengths, target.lengths + 1)
        self.widths = _widths(int(needed.max(initial=max(longest, LADDER[0]))))
        self._bucket = np.searchsorted(self.widths, needed)
        self._by_length = np.argsort(needed, kind="stable")

    def epoch(self, epoch: int, share: float = 1.0) -> list[tuple[int, NDArray[np.int64]]]:
        """The order of one epoch: (width, row numbers) of each batch.

        Args:
            epoch: its number, from 0.
            share: of the pairs, the shortest, that take part.
        """
        rng = np.random.default_rng([self.seed, epoch])
        taking_part = np.zeros(len(self.source), bool)
        taking_part[self._by_length[: math.ceil(share * len(self.source))]] = True
        order = rng.permutation(len(self.source))
        order = order[taking_part[order]]
        batches = []
        for bucket, width in enumerate(self.widths):
            rows = order[self._bucket[order] == bucket]
            size = self.pairs_of(int(width))
            batches += [(int(width), rows[at : at + size]) for at in range(0, len(rows), size)]
        return [batches[index] for index in rng.permutation(len(batches))]

    def pairs_of(self, width: int) -> int:
        """Pairs of a full batch of this width."""
        return max(1, self.batch_tokens // (width * self.copies))

    def steps_per_epoch(self) -> int:
        """Batches in an epoch of all pairs."""
        counts = np.bincount(self._bucket, minlength=len(self.widths))
        return sum(
            -(-int(count) // self.pairs_of(int(width)))
            for count, width in zip(counts, self.widths, strict=True)
        )

    def make(self, width: int, rows: NDArray[np.int64]) -> Batch:
        """Pad the given pairs to one batch of the bucket's full shape."""
        shape = (self.pairs_of(width), width)
        batch = Batch(*(np.full(shape, PAD_ID, np.int32) for _ in range(3)))
        for at, row in enumerate(rows):
            source, target = self.source[row], self.target[row]
            batch.source[at, : len(source)] = source
            batch.target_in[at, 0] = START_ID
            batch.target_in[at, 1 : len(target) + 1] = target
            batch.target_out[at, : len(target)] = target
            batch.target_out[at, len(target)] = END_ID
        if self.copies == 1:
            return batch
        sides = (batch.source, batch.target_in, batch.target_out)
        return Batch(*(np.repeat(each, self.copies, axis=0) for each in sides))

    def once(self) -> Iterator[tuple[Position, Batch, Position]]:
        """Every pair once, in the order of epoch 0: for validation. As :meth:`Epochs.from_`."""
        for index, (width, rows) in enumerate(self.epoch(0)):
            yield Position(0, index), self.make(width, rows), Position(0, index + 1)

    def efficiency(self) -> float:
        """Share of target cells that hold a token rather than padding, over one epoch."""
        cells = sum(self.pairs_of(width) * width for width, _ in self.epoch(0))
        return float((self.target.lengths + 1).sum()) / cells


class Epochs:
    """The batches of a training, epoch after epoch, from any position on.

    Args:
        batches: of an epoch's number: the same each time, or of text split anew.
        curriculum: epochs until the longest pairs take part; before, a share of the pairs, the
            shortest, that grows with the root of the epoch's number (Platanios et al. 2019,
            https://arxiv.org/abs/1903.09848, equation 7, with an initial competence of 0.1).
    """

    def __init__(self, batches: Callable[[int], Batches], curriculum: int = 0) -> None:
        self._batches = functools.lru_cache(maxsize=1)(batches)
        self._lock = threading.Lock()
        self._curriculum = curriculum

    def batches(self, epoch: int) -> Batches:
        """Those of an epoch. Only one thread makes them: subwords are drawn by a global seed."""
        with self._lock:
            return self._batches(epoch)

    def share(self, epoch: int) -> float:
        """How many of the pairs take part in an epoch, in (0, 1]."""
        if epoch >= self._curriculum:
            return 1.0
        return math.sqrt(epoch / self._curriculum * (1 - 0.1**2) + 0.1**2)

    def order(self, epoch: int) -> list[tuple[int, NDArray[np.int64]]]:
        """(width, row numbers) of each batch of an epoch."""
        return self.batches(epoch).epoch(epoch, self.share(epoch))

    def rows(self, at: Position) -> list[int]:
        """The pairs of one batch."""
        return self.order(at.epoch)[at.index][1].tolist()

    def from_(self, start: Position) -> Iterator[tuple[Position, Batch, Position]]:
        """Training batches without end: (position, batch, the next position) of each."""
        epoch, index = start.epoch, start.index
        while True:
            batches, order = self.batches(epoch), self.order(epoch)
            for at in range(index, len(order)):
                last = at + 1 == len(order)
                following = Position(epoch + 1, 0) if last else Position(epoch, at + 1)
                yield Position(epoch, at), batches.make(*order[at]), following
            epoch, index = epoch + 1, 0


def _widths(longest: int) -> NDArray[np.int64]:
    """The ladder as far as it is needed; its last step is the longest sequence itself."""
    ladder = [*LADDER, *range(LADDER[-1] + 32, longest, 32)]
    return np.array([width for width in ladder if width < longest] + [longest], np.int64)
