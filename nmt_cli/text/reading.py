"""What the model reads of a text, and how its translation of that becomes the final one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from nmt_cli.text.edits import Edit, MappedText
from nmt_cli.text.kept import Item, restored, shown

if TYPE_CHECKING:
    from nmt_cli.text.tokenizer import Tokenizer

# Byte tokens can spell a line break, which would break the line count.
LINE_BREAK = re.compile("[ \t]{0,9}[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+[ \t]*")
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
SIGNS = {"(": ")", "[": "]", '"': '"', "“": "”", "«": "»", "„": "“", "‘": "’", "'": "'"}
SIGNS |= {"‹": "›", "*": "*", "_": "_"}
ANY_SIGN = re.escape("".join(SIGNS))
OPENING_SIGN = rf"(?<!\w)[{ANY_SIGN}]"
# Words that a model may copy: after an opening sign, beside a slash, in capitals, and capitalized
# at the end of a label.
_COPIED = re.compile(
    OPENING_SIGN + r"([^\W\d_]{3,})|\b([^\W\d_]{3,}/[^\W\d_]{3,})"
    r"|\b((?:(?![a-z])[^\W\d_]){4,})\b|(?<=[a-z] )([A-Z][a-z]{3,})(?=\W*\Z)"
)
# A translation with fewer letters than this share of its source's has lost words; those of Chinese
# and the like count as many. Short texts vary more.
_MIN_SHARE, _MIN_LETTERS = 0.4, 10
WIDE, _WIDE_LETTERS = "\u2e80", 3


class Attempt(IntEnum):
    """How a text is read for the model; each one is tried where the one before lost something."""

    WHOLE = 0
    STAND_INS = 1  # for all items
    PIECES = 2  # between items, or clause by clause


class Pair(NamedTuple):
    """What encloses part of a text: signs that the model does not read, or else capitals."""

    start: int
    end: int
    before: str = ""
    after: str = ""


@dataclass
class Reading:
    """A text, what the model reads instead of parts of it, and what the translation must have.

    Attributes:
        source: the text of the user, without invisible characters.
        attempt: how it is read.
        items: what the translation must contain.
        tokenizer: the source tokenizer.
        aligns: whether the model can align words, by which pairs are placed.
        edits: start, end and what the model reads instead.
        pairs: what encloses the translations of parts of the text.
        capitals: whether the translation is written in capitals.
        after: edits of the translation, in order.
    """

    source: MappedText
    attempt: Attempt
    items: Sequence[Item]
    tokenizer: "Tokenizer"
    aligns: bool
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    capitals: bool = False
    after: list[Edit] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text of the user."""
        return self.source.text

    def tokens(self, *texts: str) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(ids) for ids in self.tokenizer.encode(texts)]

    @cached_property
    def words(self) -> list[re.Match[str]]:
        """The words outside of items."""
        return [word for word in WORD.finditer(self.text) if self.is_free(*word.span())]

    def is_free(self, start: int, end: int) -> bool:
        """Return whether no item overlaps a part of the text."""
        return not any(item.start < end and start < item.end for item in self.items)

    def shown(self) -> MappedText:
        """Return what the model reads."""
        items = [item for item in self.items if item.stand_in]
        edits = [(item.start, item.end, shown(self.text, item)) for item in items]
        return self.source.replaced(sorted([*self.edits, *edits]))

    def copies(self, translation: str, capitals: bool = True) -> bool:
        """Return whether a translation has a word that the model may know in another form only.
        Without ``capitals``, words in capitals, which may be names, do not count."""
        words = (word[word.lastindex or 0] for word in _COPIED.finditer(self.text))
        copied = (word for word in words if word in translation)
        is_copied = any(capitals or not word.isupper() for word in copied)
        return is_copied or self.text.casefold() == translation.casefold()

    def written(self, translation: MappedText) -> tuple[MappedText, bool]:
        """Return the final translation of the text, and whether it is complete."""
        text = translation.substituted(LINE_BREAK, " ")
        for edit in self.after:
            text = edit(text)
        text, is_complete = restored(self.text, self.items, text, self.capitals)
        if self.items and self.attempt is not Attempt.PIECES:
            # A model that copies a label and what follows it may know the label.
            is_complete &= self.text.casefold() != text.text.casefold()
        # Each pair goes around a word.
        if self.pairs:
            words = sum(any(map(str.isalnum, word)) for word in text.text.split())
            is_complete &= words >= len(self.pairs)
        return text, is_complete and _has_words(self.text, text.text)


def _letters(text: str) -> int:
    count = sum(map(str.isalpha, text))
    if count and max(text) >= WIDE:
        count += (_WIDE_LETTERS - 1) * sum(map(str.isalpha, filter(WIDE.__le__, text)))
    return count


def _has_words(source: str, translation: str) -> bool:
    """Return whether a translation has about as many letters as it should have."""
    there, letters = _letters(translation), _letters(source)
    return there > 0 and (letters < _MIN_LETTERS or there >= _MIN_SHARE * letters)
