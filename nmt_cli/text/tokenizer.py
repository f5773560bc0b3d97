"""The interface of tokenizers, and the folders that hold a pair of them."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from nmt_cli.errors import ModelError
from nmt_cli.files import read_limited, write_json
from nmt_cli.recipe.model import END_ID, PAD_ID, START_ID, UNK_ID
from nmt_cli.text.edits import Span
from nmt_cli.text.lines import is_blank

MAX_VOCABULARY_BYTES = 32 << 20  # a million pieces take about 25 MB
MAX_PIECE = 1000  # characters; longer ones overflow the stack of SentencePiece's library
SPECIAL_IDS = frozenset({PAD_ID, START_ID, END_ID})  # without text: decoding drops them


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
        It includes white space before a word, and is empty for ids that the next one completes."""

    def decode_spans(self, ids: Sequence[int]) -> tuple[str, list[Span]]:
        """Return the text of a sequence, as `decode` does, and the part of it that is each id's."""

    def with_special_tokens(self, ids: Sequence[int]) -> list[int]:
        """Return the ids of a line as the encoder expects them, with BOS and EOS as needed."""

    def tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the vocabulary entry of each id, for display."""

    def words(self, ids: Sequence[int]) -> list[list[int]]:
        """Return the positions of each word's pieces, in order; a partition of all positions."""

    def surfaces(self) -> list[bytes]:
        """Return the UTF-8 bytes that each id adds to a text, with a space where a word begins.
        Empty for ids without text, the unknown one included."""


def encode_lines(tokenizer: Tokenizer, lines: Sequence[str]) -> list[list[int]]:
    """Return the ids of each line: none for a blank one, at least one for any other.
    Text of which a tokenizer keeps nothing is unknown: "▁" is SentencePiece's mark of a space."""
    pairs = zip(lines, tokenizer.encode(lines), strict=True)
    return [[] if is_blank(line) else ids or [UNK_ID] for line, ids in pairs]


def grouped(begins: Sequence[bool]) -> list[list[int]]:
    """Group positions into words; ``begins`` marks those that begin one."""
    groups: list[list[int]] = []
    for position, begin in enumerate(begins):
        if begin or not groups:
            groups.append([])
        groups[-1].append(position)
    return groups


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of the two sides; the same object if they share a vocabulary."""

    source: Tokenizer
    target: Tokenizer


SPEC_FILE = "tokenizer.json"

# Of a file in the same folder; bundles may come from anyone.
_FileName = Annotated[str, Meta(pattern=r"^(?!\.{1,2}$)[^/\\:\x00-\x1f\x7f]+$", max_length=255)]


@dataclass(frozen=True)
class TokenizerSpec:
    """The content of `tokenizer.json`: which files in its folder hold the vocabularies.

    Attributes:
        source, target: file names of the vocabularies; equal if both sides share one.
        lowercase: whether text is case-folded and stripped of accents (WordPiece only).
        tag: marks the source of a synthetic pair, one piece of the source vocabulary
            (SentencePiece only); empty for none.
        punctuation: the language by whose rules the punctuation of sources is normalized first
            (SentencePiece only; see sentence_piece.py); empty for none.
    """

    kind: Annotated[str, Meta(pattern="^(sentencepiece|wordpiece)$")]
    source: _FileName
    target: _FileName
    lowercase: bool = False
    tag: str = ""
    punctuation: str = ""

    @classmethod
    def read(cls, folder: Path) -> "TokenizerSpec":
        """Read the specification in `folder`, whose vocabularies must exist."""
        path = folder / SPEC_FILE
        try:
            spec = msgspec.json.decode(read_limited(path), type=cls)
        except OSError as error:
            hint = "name a folder with tokenizers; nmt prepare writes this file"
            raise ModelError(f"{path}: cannot be read ({error.strerror})", hint) from error
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise ModelError(f"{path}: is damaged ({str(error).replace('`', '')})") from error
        for name in (spec.source, spec.target):
            if not os.path.isfile(folder / name):  # also if the name is too long for the disk
                raise ModelError(f"{folder / name}: no such file, but {SPEC_FILE} names it")
        return spec

    def write(self, folder: Path) -> None:
        """Write the specification into `folder`, next to the files that it names."""
        content = {name: value for name, value in asdict(self).items() if value}
        if self.kind == "wordpiece":
            content["lowercase"] = self.lowercase
        write_json(folder / SPEC_FILE, content)


def load_tokenizers(folder: Path) -> TokenizerPair:
    """Load the two tokenizers that `folder/tokenizer.json` names."""
    spec = TokenizerSpec.read(folder)
    is_shared = spec.target == spec.source and not spec.punctuation
    source: Tokenizer
    target: Tokenizer
    # Imported here: a recipe or a description needs no tokenizer.
    if spec.kind == "wordpiece":
        from nmt_cli.text.word_piece import WordPieceTokenizer

        source = WordPieceTokenizer(folder / spec.source, spec.lowercase)
        target = source if is_shared else WordPieceTokenizer(folder / spec.target, spec.lowercase)
    else:
        from nmt_cli.text.sentence_piece import SentencePieceTokenizer

        source = SentencePieceTokenizer(folder / spec.source, spec.tag, spec.punctuation)
        target = source if is_shared else SentencePieceTokenizer(folder / spec.target)
    return TokenizerPair(source, target)
