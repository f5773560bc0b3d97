"""WordPiece subwords, as tensorflow-text's BertTokenizer makes them, without TensorFlow.

tensorflow-text 2.21 uses Unicode 16 (ICU) to fold case and decompose, and Unicode 15 (RE2) for
general categories. Python 3.11 has Unicode 14, and later versions have later ones. unicode.json has
the code points on which Unicode 14 to 17 differ; `unicodedata` is right for all others. See the
scan of all code points in `tests/parity/test_tokenizers.py`.

One difference remains: before Python 3.14, a mark newer than Unicode 14 next to another mark
that case folding keeps may end up in another order.
"""

import re
import string
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from nmt_cli.errors import ModelError
from nmt_cli.files import read_limited
from nmt_cli.text.edits import Span
from nmt_cli.text.lines import is_blank
from nmt_cli.text.tokenizer import (
    END_ID,
    MAX_PIECE,
    MAX_VOCABULARY_BYTES,
    SPECIAL_IDS,
    START_ID,
    UNK_ID,
    grouped,
)

# The first entries of every vocabulary, in the order of their ids.
RESERVED_TOKENS = ("[PAD]", "[UNK]", "[START]", "[END]")
SUFFIX_MARK = "##"
_MAX_BYTES_PER_WORD = 100
# A word that is too long is unknown, whatever it is: the cache needs its beginning only.
_WORD_START = slice(_MAX_BYTES_PER_WORD + 1)
_CACHED_WORDS = 200_000
_CHINESE = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\U0002f800-\U0002fa1f]"
)


def _code_points(ranges: str) -> list[int]:
    points: list[int] = []
    for item in ranges.split():
        first, _, last = item.partition("-")
        points.extend(range(int(first, 16), int(last or first, 16) + 1))
    return points


_DATA = msgspec.json.decode(Path(__file__).with_name("unicode.json").read_bytes())
# General categories by code point; "Cn" for what RE2 does not know yet.
CATEGORIES = {
    point: category
    for category, points in _DATA["categories"].items()
    for point in _code_points(points)
}
# Results of case folding and decomposition by code point.
FOLDED = {
    int(point, 16): "".join(map(chr, _code_points(folded)))
    for point, folded in _DATA["folded"].items()
}


class WordPieceTokenizer:
    """A tokenizer over one `vocab.txt`: the longest matching prefix first, word by word."""

    def __init__(self, path: Path, lowercase: bool) -> None:
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
        """Return the words of each sequence, separated by spaces."""
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
        """Return the piece of each id, the unknown one for ids beyond the vocabulary."""
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
    Lines end at LF only: other characters that `str.splitlines` splits at may be pieces."""
    try:
        text = read_limited(path, MAX_VOCABULARY_BYTES).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: is not a vocabulary in UTF-8, or cannot be read") from error
    pieces = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if tuple(pieces[: len(RESERVED_TOKENS)]) != RESERVED_TOKENS:
        reason = f"{path}: is not a WordPiece vocabulary"
        raise ModelError(reason, f"its first lines must be {', '.join(RESERVED_TOKENS)}")
    seen = {"": 0}
    for number, piece in enumerate(pieces, start=1):
        if piece in seen:
            problem = f"{piece!r} is also on line {seen[piece]}" if piece else "an empty piece"
            raise ModelError(f"{path}, line {number}: {problem}")
        if len(piece) > MAX_PIECE:
            reason = f"{path}, line {number}: has {len(piece):,} characters, at most {MAX_PIECE:,}"
            raise ModelError(reason, "one piece per line")
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
    if lowercase:
        folded = unicodedata.normalize("NFD", "".join(map(_folded, line)))
        line = "".join(character for character in folded if _category(character) != "Mn")
    return "".join(map(_spaced, line))


@cache
def _folded(character: str) -> str:
    """Return the NFKC_Casefold of a character, without the final composition."""
    if is_blank(character) and not character.isspace() and _category(character) != "Cc":
        return ""  # Default_Ignorable_Code_Point
    if ord(character) in FOLDED:
        return FOLDED[ord(character)]
    folded = unicodedata.normalize("NFKC", character).casefold()
    return unicodedata.normalize("NFKC", folded)


@cache
def _category(character: str) -> str:
    return CATEGORIES.get(ord(character)) or unicodedata.category(character)


@cache
def _spaced(character: str) -> str:
    """Return a character, with spaces around it if it is a word by itself."""
    category = _category(character)
    if category in ("Cc", "Cf"):
        return " "
    if category[0] == "P" or character in string.punctuation or _CHINESE.match(character):
        return f" {character} "
    return character
