"""Token-budget batches: deterministic, seekable, of a bounded set of shapes.

Pairs of like length are padded to a common width of the ladder below, and as many rows are
taken as the budget allows, padding included. The order of an epoch depends on the seed and
the epoch's number alone, so a position (epoch, index) is all that a checkpoint needs.
"""

from collections.abc import Iterator
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
    """

    def __init__(
        self, source: TokenArray, target: TokenArray, batch_tokens: int, seed: int
    ) -> None:
        self.source, self.target = source, target
        self.batch_tokens, self.seed = batch_tokens, seed
        needed = np.maximum(source.lengths, target.lengths + 1)
        self.widths = _widths(int(needed.max(initial=LADDER[0])))
        self._bucket = np.searchsorted(self.widths, needed)

    def epoch(self, epoch: int) -> list[tuple[int, NDArray[np.int64]]]:
        """The order of one epoch: (width, row numbers) of each batch."""
        rng = np.random.default_rng([self.seed, epoch])
        order = rng.permutation(len(self.source))
        batches = []
        for bucket, width in enumerate(self.widths):
            rows = order[self._bucket[order] == bucket]
            size = self.rows_of(int(width))
            batches += [(int(width), rows[at : at + size]) for at in range(0, len(rows), size)]
        return [batches[index] for index in rng.permutation(len(batches))]

    def rows_of(self, width: int) -> int:
        """Rows of a full batch of this width."""
        return max(1, self.batch_tokens // width)

    def steps_per_epoch(self) -> int:
        """Batches in each epoch."""
        counts = np.bincount(self._bucket, minlength=len(self.widths))
        return sum(
            -(-int(count) // self.rows_of(int(width)))
            for count, width in zip(counts, self.widths, strict=True)
        )

    def make(self, width: int, rows: NDArray[np.int64]) -> Batch:
        """Pad the given pairs to one batch of the bucket's full shape."""
        shape = (self.rows_of(width), width)
        batch = Batch(*(np.full(shape, PAD_ID, np.int32) for _ in range(3)))
        for at, row in enumerate(rows):
            source, target = self.source[row], self.target[row]
            batch.source[at, : len(source)] = source
            batch.target_in[at, 0] = START_ID
            batch.target_in[at, 1 : len(target) + 1] = target
            batch.target_out[at, : len(target)] = target
            batch.target_out[at, len(target)] = END_ID
        return batch

    def once(self) -> Iterator[Batch]:
        """Every pair once, in the order of epoch 0: for validation."""
        for width, rows in self.epoch(0):
            yield self.make(width, rows)

    def forever(self, start: Position) -> Iterator[Batch]:
        """Training batches without end, from a position on."""
        epoch, index = start.epoch, start.index
        while True:
            for width, rows in self.epoch(epoch)[index:]:
                yield self.make(width, rows)
            epoch, index = epoch + 1, 0

    def advance(self, start: Position, steps: int) -> Position:
        """The position after so many more batches."""
        total = start.index + steps
        per_epoch = self.steps_per_epoch()
        return Position(start.epoch + total // per_epoch, total % per_epoch)

    def efficiency(self) -> float:
        """Share of target cells that hold a token rather than padding, over one epoch."""
        cells = sum(self.rows_of(width) * width for width, _ in self.epoch(0))
        return float((self.target.lengths + 1).sum()) / cells


def _widths(longest: int) -> NDArray[np.int64]:
    """The ladder as far as it is needed; its last step is the longest sequence itself."""
    ladder = [*LADDER, *range(LADDER[-1] + 32, longest, 32)]
    return np.array([width for width in ladder if width < longest] + [longest], np.int64)
