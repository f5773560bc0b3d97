"""A folder with a pair of tokenizers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from nmt_cli.errors import NmtError
from nmt_cli.files import read_limited, write_json
from nmt_cli.text.tokenizer import Tokenizer, TokenizerPair

SPEC_FILE = "tokenizer.json"

KINDS = ("sentencepiece", "wordpiece")

# Of a file in the same folder; bundles may come from anyone.
_FileName = Annotated[str, Meta(pattern=r"^(?!\.{1,2}$)[^/\\:\x00]+$")]


@dataclass(frozen=True)
class TokenizerSpec:
    """The content of `tokenizer.json`: which files in its folder hold the vocabularies.

    Attributes:
        kind: the family of both tokenizers, one of `KINDS`.
        source, target: plain file names of the vocabularies; equal if both sides share one.
        lowercase: whether text is case-folded and stripped of accents (WordPiece only).
        tag: marks the source of a synthetic pair, one piece of the source vocabulary
            (SentencePiece only); empty for none.
        punctuation: the language by whose rules the punctuation of sources is normalized first
            (SentencePiece only; see punctuation.py); empty for none.
    """

    kind: Annotated[str, Meta(pattern=f"^({'|'.join(KINDS)})$")]
    source: _FileName
    target: _FileName
    lowercase: bool = False
    tag: str = ""
    punctuation: str = ""

    @classmethod
    def read(cls, folder: Path) -> "TokenizerSpec":
        """Read the specification in `folder`.

        Raises:
            NmtError: it is missing or malformed, or names a file that is missing or elsewhere.
        """
        path = folder / SPEC_FILE
        try:
            spec = msgspec.json.decode(read_limited(path), type=cls)
        except OSError as error:
            raise NmtError(
                f"{path}: cannot be read ({error.strerror})",
                "name a folder with tokenizers; nmt prepare writes this file",
            ) from error
        except msgspec.ValidationError as error:
            raise NmtError(f"{path}: {str(error).replace('`', '')}") from error
        except (msgspec.DecodeError, RecursionError, ValueError) as error:
            raise NmtError(f"{path}: is not valid JSON ({error})") from error
        for name in (spec.source, spec.target):
            file = folder / name
            if file.is_symlink() and not file.resolve().is_relative_to(folder.resolve()):
                raise NmtError(f"{file}: is a link that leaves its folder")
            if not file.is_file():
                raise NmtError(f"{file}: no such file, but {SPEC_FILE} names it")
        return spec

    def write(self, folder: Path) -> None:
        """Write the specification into `folder`, next to the files that it names."""
        content: dict[str, str | bool]
        content = {"kind": self.kind, "source": self.source, "target": self.target}
        if self.kind == "wordpiece":
            content["lowercase"] = self.lowercase
        if self.tag:
            content["tag"] = self.tag
        if self.punctuation:
            content["punctuation"] = self.punctuation
        write_json(folder / SPEC_FILE, content)


def load_tokenizers(folder: Path) -> TokenizerPair:
    """Load the two tokenizers that `folder/tokenizer.json` names.

    Raises:
        NmtError: a file is missing, corrupt or of another kind than the specification says.
    """
    spec = TokenizerSpec.read(folder)
    source = _load(spec, folder / spec.source, spec.tag, spec.punctuation)
    if spec.source == spec.target and not spec.punctuation:
        return TokenizerPair(source, source)
    return TokenizerPair(source, _load(spec, folder / spec.target))


def _load(spec: TokenizerSpec, path: Path, tag: str = "", punctuation: str = "") -> Tokenizer:
    # Imported here: a recipe or a description needs neither of the two.
    if spec.kind == "sentencepiece":
        from nmt_cli.text.sentence_piece import SentencePieceTokenizer

        return SentencePieceTokenizer(path, tag, punctuation)
    from nmt_cli.text.word_piece import WordPieceTokenizer

    return WordPieceTokenizer(path, lowercase=spec.lowercase)
