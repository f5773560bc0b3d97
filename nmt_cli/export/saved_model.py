"""``nmt export --saved-model``: strings in, strings out, in one TensorFlow graph.

Comments name shapes: N lines, B pieces (a line as a rule; an over-long line has several, a
blank one none).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from nmt_cli.export.graph_search import GraphSearch
from nmt_cli.export.graph_tokenizer import graph_tokenizer
from nmt_cli.export.verify import (
    HARD_LINES,
    TRANSLATED_SENTENCES,
    Comparison,
    compare_translations,
)
from nmt_cli.files import replacing_folder
from nmt_cli.model.build import step_graph
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.rejoining import LINE_BREAK
from nmt_cli.search.translator import SENTENCE_END, Translator
from nmt_cli.text.tokenizer import PAD_ID
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run

MARKER = "saved_model.pb"


def export_saved_model(
    run: Run,
    checkpoint: Path,
    decoding: DecodingConfig,
    folder: Path,
    say: Callable[[str], None] = print,
) -> Comparison:
    """Write, verify and put in place the SavedModel of a run.

    Args: as :func:`nmt_cli.export.onnx_bundle.export_onnx`.

    Raises:
        NmtError: the run is damaged, the verification fails, or the folder cannot be
            written.
    """
    tf.get_logger().setLevel("ERROR")  # its notes on serializing tables are for itself
    model, _ = trained_model(run, checkpoint)
    graph = step_graph(model)
    module = TranslationModule(graph, run.folder / "tokenizer", decoding)
    with replacing_folder(folder, MARKER) as work:
        say("tracing tokenizer, encoder, search and detokenizer into one graph")
        tf.saved_model.save(module, str(work), signatures={"serving_default": module.translate})
        say("verifying against the trained model")
        comparison = _verify(run, KerasStepModel(model), decoding, work)
    say(f"  sentences translated alike: {comparison.sentences - comparison.ties}")
    return comparison


def _verify(run: Run, original: KerasStepModel, decoding: DecodingConfig, folder: Path) -> Any:
    lines = [*run.held_out()[0][:TRANSLATED_SENTENCES], *HARD_LINES]
    translator = Translator(
        original, run.tokenizers(), SearchOptions.of(decoding), decoding.max_source
    )
    serve = tf.saved_model.load(str(folder)).signatures["serving_default"]
    outputs = serve(text=tf.constant(lines))
    texts = [each.decode("utf-8") for each in outputs["translation"].numpy()]
    found = list(zip(texts, outputs["score"].numpy().tolist(), strict=True))
    expected = list(translator.translate(lines))
    return compare_translations(lines, expected, found, "the SavedModel")


class TranslationModule(tf.Module):
    """A whole translator as TensorFlow functions.

    Args:
        graph: the step graphs.
        tokenizers: folder of the tokenizer files.
        decoding: settings of the search, fixed in the graph.
    """

    def __init__(self, graph: StepGraph, tokenizers: Path, decoding: DecodingConfig) -> None:
        super().__init__()
        self._decoding = decoding
        self._search = GraphSearch(graph, decoding)
        self.source = graph_tokenizer(tokenizers, "source")
        self.target = graph_tokenizer(tokenizers, "target")
        # What the saved graph keeps; the Keras model itself is not needed to serve.
        self.weights = [variable.value for variable in graph.model.weights]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")], autograph=False)
    def translate(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Lines string [N] to {"translation": string [N], "score": float32 [N]}."""
        pieces, counts = self._split(text)  # ragged [B, (ids)], [N]
        framed = self.source.frame_source(pieces)
        lengths = framed.row_lengths()
        source = framed.to_tensor(PAD_ID)
        # Of no text there is no column, and recurrent layers read the first one.
        source = tf.pad(source, [[0, 0], [0, tf.maximum(0, 1 - tf.shape(source)[1])]])
        ids, scores = self._search.search(source, lengths)  # ragged, float64 [B]
        translations = tf.RaggedTensor.from_row_lengths(self.target.decode(ids), counts)
        joined = tf.strings.reduce_join(translations, separator=" ", axis=-1)
        sums = tf.reduce_sum(tf.RaggedTensor.from_row_lengths(scores, counts), axis=-1)
        return {
            "translation": tf.strings.regex_replace(joined, LINE_BREAK.pattern, " "),
            "score": tf.cast(sums, tf.float32),
        }

    def _split(self, text: tf.Tensor) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Ids of each piece [B, (ids)], and how many pieces each line has [N]."""
        limit = tf.constant(self._decoding.max_source, tf.int64)
        text = tf.strings.regex_replace(text, "\n", " ")  # below, it parts sentences
        whole = self.source.encode(text).row_lengths()
        parted = tf.strings.regex_replace(text, SENTENCE_END, "\\1\n")
        sentences = tf.strings.split(tf.where(whole > limit, parted, text), "\n")  # [N, (parts)]
        ids = self.source.encode(sentences.flat_values)
        lengths = ids.row_lengths()
        chunks = -tf.math.floordiv(-lengths, limit)  # of each sentence; none if it is blank
        ids = tf.RaggedTensor.from_row_lengths(ids.flat_values, _chunked(lengths, chunks, limit))
        of_line = tf.RaggedTensor.from_row_lengths(chunks, sentences.row_lengths())
        return ids, tf.reduce_sum(of_line, axis=-1)


def _chunked(lengths: tf.Tensor, chunks: tf.Tensor, limit: tf.Tensor) -> tf.Tensor:
    """Lengths of the pieces when each row is cut after every ``limit`` ids."""
    row = tf.repeat(tf.range(tf.size(chunks)), chunks)  # of each piece
    first = tf.cumsum(chunks, exclusive=True)
    number = tf.range(tf.size(row, tf.int64)) - tf.gather(first, row)  # within its row
    return tf.minimum(limit, tf.gather(lengths, row) - number * limit)
