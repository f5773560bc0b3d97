"""The interface of tokenizers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from nmt_cli.recipe.model import END_ID, PAD_ID, START_ID, UNK_ID
from nmt_cli.text.lines import is_blank
from nmt_cli.text.mapped import Span

LARGEST_VOCABULARY = 32 << 20
"""Bytes of a vocabulary's file: a million pieces take about 25 MB."""

FRAMING_IDS = frozenset({PAD_ID, START_ID, END_ID})
"""Ids without text: decoding drops them wherever they occur."""


class Tokenizer(Protocol):
    """Text to ids and back. Lines are valid Unicode: no lone surrogates."""

    @property
    def vocab_size(self) -> int:
        """The number of ids: every id is in `range(vocab_size)`."""

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without start and end."""

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence; padding, start and end ids are dropped."""

    def spans(self, line: str) -> list[Span]:
        """Return the part of the line that each id of `encode` comes from, in order.

        It includes white space before a word, and is empty for ids that the next one completes.
        """

    def decode_spans(self, ids: Sequence[int]) -> tuple[str, list[Span]]:
        """Return the text of a sequence, as `decode` does, and the part of it that is each id's."""

    def frame_source(self, ids: Sequence[int]) -> list[int]:
        """Return the ids of one line as the encoder expects them, with end marks."""

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the vocabulary entry of each id, for display."""

    def words(self, ids: Sequence[int]) -> list[list[int]]:
        """Return the positions of each word's pieces, in order; a partition of all positions."""

    def surfaces(self) -> list[bytes]:
        """Return the UTF-8 bytes that each id adds to a text, with a space where a word begins.

        Empty for ids without text, the unknown one included.
        """


def encode_lines(tokenizer: Tokenizer, lines: Sequence[str]) -> list[list[int]]:
    """Return the ids of each line: none for a blank one, at least one for any other.

    Text of which a tokenizer keeps nothing is unknown: "▁" is SentencePiece's mark of a space.
    """
    pairs = zip(lines, tokenizer.encode(lines), strict=True)
    return [[] if is_blank(line) else ids or [UNK_ID] for line, ids in pairs]


def grouped(begins: Sequence[bool]) -> list[list[int]]:
    """Group positions into words, given which of them begin one."""
    groups: list[list[int]] = []
    for place, begin in enumerate(begins):
        if begin or not groups:
            groups.append([])
        groups[-1].append(place)
    return groups


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of the two sides; the same object if they share a vocabulary."""

    source: Tokenizer
    target: Tokenizer
