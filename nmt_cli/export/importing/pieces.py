"""Turn the vocabulary of a Marian model into SentencePiece models with the ids of its weights.

MarianTokenizer splits text with source.spm or target.spm and looks the pieces up in vocab.json,
which has different ids. Here, the models themselves get the pieces in the order of the weights'
rows, so that no other file is needed. Rows are reordered: PAD, UNK, START and END come first.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentencepiece import sentencepiece_model_pb2

from nmt_cli.errors import ModelError
from nmt_cli.export.huggingface.config import HuggingFaceConfig, read_json
from nmt_cli.text.sentence_piece import tag_piece
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID, UNK_ID

_Piece = sentencepiece_model_pb2.ModelProto.SentencePiece
# A word at the start of a source that names the target language.
TAG = re.compile(">>.+<<")


@dataclass(frozen=True)
class Vocabulary:
    """The vocabulary of one side, or of both.

    Attributes:
        tokens: by id.
        rows: by id, the row of the weights; several ids may have one.
        silent: ids that no translation contains.
    """

    tokens: list[str]
    rows: list[int]
    silent: frozenset[int]


def read_vocabulary(path: Path, size: int, config: HuggingFaceConfig, *models: Any) -> Vocabulary:
    """Read the vocabulary of a side with the models that split its text.

    Pieces of the models that the vocabulary lacks become further ids with the row of UNK, as
    leaving them out would split text differently.
    """
    ids = read_json(path)
    by_id = {number: token for token, number in ids.items()}
    if by_id.keys() != set(range(size)) or len(ids) != size:
        raise ModelError(
            f"{path}: has {len(ids):,} entries, but config.json {size:,}, with ids from 0",
            "the files are of different models",
        )
    pad, end, start = config.pad_token_id, config.eos_token_id, config.decoder_start_token_id
    unknown = ids.get("<unk>", -1)
    if not {pad, end, start, unknown} <= by_id.keys() or len({pad, end, unknown}) < 3:
        raise ModelError(
            f"{path}: padding, unknown, start and end tokens are {pad}, {unknown}, {start} and "
            f"{end} in config.json, which are not ids of different entries"
        )
    rows = [pad, unknown, start, end]
    rows += [row for row in range(size) if row not in rows]
    tokens = [by_id[row] for row in rows]
    silent: set[int] = set()
    if start in (pad, unknown, end):  # in nmt, START is a token of its own
        tokens[START_ID] = next(token for token in ("<s>", "<start>") if token not in ids)
        silent |= {PAD_ID, START_ID}
    pieces = [piece.piece for model in models for piece in model.pieces if _has_text(piece)]
    listed = {*ids, *(tag_piece(token) for token in ids if TAG.fullmatch(token))}
    unlisted = [piece for piece in dict.fromkeys(pieces) if piece not in listed]
    silent.update(range(len(tokens), len(tokens) + len(unlisted)))
    return Vocabulary([*tokens, *unlisted], rows + [unknown] * len(unlisted), frozenset(silent))


def reordered(model: Any, vocabulary: Vocabulary, source: bool) -> bytes:
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


def _has_text(piece: Any) -> bool:
    return piece.type not in (_Piece.UNKNOWN, _Piece.CONTROL, _Piece.UNUSED)
