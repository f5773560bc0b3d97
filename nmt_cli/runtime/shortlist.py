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
from nmt_cli.errors import NmtError
from nmt_cli.text.tokenizer import PAD_ID

# Tokens that every shortlist has: the first ones of the file.
ALWAYS = 64

Ids = NDArray[np.int32]


class Shortlists:
    """The shortlists of sentences.

    Args:
        filling: [N] different ids.
        translations: [source ids, translations].
        vocab_size: V, of the target side.
    """

    def __init__(self, filling: Ids, translations: Ids, vocab_size: int) -> None:
        self.size = len(filling)
        self._first, self._last = filling[:ALWAYS], filling[ALWAYS:]
        self._translations, self._vocab_size = translations, vocab_size

    @classmethod
    def read(cls, folder: Path, manifest: Manifest) -> "Shortlists":
        """Read a bundle's file, of the size that the manifest says.

        Raises:
            NmtError: the file has ids outside the vocabulary, or one twice.
        """
        short, vocab_size = manifest.shortlist, manifest.vocabulary["target"]
        assert short is not None
        ids = np.fromfile(folder / LEXICON, f"<u{id_bytes(vocab_size)}")
        filling, table = ids[: short.size], ids[short.size :]
        if len(np.unique(filling)) < short.size or ids.max() >= vocab_size:
            raise NmtError(f"{folder / LEXICON}: not a list of tokens", "export the bundle again")
        rows = table.reshape(-1, short.translations)
        return cls(filling.astype(np.int32), rows.astype(np.int32), vocab_size)

    def write(self, folder: Path) -> None:
        """Write a bundle's file."""
        ids = np.concatenate([self._first, self._last, self._translations.ravel()])
        ids.astype(f"<u{id_bytes(self._vocab_size)}").tofile(folder / LEXICON)

    def of(self, source: Ids) -> Ids:
        """Return the shortlist, ascending, of each sentence of [B, S] padded with PAD: [B, N]."""
        found = np.empty((len(source), self.size), np.int32)
        place = np.empty(self._vocab_size, np.int32)
        for row, sentence in zip(found, source, strict=True):
            translations = self._translations[sentence[sentence != PAD_ID]].T.ravel()
            ids = np.concatenate([self._first, translations, self._last])
            order = np.arange(len(ids), dtype=np.int32)
            place[ids[::-1]] = order[::-1]  # of an id that occurs twice, the first place remains
            row[:] = np.sort(ids[place[ids] == order][: self.size])
        return found
