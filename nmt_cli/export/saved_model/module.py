"""Write a SavedModel, and compare it with the trained model.

Comments name shapes: N lines, B segments (usually one per line; an over-long line has several, a
blank one none).
"""

from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf

from nmt_cli.bundle.manifest import Verification
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.saved_model.search import GraphSearch
from nmt_cli.export.saved_model.tokenizer import GraphTokenizer
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import ExportUnderTest, compare_with_model, passed
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.recipe.decoding import DecodingConfig
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.translation import Translation
from nmt_cli.text.lines import BLANK
from nmt_cli.text.path import LINE_BREAK, SENTENCE_END
from nmt_cli.text.tokenizer import PAD_ID

SIGNATURE = "serving_default"


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write a SavedModel of the whole translator, unverified."""
    tf.get_logger().setLevel("ERROR")  # suppresses notes on serializing tables
    module = TranslationModule(trained.step_model.graph, trained.tokenizer_folder, trained.decoding)
    tf.saved_model.save(module, str(folder), signatures={SIGNATURE: module.translate})


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Compare a SavedModel's translations with its model's.

    It searches only once, even if that finds a loop, and does not edit text.
    """
    serve = tf.saved_model.load(str(folder)).signatures[SIGNATURE]

    def translate(lines: Sequence[str], options: SearchOptions) -> list[Translation]:
        outputs = serve(text=tf.constant(lines))
        texts = [text.decode("utf-8") for text in outputs["translation"].numpy()]
        scores = outputs["score"].numpy().tolist()
        pairs = zip(texts, scores, strict=True)
        return [Translation(text, score, ids=[]) for text, score in pairs]

    once = SearchOptions.of(trained.decoding, DecodingOptions(no_repeat_ngram=0))
    exported = ExportUnderTest(translate, [once], edits_text=False)
    checks, _ = compare_with_model(trained, exported)
    return passed(trained, checks)


class TranslationModule(tf.Module):
    """A whole translator as TensorFlow functions, in which the settings of the search are fixed.

    ``tokenizers`` is the folder of their files.
    """

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
        translations = tf.RaggedTensor.from_row_lengths(self.target.decode(ids), counts)
        joined = tf.strings.reduce_join(translations, separator=" ", axis=-1)
        joined = tf.where(blank, text, joined)
        sums = tf.reduce_sum(tf.RaggedTensor.from_row_lengths(scores, counts), axis=-1)
        return {
            "translation": tf.strings.regex_replace(joined, LINE_BREAK.pattern, " "),
            "score": tf.cast(sums, tf.float32),
        }

    def _split(self, text: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Ids of each segment [B, (ids)], and the number of segments of each line [N]."""
        limit = tf.constant(self._decoding.max_source, tf.int64)
        text = tf.strings.regex_replace(text, "\n", " ")  # used below to separate sentences
        whole = self.source.encode(text).row_lengths()
        split = tf.strings.regex_replace(text, SENTENCE_END, "\\1\n")
        sentences = tf.strings.split(tf.where(whole > limit, split, text), "\n")  # [N, (sentences)]
        ids = self.source.encode(sentences.flat_values)
        lengths = ids.row_lengths()
        # As text.path.even_parts does; a blank sentence has none.
        parts = tf.maximum(-(-lengths // limit), 1)
        size = tf.maximum(-(-lengths // parts), 1)
        starts = tf.ragged.range(tf.zeros_like(lengths), lengths, size)
        sizes = tf.minimum(size[:, None], lengths[:, None] - starts)
        ids = tf.RaggedTensor.from_row_lengths(ids.flat_values, sizes.flat_values)
        of_line = tf.RaggedTensor.from_row_lengths(starts.row_lengths(), sentences.row_lengths())
        return ids, tf.reduce_sum(of_line, axis=-1)
