"""Token-budget batches of token arrays: deterministic, seekable, with a bounded set of shapes.

Pairs of similar length are padded to a common width from the list below, with as many rows as the
budget allows, including padding. The order of an epoch depends only on the seed and the epoch's
number, so a position (epoch, index) is all that a checkpoint needs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID

# Differences grow with the width: padding stays near 10% with few shapes.
WIDTHS = (8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)


class TokenArray:
    """Read-only sequences of ids: one flat array and the offsets of its rows.

    Attributes:
        ids: int32 [tokens], all sequences concatenated.
        offsets: int64 [sequences + 1]; sequence i is ``ids[offsets[i]:offsets[i + 1]]``.
    """

    def __init__(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        self.ids = ids
        self.offsets = offsets

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> "TokenArray":
        """Pack sequences into one array in memory."""
        offsets = np.cumsum([0, *map(len, sequences)], dtype=np.int64)
        flat = (token for sequence in sequences for token in sequence)
        return cls(np.fromiter(flat, np.int32, int(offsets[-1])), offsets)

    @classmethod
    def open(cls, stem: Path) -> "TokenArray":
        """Map ``stem.ids.npy`` and ``stem.offsets.npy``.

        Raises:
            NmtError: a file is missing, truncated or not a token array.
        """
        try:
            ids = np.load(f"{stem}.ids.npy", mmap_mode="r", allow_pickle=False)
            offsets = np.load(f"{stem}.offsets.npy", allow_pickle=False)
            if (ids.dtype, offsets.dtype) != (np.int32, np.int64) or ids.shape != tuple(
                offsets[-1:]
            ):
                raise ValueError("not token arrays")
        except (OSError, ValueError, IndexError, EOFError) as error:
            raise NmtError(
                f"{stem}.*.npy: cannot be read ({error})", "run nmt prepare --force"
            ) from None
        return cls(ids, offsets)

    def save(self, stem: Path) -> None:
        """Write ``stem.ids.npy`` and ``stem.offsets.npy``."""
        np.save(f"{stem}.ids.npy", self.ids)
        np.save(f"{stem}.offsets.npy", self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each sequence, [sequences]."""
        return np.diff(self.offsets)


class Batch(NamedTuple):
    """One training batch; all arrays int32 [rows, width], padded with PAD.

    Attributes:
        source: as the tokenizer frames it (WordPiece: also START).
        target_in: START, then the sentence.
        target_out: the sentence, then END.
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
        weights: how often an epoch draws each pair, [pairs]: 2.3 is twice, and in three of ten
            epochs once more; None: once.
    """

    def __init__(
        self,
        source: TokenArray,
        target: TokenArray,
        batch_tokens: int,
        seed: int,
        copies: int = 1,
        longest: int = 0,
        weights: NDArray[np.float32] | None = None,
    ) -> None:
        self.source, self.target = source, target
        self.batch_tokens, self.seed, self.copies = batch_tokens, seed, copies
        self.weights = weights
        needed = np.maximum(source.lengths, target.lengths + 1)
        widest = int(needed.max(initial=max(longest, WIDTHS[0])))
        ladder = [*WIDTHS, *range(WIDTHS[-1] + 32, widest, 32)]
        self.widths = [each for each in ladder if each < widest] + [widest]
        self._bucket = np.searchsorted(self.widths, needed)
        self._by_length = np.argsort(needed, kind="stable")

    def epoch(self, epoch: int, share: float = 1.0) -> list[tuple[int, NDArray[np.int64]]]:
        """Return (width, row numbers) of each batch of an epoch, numbered from 0.

        With ``share``, only that share of the pairs is used, the shortest ones.
        """
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
            batches += [(width, rows[at : at + size]) for at in range(0, len(rows), size)]
        return [batches[index] for index in rng.permutation(len(batches))]

    def pairs_of(self, width: int) -> int:
        """Return the number of pairs in a full batch of this width."""
        return max(1, self.batch_tokens // (width * self.copies))

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
        return Batch(*(np.repeat(each, self.copies, axis=0) for each in batch))

    def once(self) -> Iterator[tuple[Position, Batch, Position]]:
        """Yield the batches of epoch 0, for validation, as :meth:`Epochs.from_` does."""
        for index, (width, rows) in enumerate(self.epoch(0)):
            yield Position(0, index), self.make(width, rows), Position(0, index + 1)

    def efficiency(self) -> float:
        """Return the share of target cells that are tokens, not padding, in one epoch."""
        batches = self.epoch(0)
        cells = sum(self.pairs_of(width) * width for width, _ in batches)
        return sum(int((self.target.lengths[rows] + 1).sum()) for _, rows in batches) / cells
