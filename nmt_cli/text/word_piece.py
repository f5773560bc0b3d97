"""WordPiece subwords, as tensorflow-text's BertTokenizer makes them, without TensorFlow."""

import re
import string
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path

from nmt_cli.errors import ModelError
from nmt_cli.files import read_limited
from nmt_cli.text.mapped import Span
from nmt_cli.text.tokenizer import (
    END_ID,
    MAX_VOCABULARY_BYTES,
    SPECIAL_IDS,
    START_ID,
    UNK_ID,
    grouped,
)
from nmt_cli.text.unicode_pin import CATEGORIES, DEFAULT_IGNORABLE, FOLDED

RESERVED_TOKENS = ("[PAD]", "[UNK]", "[START]", "[END]")
"""The first entries of every vocabulary, in the order of their ids."""

SUFFIX_MARK = "##"
_MAX_BYTES_PER_WORD = 100
# A word that is too long is unknown, whatever it is: the cache needs its beginning only.
_WORD_START = slice(_MAX_BYTES_PER_WORD + 1)
_CACHED_WORDS = 200_000
_CHINESE = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPieceTokenizer:
    """A tokenizer over one `vocab.txt`: the longest matching prefix first, word by word."""

    def __init__(self, path: Path, *, lowercase: bool) -> None:
        self._pieces = read_vocabulary(path)
        self._lowercase = lowercase
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        self._longest = max(map(len, self._pieces))
        self._ids_of = lru_cache(_CACHED_WORDS)(self._cut)
        self.vocab_size = len(self._pieces)

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without start and end."""
        split = (split_words(line, lowercase=self._lowercase) for line in lines)
        return [[i for word in words for i in self._ids_of(word[_WORD_START])] for words in split]

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the words of each sequence, separated by spaces.

        Padding, start and end ids are dropped. An id beyond the vocabulary becomes unknown.
        """
        return [self.decode_spans(ids)[0] for ids in sequences]

    def spans(self, line: str) -> list[Span]:
        """Return the part of the line that each id of `encode` comes from: its word's."""
        spaced, origins = "", list[int]()
        for index, character in enumerate(line):
            added = spaced_words(character, lowercase=self._lowercase)
            spaced += added
            origins += [index] * len(added)
        return [
            (origins[word.start()], origins[word.end() - 1] + 1)
            for word in re.finditer("[^ ]+", spaced)
            for _ in self._ids_of(word[0][_WORD_START])
        ]

    def decode_spans(self, ids: Sequence[int]) -> tuple[str, list[Span]]:
        """Return the text of a sequence and the part of it that is each id's."""
        text, spans = "", list[Span]()
        for id_ in ids:
            start = len(text)
            if id_ not in SPECIAL_IDS:
                (piece,) = self.tokens([id_])
                if piece.startswith(SUFFIX_MARK) and text:
                    text += piece.removeprefix(SUFFIX_MARK)
                else:
                    text += f" {piece}" if text else piece
            spans.append((start, len(text)))
        return text, spans

    def with_special_tokens(self, ids: Sequence[int]) -> list[int]:
        """Return the ids between BOS and EOS, as in the TensorFlow tutorial."""
        return [START_ID, *ids, END_ID]

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the piece of each id; "##" marks a piece that continues a word."""
        return [self._pieces[i if i < self.vocab_size else UNK_ID] for i in ids]

    def words(self, ids: Sequence[int]) -> list[list[int]]:
        """Return the positions of each word's pieces: "##" continues a word."""
        return grouped([not piece.startswith(SUFFIX_MARK) for piece in self.tokens(ids)])

    def surfaces(self) -> list[bytes]:
        """Return the bytes that each id adds to a text."""
        texts = [f" {piece}".removeprefix(f" {SUFFIX_MARK}") for piece in self._pieces]
        reserved = len(RESERVED_TOKENS)
        return [b""] * reserved + [text.encode() for text in texts[reserved:]]

    def _cut(self, word: str) -> list[int]:
        """Split a word into its longest known pieces; a remainder makes the word unknown."""
        if len(word.encode()) > _MAX_BYTES_PER_WORD:
            return [UNK_ID]
        ids: list[int] = []
        start = 0
        while start < len(word):
            mark = SUFFIX_MARK if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = self._ids.get(mark + word[start:end])
                if piece is not None:
                    ids.append(piece)
                    start = end
                    break
            else:
                return [UNK_ID]
        return ids


def read_vocabulary(path: Path) -> list[str]:
    """Read a vocabulary: one piece per line, the reserved tokens first.

    Lines end at LF only: other characters that `str.splitlines` splits at may be pieces.
    """
    try:
        text = read_limited(path, MAX_VOCABULARY_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: is not a vocabulary in UTF-8, or cannot be read") from error
    pieces = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if tuple(pieces[: len(RESERVED_TOKENS)]) != RESERVED_TOKENS:
        raise ModelError(
            f"{path}: is not a WordPiece vocabulary",
            f"its first lines must be {', '.join(RESERVED_TOKENS)}",
        )
    seen = {"": 0}
    for number, piece in enumerate(pieces, start=1):
        if piece in seen:
            problem = f"{piece!r} is also on line {seen[piece]}" if piece else "an empty piece"
            raise ModelError(f"{path}, line {number}: {problem}")
        seen[piece] = number
    return pieces


def split_words(line: str, *, lowercase: bool) -> list[str]:
    """Return the words of a line, as tensorflow-text's BasicTokenizer splits it.

    The steps, in order: for lower-cased vocabularies, case folding (NFKC_Casefold), canonical
    decomposition and removal of accents; control characters become spaces; a split around every
    punctuation mark and Chinese character; a split at spaces. Other Unicode spaces, such as U+2003
    in text that is not folded, are parts of words: RE2's `\\s` matches ASCII only.
    """
    return [word for word in spaced_words(line, lowercase=lowercase).split(" ") if word]


def spaced_words(line: str, *, lowercase: bool) -> str:
    """Return a line with its words, as in :func:`split_words`, between spaces."""
    if not lowercase:
        return line.translate(_SPACED)
    folded = unicodedata.normalize("NFD", line.translate(_FOLDED))
    return folded.translate(_SPACED_WITHOUT_ACCENTS)


def _fold(point: int) -> str:
    """Return the NFKC_Casefold of one code point, without the final composition."""
    if point in DEFAULT_IGNORABLE:
        return ""
    if point in FOLDED:
        return FOLDED[point]
    folded = unicodedata.normalize("NFKC", chr(point)).casefold()
    return unicodedata.normalize("NFKC", folded)


def _space(point: int, keep_accents: bool = True) -> str:
    """Return the character, with spaces around it if it is a word by itself."""
    category = CATEGORIES.get(point) or unicodedata.category(chr(point))
    if category == "Mn" and not keep_accents:
        return ""
    if category in ("Cc", "Cf"):
        return " "
    character = chr(point)
    separate = (
        category[0] == "P"
        or character in string.punctuation
        or any(first <= point <= last for first, last in _CHINESE)
    )
    return f" {character} " if separate else character


class _Table(dict[int, str]):
    """A table for `str.translate` that computes each code point when it first occurs."""

    def __init__(self, rule: Callable[[int], str]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, point: int) -> str:
        replacement = self[point] = self._rule(point)
        return replacement


_FOLDED = _Table(_fold)
_SPACED = _Table(_space)
_SPACED_WITHOUT_ACCENTS = _Table(partial(_space, keep_accents=False))
