"""Cut text into words as tensorflow-text's BasicTokenizer does.

The order of steps, each of which shows in the result: case folding (NFKC_Casefold),
canonical decomposition and removal of accents, for lower-cased vocabularies alone; control
characters to spaces; a cut around every punctuation mark and Chinese character; a cut at
spaces. Other Unicode spaces, such as U+2003 in text that is not folded, are parts of words:
RE2's `\\s` knows ASCII alone.
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
    """Return the words of a line: never empty ones, and each punctuation mark one of its own."""
    if lowercase:
        folded = unicodedata.normalize("NFD", line.translate(_FOLDED))
        spaced = folded.translate(_SPACED_WITHOUT_ACCENTS)
    else:
        spaced = line.translate(_SPACED)
    return [word for word in spaced.split(" ") if word]


def _fold(point: int) -> str:
    """Return what NFKC_Casefold makes of one code point, but for the final composition."""
    if point in DEFAULT_IGNORABLE:
        return ""
    if point in FOLDED:
        return FOLDED[point]
    folded = unicodedata.normalize("NFKC", chr(point)).casefold()
    return unicodedata.normalize("NFKC", folded)


def _space(point: int) -> str:
    """Return the character, with spaces around it if it is a word of its own."""
    category = _category(point)
    if category in ("Cc", "Cf"):
        return " "
    character = chr(point)
    alone = (
        category[0] == "P"
        or character in string.punctuation
        or any(first <= point <= last for first, last in _CHINESE)
    )
    return f" {character} " if alone else character


def _space_without_accents(point: int) -> str:
    return "" if _category(point) == "Mn" else _space(point)


def _category(point: int) -> str:
    return CATEGORIES.get(point) or unicodedata.category(chr(point))


class _Table(dict[int, str]):
    """A table for `str.translate` that works out each code point once, when it first occurs."""

    def __init__(self, rule: Callable[[int], str]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, point: int) -> str:
        replacement = self[point] = self._rule(point)
        return replacement


_FOLDED = _Table(_fold)
_SPACED = _Table(_space)
_SPACED_WITHOUT_ACCENTS = _Table(_space_without_accents)
