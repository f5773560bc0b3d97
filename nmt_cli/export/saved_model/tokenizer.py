"""The tokenizers as TensorFlow graphs, for exported models that take and return strings.

They return the same ids and text as those of `nmt_cli.text` (tested in `tests/parity`), and
contain their vocabulary: a SavedModel needs no other file.
"""

from pathlib import Path
from typing import Literal

import tensorflow as tf
import tensorflow_text

from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import SPECIAL_IDS, TokenizerSpec, load_tokenizers
from nmt_cli.text.word_piece import read_vocabulary


class GraphTokenizer(tf.Module):
    """Text to ids and back, in TensorFlow operations. Strings are valid UTF-8.

    The folder and its errors are those of `load_tokenizers`.
    """

    def __init__(self, folder: Path, side: Literal["source", "target"]) -> None:
        super().__init__()
        tokenizer, spec = getattr(load_tokenizers(folder), side), TokenizerSpec.read(folder)
        path = folder / getattr(spec, side)
        self._marks = tuple(tokenizer.with_special_tokens([]))
        if isinstance(tokenizer, SentencePieceTokenizer):
            self._silent = tokenizer.special_ids
            self._tokenizer = tensorflow_text.SentencepieceTokenizer(model=path.read_bytes())
            return
        self._silent, pieces = SPECIAL_IDS, read_vocabulary(path)
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(
                pieces, range(len(pieces)), key_dtype=tf.string, value_dtype=tf.int64
            ),
            num_oov_buckets=1,
        )
        self._tokenizer = tensorflow_text.BertTokenizer(
            table, lower_case=spec.lowercase, token_out_type=tf.int32
        )

    def encode(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Return the int32 ids `[N, (ids)]` of strings `[N]`, without start and end."""
        ids = self._tokenizer.tokenize(text)
        return ids.merge_dims(1, -1) if ids.ragged_rank > 1 else ids  # WordPiece's are by word

    def with_special_tokens(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the ids of each line as the encoder reads them, with start and end tokens."""
        *starts, end = (
            tf.fill([ids.nrows(), 1], tf.constant(mark, ids.dtype)) for mark in self._marks
        )
        return tf.concat([*starts, ids, end], axis=1)

    def decode(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Return the text `[N]` of int32 ids `[N, (ids)]`, without those that have no text."""
        keep = tf.ones_like(ids, tf.bool)
        for silent in self._silent:
            keep &= ids != silent
        text = self._tokenizer.detokenize(tf.ragged.boolean_mask(ids, keep))
        if isinstance(text, tf.RaggedTensor):  # the words of WordPiece
            return tf.strings.reduce_join(text, separator=" ", axis=-1)
        return text
