"""Prepared data: a folder of token arrays and text, from ``nmt prepare`` to ``nmt train``.

prepared.json   format version, key, languages, names of the test sets, counts, pairs of each corpus
tokenizer/      learned from the training text
SPLIT.SIDE.*    token arrays of "train" and "dev", source and target
train.weights.npy  of the training pairs, if the recipe has data.weights
NAME.LANG.txt   plain text of train, dev and the test sets
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from nmt_cli.data.batches import TokenArray
from nmt_cli.data.corpus import Corpus
from nmt_cli.errors import NmtError
from nmt_cli.files import read_record
from nmt_cli.text.folder import load_tokenizers
from nmt_cli.text.lines import read_lines
from nmt_cli.text.tokenizer import TokenizerPair

PREPARED = "prepared.json"
WEIGHTS = "train.weights.npy"
FORMAT = 2  # 2: with the training text, for subword sampling and for messages


class _Record(TypedDict):
    """The content of prepared.json that training needs."""

    key: str
    languages: tuple[str, str]
    tests: tuple[str, ...]
    pairs: dict[str, int]


@dataclass(frozen=True)
class Prepared:
    """A prepared folder: arrays of the training and development pairs, text of all sets.

    Attributes:
        key: hash of the texts and settings that the folder was made from.
        languages: source and target language.
        tests: names of the test sets.
        pairs: number of training pairs from each corpus.
    """

    folder: Path
    key: str
    languages: tuple[str, str]
    tests: tuple[str, ...]
    pairs: dict[str, int]

    @classmethod
    def open(cls, folder: Path) -> "Prepared":
        """Open a folder that ``nmt prepare`` wrote.

        Raises:
            NmtError: the folder is missing, damaged, or of a newer format.
        """
        remedy = "run nmt prepare --force"
        return cls(
            folder, **read_record(folder / PREPARED, _Record, FORMAT, "a prepared folder", remedy)
        )

    def tokenizers(self) -> TokenizerPair:
        """Load the tokenizers."""
        return load_tokenizers(self.folder / "tokenizer")

    def arrays(self, split: str) -> tuple[TokenArray, TokenArray]:
        """Open the source (framed) and target arrays of "train" or "dev"."""
        stem = self.folder / split
        sides = (stem.with_suffix(".source"), stem.with_suffix(".target"))
        return TokenArray.open(sides[0]), TokenArray.open(sides[1])

    def weights(self) -> NDArray[np.float32] | None:
        """How often an epoch draws each training pair; None: once."""
        path = self.folder / WEIGHTS
        try:
            return np.load(path, allow_pickle=False) if path.exists() else None
        except (OSError, ValueError, EOFError) as error:
            raise NmtError(f"{path}: damaged ({error})", "run nmt prepare --force") from None

    def text(self, name: str) -> Corpus:
        """Read the text of "train" (the pairs in the arrays), "dev" or one of ``tests``."""
        source, target = (
            read_lines(self.folder / f"{name}.{language}.txt") for language in self.languages
        )
        return Corpus(name, source, target)
