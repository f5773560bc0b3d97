"""Split text into words as tensorflow-text's BasicTokenizer does.

The steps, in order: for lower-cased vocabularies, case folding (NFKC_Casefold), canonical
decomposition and removal of accents; control characters become spaces; a split around every
punctuation mark and Chinese character; a split at spaces. Other Unicode spaces, such as U+2003
in text that is not folded, are parts of words: RE2's `\\s` matches ASCII only.
"""

import string
import unicodedata
from collections.abc import Callable

from nmt_cli.text.unicode_pin import CATEGORIES, DEFAULT_IGNORABLE, FOLDED

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


def split_words(line: str, *, lowercase: bool) -> list[str]:
    """Return the words of a line; each punctuation mark is a word."""
    if lowercase:
        folded = unicodedata.normalize("NFD", line.translate(_FOLDED))
        spaced = folded.translate(_SPACED_WITHOUT_ACCENTS)
    else:
        spaced = line.translate(_SPACED)
    return [word for word in spaced.split(" ") if word]


def _fold(point: int) -> str:
    """Return the NFKC_Casefold of one code point, without the final composition."""
    if point in DEFAULT_IGNORABLE:
        return ""
    if point in FOLDED:
        return FOLDED[point]
    folded = unicodedata.normalize("NFKC", chr(point)).casefold()
    return unicodedata.normalize("NFKC", folded)


def _space(point: int) -> str:
    """Return the character, with spaces around it if it is a word by itself."""
    category = _category(point)
    if category in ("Cc", "Cf"):
        return " "
    character = chr(point)
    separate = (
        category[0] == "P"
        or character in string.punctuation
        or any(first <= point <= last for first, last in _CHINESE)
    )
    return f" {character} " if separate else character


def _space_without_accents(point: int) -> str:
    return "" if _category(point) == "Mn" else _space(point)


def _category(point: int) -> str:
    return CATEGORIES.get(point) or unicodedata.category(chr(point))


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
_SPACED_WITHOUT_ACCENTS = _Table(_space_without_accents)
