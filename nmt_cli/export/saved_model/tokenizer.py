"""The tokenizers as TensorFlow graphs, for exported models that take and return strings.

They return the same ids and text as those of `nmt_cli.text` (tested in `tests/parity`), and
contain their vocabulary: a SavedModel needs no other file.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Literal

import tensorflow as tf
import tensorflow_text

from nmt_cli.text.folder import TokenizerSpec
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import END_ID, FRAMING_IDS, START_ID
from nmt_cli.text.word_piece import read_vocabulary


class GraphTokenizer(tf.Module, ABC):
    """Text to ids and back, in TensorFlow operations. Strings are valid UTF-8.

    Attributes:
        silent_ids: ids that decoding drops.
    """

    silent_ids: frozenset[int] = FRAMING_IDS

    @abstractmethod
    def encode(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Return the int32 ids `[N, (ids)]` of strings `[N]`, without start and end."""

    @abstractmethod
    def frame_source(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the ids of each line as the encoder reads them, with end tokens."""

    def decode(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Return the text `[N]` of int32 ids `[N, (ids)]`, without the silent ones."""
        keep = tf.ones_like(ids, tf.bool)
        for silent in self.silent_ids:
            keep &= ids != silent
        return self._join(tf.ragged.boolean_mask(ids, keep))

    @abstractmethod
    def _join(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Return the text of ids without silent ones."""


def graph_tokenizer(folder: Path, side: Literal["source", "target"]) -> GraphTokenizer:
    """Build the tokenizer of one side from the files of `load_tokenizers`.

    Raises:
        NmtError: a file is missing, corrupt or of another kind than recorded.
    """
    spec = TokenizerSpec.read(folder)
    path = folder / (spec.source if side == "source" else spec.target)
    if spec.kind == "sentencepiece":
        # Of two vocabularies, only the source side's has the tag.
        tagged = side == "source" or spec.source == spec.target
        return SentencePieceGraph(path, spec.tag if tagged else "")
    return WordPieceGraph(path, lowercase=spec.lowercase)


class SentencePieceGraph(GraphTokenizer):
    """SentencePiece, its model a constant of the graph."""

    def __init__(self, path: Path, tag: str = "") -> None:
        super().__init__()
        # Fails with a clear message where the operation would not.
        self.silent_ids = SentencePieceTokenizer(path, tag).silent_ids
        self._tokenizer = tensorflow_text.SentencepieceTokenizer(model=path.read_bytes())

    def encode(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Return the int32 ids `[N, (ids)]` of strings `[N]`, without start and end."""
        return self._tokenizer.tokenize(text)

    def frame_source(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the ids of each line followed by the end token."""
        return tf.concat([ids, _column(END_ID, ids)], axis=1)

    def _join(self, ids: tf.RaggedTensor) -> tf.Tensor:
        return self._tokenizer.detokenize(ids)


class WordPieceGraph(GraphTokenizer):
    """WordPiece, its vocabulary a constant of the graph."""

    def __init__(self, path: Path, *, lowercase: bool) -> None:
        super().__init__()
        pieces = read_vocabulary(path)
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(
                pieces, range(len(pieces)), key_dtype=tf.string, value_dtype=tf.int64
            ),
            num_oov_buckets=1,
        )
        self._tokenizer = tensorflow_text.BertTokenizer(
            table, lower_case=lowercase, token_out_type=tf.int32
        )

    def encode(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Return the int32 ids `[N, (ids)]` of strings `[N]`, without start and end."""
        return self._tokenizer.tokenize(text).merge_dims(-2, -1)

    def frame_source(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the ids of each line between a start and an end token."""
        return tf.concat([_column(START_ID, ids), ids, _column(END_ID, ids)], axis=1)

    def _join(self, ids: tf.RaggedTensor) -> tf.Tensor:
        words = self._tokenizer.detokenize(ids)
        return tf.strings.reduce_join(words, separator=" ", axis=-1)


def _column(value: int, beside: tf.RaggedTensor) -> tf.Tensor:
    """Return one id for each row of `beside`, to be concatenated with it."""
    return tf.fill([beside.nrows(), 1], tf.constant(value, beside.dtype))
