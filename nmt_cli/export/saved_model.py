"""``nmt export --saved-model``: a TensorFlow SavedModel, strings in, strings out.

The graph contains the tokenizers and the beam search of nmt_cli/search/beam.py as a tf.while_loop
over the same step function. Of the text path, it has only the sentences, of simpler rules. Comments
name shapes: N lines, B segments (one per sentence, or several; a blank line has none), K beams, t
steps.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import tensorflow as tf
import tensorflow_text

from nmt_cli.bundle.manifest import Verification
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import ExportUnderTest, compare_with_model
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.recipe.model import END_ID, PAD_ID, START_ID, DecodingConfig
from nmt_cli.search.lines import Translation
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.text.lines import BLANK
from nmt_cli.text.reading import LINE_BREAK, WIDE
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import SPECIAL_IDS, TokenizerSpec, load_tokenizers
from nmt_cli.text.word_piece import read_vocabulary

SIGNATURE = "serving_default"
# Where a line is split, in RE2: at white space after a word of some length, and before a capital.
SENTENCE_END = r"((?:[a-zß-ÿ0-9]{3}\.|[!?])[\"'”’»)\]]*)[ \t]+([\"'“‘«(¿¡]*[A-ZÀ-Þ])"
_INF = float("inf")


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write a SavedModel of the whole translator, unverified."""
    tf.get_logger().setLevel("ERROR")  # suppresses notes on serializing tables
    module = TranslationModule(trained.step_model.graph, trained.tokenizer_folder, trained.decoding)
    tf.saved_model.save(module, str(folder), signatures={SIGNATURE: module.translate})


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Compare a SavedModel's translations with its model's, and write the card with the report.

    It searches only once, even if that finds a loop, and splits lines by other rules: sentences are
    compared.
    """
    serve = tf.saved_model.load(str(folder)).signatures[SIGNATURE]

    def translate(lines: Sequence[str], options: SearchOptions) -> list[Translation]:
        outputs = serve(text=tf.constant(lines))
        texts = [text.decode("utf-8") for text in outputs["translation"].numpy()]
        scores = outputs["score"].numpy().tolist()
        return [Translation(*pair, ids=[]) for pair in zip(texts, scores, strict=True)]

    once = DecodingOptions(no_repeat_ngram=0)
    exported = ExportUnderTest(translate, [once], edits_text=False)
    lines = re.sub(SENTENCE_END, r"\1\n\2", "\n".join(trained.held_out[0])).split("\n")
    sentences = replace(trained, held_out=(lines, []))
    report = trained.passed(compare_with_model(sentences, exported)[0])
    return trained.write_card(folder, options.precision, "as a SavedModel", "saved-model", report)


class TranslationModule(tf.Module):
    """A whole translator as TensorFlow functions; ``tokenizers`` is the folder of their files."""

    def __init__(self, graph: StepGraph, tokenizers: Path, decoding: DecodingConfig) -> None:
        super().__init__()
        self._decoding = decoding
        self._search = GraphSearch(graph, decoding)
        self.source = GraphTokenizer(tokenizers, "source")
        self.target = GraphTokenizer(tokenizers, "target")
        # Saved with the graph, which does not need the Keras model.
        self.weights = [variable.value for variable in graph.model.weights]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")], autograph=False)
    def translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Lines string [N] to {"translation": string [N], "score": float32 [N]}."""
        blank = tf.strings.regex_full_match(text, BLANK.pattern)
        segments, counts = self._split(tf.where(blank, "", text))  # ragged [B, (ids)], [N]
        framed = self.source.with_special_tokens(segments)
        lengths = framed.row_lengths()
        source = framed.to_tensor(PAD_ID)
        # Empty text has no column, but recurrent layers read the first one.
        source = tf.pad(source, [[0, 0], [0, tf.maximum(0, 1 - tf.shape(source)[1])]])
        ids, scores = self._search.search(source, lengths)  # ragged, float64 [B]
        decoded = tf.strings.regex_replace(self.target.decode(ids), LINE_BREAK.pattern, " ")
        translations = tf.RaggedTensor.from_row_lengths(decoded, counts)
        joined = tf.strings.reduce_join(translations, separator="\n", axis=-1)
        joined = tf.strings.regex_replace(joined, f"([{WIDE}-\U0010ffff])\n", "\\1")
        joined = tf.strings.regex_replace(joined, "\n", " ")
        sums = tf.reduce_sum(tf.RaggedTensor.from_row_lengths(scores, counts), axis=-1)
        return {"translation": tf.where(blank, text, joined), "score": tf.cast(sums, tf.float32)}

    def _split(self, text: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Ids of each segment [B, (ids)], and the number of segments of each line [N]."""
        limit = tf.constant(self._decoding.max_source, tf.int64)
        text = tf.strings.regex_replace(text, "\n", " ")
        split = tf.strings.regex_replace(text, SENTENCE_END, "\\1\n\\2")
        sentences = tf.strings.split(split, "\n")  # [N, (sentences)]
        ids = self.source.encode(sentences.flat_values)
        lengths = ids.row_lengths()
        # Few parts of about the same length: a short rest would have no context. A blank
        # sentence has none.
        parts = tf.maximum(-(-lengths // limit), 1)
        size = tf.maximum(-(-lengths // parts), 1)
        starts = tf.ragged.range(tf.zeros_like(lengths), lengths, size)
        sizes = tf.minimum(size[:, None], lengths[:, None] - starts)
        ids = tf.RaggedTensor.from_row_lengths(ids.flat_values, sizes.flat_values)
        of_line = tf.RaggedTensor.from_row_lengths(starts.row_lengths(), sentences.row_lengths())
        return ids, tf.reduce_sum(of_line, axis=-1)


class _Beams(NamedTuple):
    """The loop's variables; see nmt_cli.search.beam.Beams for the others."""

    step: Any
    sums: Any
    last: Any
    history: Any
    ancestry: Any
    finished: Any
    done: Any
    best_score: Any  # float64 [B], -inf while nothing is finished
    best_ids: Any  # int32 [B, t], the best hypothesis, padded
    best_length: Any  # int32 [B]
    caches: list[Any]


@dataclass(frozen=True)
class GraphSearch:
    """Beam search inside a graph, in which its settings are fixed."""

    graph: StepGraph
    decoding: DecodingConfig

    def search(self, source: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Best hypothesis of each segment: ids ragged [B, (ids)] and score float64 [B]."""
        decoding, caches = self.decoding, self.graph.caches.values()
        beams, count = decoding.beam_size, tf.shape(source)[0]
        reach = tf.math.ceil(decoding.length_ratio * tf.cast(lengths, tf.float64))
        limits = tf.minimum(decoding.max_length, tf.cast(reach, tf.int32) + decoding.length_extra)
        encoder_output = self.graph.encode(source)
        start = _Beams(
            step=tf.constant(0),
            sums=tf.concat([tf.zeros([count, 1]), tf.fill([count, beams - 1], -_INF)], axis=1),
            last=tf.fill([count, beams], START_ID),
            history=tf.zeros([count, beams, 0], tf.int32),
            ancestry=tf.zeros([count, beams, 0], tf.bool),
            finished=tf.zeros([count], tf.int32),
            done=tf.zeros([count], tf.bool),
            best_score=tf.fill([count], tf.constant(-_INF, tf.float64)),
            best_ids=tf.zeros([count, 0], tf.int32),
            best_length=tf.zeros([count], tf.int32),
            caches=[tf.zeros([count, heads, 0, size]) for _, heads, _, size in caches],
        )
        shapes = tf.nest.map_structure(  # of any step: axes that are 0 so far grow
            lambda value: tf.TensorShape([size or None for size in value.shape]), start
        )
        final = tf.while_loop(
            lambda *state: ~tf.reduce_all(_Beams(*state).done),
            lambda *state: self._advance(_Beams(*state), encoder_output, limits),
            start,
            shape_invariants=shapes,
        )
        ids = tf.RaggedTensor.from_tensor(final.best_ids, lengths=final.best_length)
        return ids, final.best_score

    def _advance(self, beams: _Beams, encoder_output: list[Any], limits: tf.Tensor) -> _Beams:
        """One step: rank candidates, fill free slots, keep the best finished, close sentences."""
        width = self.decoding.beam_size
        shape = [tf.shape(beams.sums)[0], width, width]
        present = tf.broadcast_to(tf.eye(width, dtype=tf.bool), shape)
        ancestry = tf.concat([beams.ancestry, present], axis=2)
        scores, ids, _, caches = self.graph.step(
            beams.last, beams.step[None], ancestry, encoder_output, beams.caches
        )
        step = beams.step + 1
        parents, tokens, sums = _rank(beams.sums, scores, ids)
        is_taken = tf.range(width)[None, :] >= (width - beams.finished)[:, None]
        sums = tf.where(is_taken, -_INF, sums)
        past = tf.gather(beams.history, parents, batch_dims=1)  # [B, K, t]
        history = tf.concat([past, tokens[..., None]], axis=2)

        ends = (tokens == END_ID) & (sums > -_INF) & ~beams.done[:, None]
        scored = tf.cast(tf.where(ends, sums, -_INF), tf.float64) / self._penalty(step)
        slot = tf.argmax(scored, axis=1, output_type=tf.int32)
        better = tf.reduce_max(scored, axis=1) > beams.best_score
        best_score = tf.where(better, tf.reduce_max(scored, axis=1), beams.best_score)
        best_length = tf.where(better, step - 1, beams.best_length)
        ended = tf.gather(past, slot, batch_dims=1)  # [B, t]
        best_ids = tf.pad(tf.where(better[:, None], ended, beams.best_ids), [[0, 0], [0, 1]])

        # At its limit, a sentence without a finished hypothesis takes its best open beam.
        sums = tf.where(ends, -_INF, sums)
        at_limit, open_score = step >= limits, tf.cast(tf.reduce_max(sums, axis=1), tf.float64)
        cut = ~beams.done & tf.math.is_inf(best_score) & at_limit
        best_score = tf.where(cut, open_score / self._penalty(step), best_score)
        best_length = tf.where(cut, step, best_length)
        slot = tf.argmax(sums, axis=1, output_type=tf.int32)
        best_ids = tf.where(cut[:, None], tf.gather(history, slot, batch_dims=1), best_ids)
        done = beams.done | at_limit | (open_score / self._penalty(limits) <= best_score)
        return _Beams(
            step=step,
            sums=tf.where(done[:, None], -_INF, sums),
            last=tokens,
            history=history,
            ancestry=tf.gather(ancestry, parents, batch_dims=1),
            finished=beams.finished + tf.reduce_sum(tf.cast(ends, tf.int32), axis=1),
            done=done,
            best_score=best_score,
            best_ids=best_ids,
            best_length=best_length,
            caches=caches,
        )

    def _penalty(self, length: tf.Tensor) -> tf.Tensor:
        """Like nmt_cli.search.hypotheses.penalty, in float64."""
        return ((5.0 + tf.cast(length, tf.float64)) / 6.0) ** self.decoding.length_penalty


def _rank(sums: tf.Tensor, scores: tf.Tensor, ids: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """The K best continuations of each sentence: parent beam, token, sum; each [B, K]."""
    count, beams = tf.shape(ids)[0], sums.shape[1]
    candidates = tf.shape(ids)[2]
    totals = tf.reshape(sums[..., None] + scores, [count, beams * candidates])
    flat = tf.reshape(ids, [count, beams * candidates])
    # Sorted by token, then stably by total: equal totals are ordered by token, lower first.
    by_token = tf.argsort(flat, axis=1, stable=True)
    by_total = tf.argsort(
        tf.gather(totals, by_token, batch_dims=1), axis=1, direction="DESCENDING", stable=True
    )
    order = tf.gather(by_token, by_total[:, :beams], batch_dims=1)
    tokens, best = (tf.gather(values, order, batch_dims=1) for values in (flat, totals))
    return order // candidates, tokens, best


class GraphTokenizer(tf.Module):
    """Text to ids and back, as TensorFlow operations. Strings are valid UTF-8.

    Ids and text are those of `nmt_cli.text` (tested in `tests/parity`). The graph contains the
    vocabulary: a SavedModel needs no other file.
    """

    def __init__(self, folder: Path, side: Literal["source", "target"]) -> None:
        super().__init__()
        tokenizer, spec = getattr(load_tokenizers(folder), side), TokenizerSpec.read(folder)
        path = folder / getattr(spec, side)
        self._special = tuple(tokenizer.with_special_tokens([]))
        if isinstance(tokenizer, SentencePieceTokenizer):
            self._without_text = tokenizer.special_ids
            self._tokenizer = tensorflow_text.SentencepieceTokenizer(model=path.read_bytes())
            return
        self._without_text, pieces = SPECIAL_IDS, read_vocabulary(path)
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
            tf.fill([ids.nrows(), 1], tf.constant(token, ids.dtype)) for token in self._special
        )
        return tf.concat([*starts, ids, end], axis=1)

    def decode(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Return the text `[N]` of int32 ids `[N, (ids)]`, without those that have no text."""
        keep = tf.ones_like(ids, tf.bool)
        for token in self._without_text:
            keep &= ids != token
        text = self._tokenizer.detokenize(tf.ragged.boolean_mask(ids, keep))
        if isinstance(text, tf.RaggedTensor):  # the words of WordPiece
            return tf.strings.reduce_join(text, separator=" ", axis=-1)
        return text
