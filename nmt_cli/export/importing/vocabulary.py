"""Vocabularies of imported models.

A model of SentencePiece splits text. If another file lists the vocabulary, the ids of the pieces
are that file's. Here, the models themselves get the pieces in the order of the weights' rows, so
that no other file is needed. Rows are reordered: PAD, UNK, START and END come first.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentencepiece import sentencepiece_model_pb2

from nmt_cli.text.sentence_piece import tag_piece
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID, TokenizerSpec

_Piece = sentencepiece_model_pb2.ModelProto.SentencePiece
FILLER = "<unused_"
# A word at the start of a source that names the target language.
TAG = re.compile(">>.{1,99}<<")


@dataclass(frozen=True)
class Vocabulary:
    """The vocabulary of one side, or of both.

    Attributes:
        tokens: by id.
        rows: by id, the row of the weights; several ids may have one, and -1 is a row of zeros.
        silent: ids that no translation contains.
    """

    tokens: list[str]
    rows: list[int]
    silent: frozenset[int]

    @classmethod
    def of(
        cls,
        ids: Mapping[str, int],
        unknown: int,
        end: int,
        models: list[Any],
        pad: int = -1,
        start: int = -1,
    ) -> "Vocabulary":
        """Make one of the rows of all tokens, and those of the special ones; -1 if there is none.

        Pieces of the models that the vocabulary lacks become further ids with the row of the
        unknown token, as leaving them out would split text differently.
        """
        by_row = {row: token for token, row in ids.items()}
        rows = [pad, unknown, start, end]
        rows += [row for row in sorted(by_row) if row not in {*rows}]
        tokens = [by_row.get(row, "") for row in rows]
        silent: set[int] = set()
        if start in (-1, pad, unknown, end):  # in nmt, START is a token of its own
            tokens[START_ID] = _absent("<s>", ids)
            silent |= {PAD_ID, START_ID}
        if pad == -1:
            tokens[PAD_ID] = _absent("<pad>", ids)
        pieces = [piece.piece for model in models for piece in model.pieces if _has_text(piece)]
        listed = {*ids, *(tag_piece(token) for token in ids if TAG.fullmatch(token))}
        unlisted = [piece for piece in dict.fromkeys(pieces) if piece not in listed]
        silent.update(range(len(tokens), len(tokens) + len(unlisted)))
        return cls([*tokens, *unlisted], rows + [unknown] * len(unlisted), frozenset(silent))


def tokenizer_table(model: Any, vocabulary: Vocabulary, joint: bool) -> dict[str, Any]:
    """Return the recipe's [tokenizer] table, given the source's model and vocabulary."""
    spec = model.trainer_spec
    return {
        "kind": "character" if spec.model_type == spec.CHAR else "sentencepiece",
        "model": {1: "unigram", 2: "bpe"}.get(spec.model_type, "unigram"),
        "byte_fallback": spec.byte_fallback,
        "vocab_size": len(vocabulary.tokens),
        "joint": joint,
    }


def write_tokenizers(
    folder: Path, models: list[Any], sides: tuple[Vocabulary, Vocabulary], punctuation: str
) -> None:
    """Write the tokenizers of a run; for the last argument see TokenizerSpec."""
    names = "source.model", "target.model"
    for name, model, side in zip(names, models, sides, strict=True):
        (folder / name).write_bytes(_reordered(model, side, name == "source.model"))
    TokenizerSpec("sentencepiece", *names, punctuation=punctuation).write(folder)


def _reordered(model: Any, vocabulary: Vocabulary, source: bool) -> bytes:
    """Return a SentencePiece model that splits text as before, with the ids of a vocabulary.

    A source may begin with a tag, which is one piece, as a space precedes it.
    """
    pieces = {piece.piece: piece for piece in model.pieces if _has_text(piece)}
    result = sentencepiece_model_pb2.ModelProto()
    result.CopyFrom(model)
    del result.pieces[:]
    for number, token in enumerate(vocabulary.tokens):
        if number == UNK_ID:
            result.pieces.add(piece=token, type=_Piece.UNKNOWN)
        elif number in (PAD_ID, START_ID, END_ID):
            result.pieces.add(piece=token, type=_Piece.CONTROL)
        elif token in pieces:
            result.pieces.add().CopyFrom(pieces[token])
        elif TAG.fullmatch(token):
            piece_type = _Piece.USER_DEFINED if source else _Piece.CONTROL
            result.pieces.add(piece=tag_piece(token), type=piece_type)
        else:  # the other side's: never in a text, but it can be decoded
            result.pieces.add(piece=token, type=_Piece.UNUSED)
    spec, names = result.trainer_spec, vocabulary.tokens
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = PAD_ID, UNK_ID, START_ID, END_ID
    spec.pad_piece, spec.unk_piece = names[PAD_ID], names[UNK_ID]
    spec.bos_piece, spec.eos_piece = names[START_ID], names[END_ID]
    spec.vocab_size = len(names)
    return result.SerializeToString()


def _absent(token: str, ids: Mapping[str, int]) -> str:
    """Return a token that a vocabulary lacks."""
    while token in ids:
        token += "_"
    return token


def is_filler(piece: Any) -> bool:
    """Whether an export of nmt has filled a vocabulary up with this piece."""
    return piece.type == _Piece.UNUSED and piece.piece.startswith(FILLER)


def _has_text(piece: Any) -> bool:
    return piece.type not in (_Piece.UNKNOWN, _Piece.CONTROL, _Piece.UNUSED)
