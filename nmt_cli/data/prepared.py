"""Prepared data: a folder of token arrays and text, from ``nmt prepare`` to ``nmt train``.

prepared.json   format version, key, settings, languages, test sets, counts, pairs of each corpus
tokenizer/      learned from the training text
SPLIT.SIDE.*    token arrays of "train" and "dev", source and target
train.weights.npy  weights of the training pairs, if the recipe has data.weights
NAME.LANG.txt   plain text of train, dev and the test sets
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.corpus import Corpus
from nmt_cli.errors import ModelError
from nmt_cli.files import read_record
from nmt_cli.text.lines import read_lines
from nmt_cli.text.tokenizer import TokenizerPair, load_tokenizers

PREPARED = "prepared.json"
WEIGHTS = "train.weights.npy"
FORMAT = 2


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
        """Map ``stem.ids.npy`` and ``stem.offsets.npy``."""
        try:
            ids = np.load(f"{stem}.ids.npy", mmap_mode="r", allow_pickle=False)
            offsets = np.load(f"{stem}.offsets.npy", allow_pickle=False)
            if (ids.dtype, offsets.dtype) != (np.int32, np.int64) or ids.shape != tuple(
                offsets[-1:]
            ):
                raise ValueError("not token arrays")
        except (OSError, ValueError, IndexError, EOFError) as error:
            reason = f"{stem}.*.npy: cannot be read ({error})"
            raise ModelError(reason, "run nmt prepare --force") from None
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


@dataclass(frozen=True)
class Prepared:
    """A prepared folder: arrays of the training and development pairs, text of all sets.
    ``key`` hashes its texts and their settings, ``settings`` what is known without the texts,
    ``pairs`` counts the training pairs of each corpus."""

    key: str
    languages: tuple[str, str]
    tests: tuple[str, ...]
    pairs: dict[str, int]
    settings: str = ""  # in folders of earlier versions
    folder: Path = Path()  # not in prepared.json

    @classmethod
    def open(cls, folder: Path) -> "Prepared":
        """Open a folder that ``nmt prepare`` wrote."""
        remedy = "run nmt prepare --force"
        record = read_record(folder / PREPARED, cls, FORMAT, "a prepared folder", remedy)
        return replace(record, folder=folder)

    def tokenizers(self) -> TokenizerPair:
        """Load the tokenizers."""
        return load_tokenizers(self.folder / "tokenizer")

    def arrays(self, split: str) -> tuple[TokenArray, TokenArray]:
        """Open the arrays of "train" or "dev", source with special tokens and target without."""
        source, target = (self.folder / f"{split}.{side}" for side in ("source", "target"))
        return TokenArray.open(source), TokenArray.open(target)

    def weights(self) -> NDArray[np.float32] | None:
        """Return how often an epoch draws each training pair; None: once."""
        path = self.folder / WEIGHTS
        try:
            return np.load(path, allow_pickle=False) if path.exists() else None
        except (OSError, ValueError, EOFError) as error:
            raise ModelError(f"{path}: damaged ({error})", "run nmt prepare --force") from None

    def text(self, name: str) -> Corpus:
        """Read the text of "train" (the pairs in the arrays), "dev" or one of ``tests``."""
        source, target = (
            read_lines(self.folder / f"{name}.{language}.txt") for language in self.languages
        )
        return Corpus(name, source, target)
