"""The interface of tokenizers, and how a folder stores a pair of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nmt_cli.errors import NmtError
from nmt_cli.files import replacing

PAD_ID = 0
UNK_ID = 1
START_ID = 2
END_ID = 3

FRAMING_IDS = frozenset({PAD_ID, START_ID, END_ID})
"""Ids without text: decoding drops them wherever they occur."""

SPEC_FILE = "tokenizer.json"

KINDS = ("sentencepiece", "wordpiece")


class Tokenizer(Protocol):
    """Text to ids and back. Lines are valid Unicode: no lone surrogates."""

    @property
    def vocab_size(self) -> int:
        """The number of ids: every id is in `range(vocab_size)`."""

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Return the ids of each line, without start and end."""

    def decode(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Return the text of each sequence; padding, start and end ids are dropped."""

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
    shared: bool


@dataclass(frozen=True)
class TokenizerSpec:
    """The content of `tokenizer.json`: which files in its folder hold the vocabularies.

    Attributes:
        kind: the family of both tokenizers, one of `KINDS`.
        source: plain file name of the source side's vocabulary.
        target: plain file name of the target side's; equal to `source` when they share one.
        lowercase: whether text is case-folded and stripped of accents (WordPiece only).
        tag: marks the source of a synthetic pair, one piece of the source vocabulary
            (SentencePiece only); empty for none.
    """

    kind: str
    source: str
    target: str
    lowercase: bool = False
    tag: str = ""

    @classmethod
    def read(cls, folder: Path) -> "TokenizerSpec":
        """Read the specification in `folder`.

        Raises:
            NmtError: the specification is missing or malformed, or names a file that is missing
                or outside the folder.
        """
        path = folder / SPEC_FILE
        content = _read_json_object(path)
        kind = content.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            known = " or ".join(f'"{name}"' for name in KINDS)
            raise NmtError(f"{path}: unknown tokenizer kind {kind!r}", f"it must be {known}")
        lowercase = content.get("lowercase", False)
        if not isinstance(lowercase, bool):
            raise NmtError(f'{path}: "lowercase" must be true or false, not {lowercase!r}')
        tag = content.get("tag", "")
        if not isinstance(tag, str):
            raise NmtError(f'{path}: "tag" must be a string, not {tag!r}')
        return cls(
            kind=kind,
            source=_checked_file_name(path, "source", content.get("source")),
            target=_checked_file_name(path, "target", content.get("target")),
            lowercase=lowercase,
            tag=tag,
        )

    def write(self, folder: Path) -> None:
        """Write the specification into `folder`, next to the files that it names."""
        content: dict[str, str | bool]
        content = {"kind": self.kind, "source": self.source, "target": self.target}
        if self.kind == "wordpiece":
            content["lowercase"] = self.lowercase
        if self.tag:
            content["tag"] = self.tag
        with replacing(folder / SPEC_FILE) as out:
            out.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def load_tokenizers(folder: Path) -> TokenizerPair:
    """Load the two tokenizers that `folder/tokenizer.json` names.

    Raises:
        NmtError: a file is missing, corrupt or of another kind than the specification says.
    """
    spec = TokenizerSpec.read(folder)
    source = _load(spec, folder / spec.source, spec.tag)
    if spec.source == spec.target:
        return TokenizerPair(source, source, shared=True)
    return TokenizerPair(source, _load(spec, folder / spec.target, ""), shared=False)


def _load(spec: TokenizerSpec, path: Path, tag: str) -> Tokenizer:
    # Imported here, because both modules import this one.
    if spec.kind == "sentencepiece":
        from nmt_cli.text.sentence_piece import SentencePieceTokenizer

        return SentencePieceTokenizer(path, tag)
    from nmt_cli.text.word_piece import WordPieceTokenizer

    return WordPieceTokenizer(path, lowercase=spec.lowercase)


def _read_json_object(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NmtError(
            f"{path}: cannot be read ({error.strerror})",
            "name a folder with tokenizers; nmt prepare writes this file",
        ) from error
    except (ValueError, RecursionError) as error:
        raise NmtError(f"{path}: is not valid JSON ({error})") from error
    if not isinstance(content, dict):
        raise NmtError(f"{path}: must hold a JSON object")
    return content


def _checked_file_name(spec: Path, key: str, name: object) -> str:
    """Return `name` if it is the name of a file beside `spec`; bundles may come from anyone."""
    plain = isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\:\0")
    if not isinstance(name, str) or not plain:
        raise NmtError(
            f'{spec}: "{key}" must be the name of a file in the same folder, not {name!r}'
        )
    path = spec.parent / name
    if path.is_symlink() and not path.resolve().is_relative_to(spec.parent.resolve()):
        raise NmtError(f"{path}: is a link that leaves its folder")
    if not path.is_file():
        raise NmtError(f"{path}: no such file, but {spec.name} names it as the {key} vocabulary")
    return name
