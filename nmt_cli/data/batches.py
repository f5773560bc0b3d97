"""Token-budget batches: deterministic, seekable, with a bounded set of shapes.

Pairs of similar length are padded to a common width from the list below, with as many rows as the
budget allows, including padding. The order of an epoch depends only on the seed and the epoch's
number, so a position (epoch, index) is all that a checkpoint needs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.arrays import TokenArray
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID

# Differences grow with the width: padding stays near 10% with few shapes.
WIDTHS = (8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)


@dataclass(frozen=True)
class Batch:
    """One training batch; all arrays int32, padded with PAD.

    Attributes:
        source: [rows, width], as the tokenizer frames it (WordPiece: also START).
        target_in: [rows, width], START then the sentence.
        target_out: [rows, width], the sentence then END.
    """

    source: NDArray[np.int32]
    target_in: NDArray[np.int32]
    target_out: NDArray[np.int32]


@dataclass(frozen=True)
class Position:
    """Position of a batch: its epoch and its index in that epoch's order."""

    epoch: int = 0
    index: int = 0


class Batches:
    """All batches of a parallel corpus.

    Args:
        source: framed source sequences.
        target: target sequences without START and END.
        batch_tokens: maximum rows times width, including padding, of either side.
        seed: random seed of the order.
        copies: consecutive rows per pair, within the budget.
        longest: the largest width, even if no pair needs it, as pairs of another epoch may.
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
        self.widths = _widths(int(needed.max(initial=max(longest, WIDTHS[0]))))
        self._bucket = np.searchsorted(self.widths, needed)
        self._by_length = np.argsort(needed, kind="stable")

    def epoch(self, epoch: int, share: float = 1.0) -> list[tuple[int, NDArray[np.int64]]]:
        """Return (width, row numbers) of each batch of an epoch.

        Args:
            epoch: number of the epoch, from 0.
            share: share of the pairs to use, the shortest ones.
        """
        rng = np.random.default_rng([self.seed, epoch])
        used = np.zeros(len(self.source), bool)
        used[self._by_length[: math.ceil(share * len(self.source))]] = True
        order = rng.permutation(len(self.source))
        order = order[used[order]]
        batches = []
        for bucket, width in enumerate(self.widths):
            rows = order[self._bucket[order] == bucket]
            size = self.pairs_of(int(width))
            batches += [(int(width), rows[at : at + size]) for at in range(0, len(rows), size)]
        return [batches[index] for index in rng.permutation(len(batches))]

    def pairs_of(self, width: int) -> int:
        """Return the number of pairs in a full batch of this width."""
        return max(1, self.batch_tokens // (width * self.copies))

    def steps_per_epoch(self) -> int:
        """Return the number of batches in an epoch of all pairs."""
        counts = np.bincount(self._bucket, minlength=len(self.widths))
        return sum(
            -(-int(count) // self.pairs_of(int(width)))
            for count, width in zip(counts, self.widths, strict=True)
        )

    def make(self, width: int, rows: NDArray[np.int64]) -> Batch:
        """Make a batch of the given pairs, padded to the full shape of its width."""
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
        """Yield the batches of epoch 0, for validation, as :meth:`Epochs.from_` does."""
        for index, (width, rows) in enumerate(self.epoch(0)):
            yield Position(0, index), self.make(width, rows), Position(0, index + 1)

    def efficiency(self) -> float:
        """Return the share of target cells that are tokens, not padding, in one epoch."""
        cells = sum(self.pairs_of(width) * width for width, _ in self.epoch(0))
        return float((self.target.lengths + 1).sum()) / cells


def _widths(longest: int) -> NDArray[np.int64]:
    """Return the widths up to the longest sequence, which is the last one."""
    widths = [*WIDTHS, *range(WIDTHS[-1] + 32, longest, 32)]
    return np.array([width for width in widths if width < longest] + [longest], np.int64)
