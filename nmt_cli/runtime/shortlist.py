"""Vocabulary shortlists: the only target tokens that a sentence's translation is made of.

Every sentence has exactly N: those that the bundle always allows, then the translations of the
sentence's tokens, the most probable of each first, then the most frequent. They depend on nothing
but the sentence.

The bundle's LEXICON has ids only, unsigned and little-endian: N in the order in which they fill a
shortlist, and a row of translations for each source id.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt_cli.bundle import LEXICON
from nmt_cli.bundle.manifest import Manifest, id_bytes
from nmt_cli.errors import ModelError
from nmt_cli.text.tokenizer import PAD_ID

# Tokens that every shortlist has: the first ones of the file.
ALWAYS = 64

Ids = NDArray[np.int32]


class Shortlists:
    """The shortlists of sentences.

    Args:
        filling: [N] different ids.
        translations: [source ids, translations].
    """

    def __init__(self, filling: Ids, translations: Ids, vocab_size: int) -> None:
        self.size = len(filling)
        self._first, self._last = filling[:ALWAYS], filling[ALWAYS:]
        self._translations, self._vocab_size = translations, vocab_size

    @classmethod
    def read(cls, folder: Path, manifest: Manifest) -> "Shortlists":
        """Read a bundle's file, of the size that the manifest says."""
        shortlist, vocab_size = manifest.shortlist, manifest.vocabulary["target"]
        assert shortlist is not None
        ids = np.fromfile(folder / LEXICON, f"<u{id_bytes(vocab_size)}")
        filling, table = ids[: shortlist.size], ids[shortlist.size :]
        if len(np.unique(filling)) < shortlist.size or ids.max() >= vocab_size:
            raise ModelError(f"{folder / LEXICON}: not a list of tokens", "export the bundle again")
        rows = table.reshape(-1, shortlist.translations)
        return cls(filling.astype(np.int32), rows.astype(np.int32), vocab_size)

    def write(self, folder: Path) -> None:
        """Write a bundle's file."""
        ids = np.concatenate([self._first, self._last, self._translations.ravel()])
        ids.astype(f"<u{id_bytes(self._vocab_size)}").tofile(folder / LEXICON)

    def of(self, source: Ids) -> Ids:
        """Return the shortlist, ascending, of each sentence of [B, S] padded with PAD: [B, N]."""
        shortlists = np.empty((len(source), self.size), np.int32)
        first = np.empty(self._vocab_size, np.int32)  # positions of ids
        for row, sentence in zip(shortlists, source, strict=True):
            translations = self._translations[sentence[sentence != PAD_ID]].T.ravel()
            ids = np.concatenate([self._first, translations, self._last])
            order = np.arange(len(ids), dtype=np.int32)
            first[ids[::-1]] = order[::-1]  # an id that occurs twice keeps its first position
            row[:] = np.sort(ids[first[ids] == order][: self.size])
        return shortlists
