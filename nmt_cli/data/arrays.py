"""Sequences of token ids on disk, memory-mapped."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError


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
        lengths = np.fromiter((len(each) for each in sequences), np.int64, len(sequences))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
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
        except (OSError, ValueError, EOFError) as error:
            raise NmtError(
                f"{stem}.*.npy: cannot be read ({error})", "run nmt prepare --force"
            ) from None
        flat = (ids.ndim, offsets.ndim) == (1, 1) and len(offsets) > 0
        types = (ids.dtype, offsets.dtype) == (np.int32, np.int64)
        if not flat or not types or offsets[-1] != len(ids):
            raise NmtError(f"{stem}.*.npy: not token arrays", "run nmt prepare --force")
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
