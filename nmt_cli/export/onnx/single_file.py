"""Writing a model with its search as one ONNX file, and comparing it with the run it was made from.

The file's folder also has the tokenizer and a card. See `nmt_cli/export/onnx/search.py` and, for
files that take and return text, `nmt_cli/export/onnx/text.py`.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.bundle import DECODER, ENCODER, TOKENIZER
from nmt_cli.bundle.manifest import Verification
from nmt_cli.errors import ModelError, NmtError
from nmt_cli.export.exporter import FLOAT32, ExportOptions
from nmt_cli.export.onnx.bundle import GATES, calibration_pairs
from nmt_cli.export.onnx.graphs import make_graphs
from nmt_cli.export.onnx.search import search_graph
from nmt_cli.export.onnx.text import text_graph
from nmt_cli.export.onnx.weights import serialized
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import ExportUnderTest, Gates, compare_with_model, passed
from nmt_cli.search.hypotheses import Hypothesis, Segment
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.segments import padded, search_again, with_retries
from nmt_cli.search.translation import Translation
from nmt_cli.text.repetition import NO_REPEAT, repeats
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import PAD_ID, TokenizerPair

MODEL = "model.onnx"

_USAGE = """\
{example}

Split lines of more than {decoding.max_source} tokens into sentences. A sentence's translation does
not depend on the others. These are the settings of the model; `beam_size` 1 is greedy search.
`n_best`, at most `beam_size`, is the number of translations of each sentence. `no_repeat_ngram` N
allows no sequence of N tokens to occur twice; 0 is no limit. Where a translation is empty,
`nmt translate` searches again with `min_length` 1; where it repeats something four times in a row
and its source does not, with `no_repeat_ngram` 3, then 2."""
_SETTINGS = """\
        "beam_size": numpy.array([{decoding.beam_size}]),
        "n_best": numpy.array([1]),
        "length_penalty": numpy.array([{decoding.length_penalty}]),
        "max_length": numpy.array([{decoding.max_length}]),
        "min_length": numpy.array([0]),
        "no_repeat_ngram": numpy.array([0]),
    }})"""
_SENTENCEPIECE = """\
    import numpy, onnxruntime, sentencepiece

    load = sentencepiece.SentencePieceProcessor
    source = load(model_file="THIS_FOLDER/{tokenizer}/{spec.source}")
    target = load(model_file="THIS_FOLDER/{tokenizer}/{spec.target}")
    model = onnxruntime.InferenceSession("THIS_FOLDER/{model}")
    ids, scores = model.run(["ids", "scores"], {{
        "source": numpy.array([[*source.encode("Uma linha."), source.eos_id()]], "int32"),
{settings}
    print(target.decode(ids[0, 0].tolist()))

Pad shorter sentences of a batch with 0. `ids` are padded with 0."""
_WORDPIECE = """\
Split text into pieces of `{tokenizer}/{spec.source}` as BERT's WordPiece tokenizer does,
lower-cased: {spec.lowercase}; pieces beginning with ## continue a word. Give {model} the ids of
[START], the pieces and [END] as `source` (int32), padded with 0, `beam_size` {decoding.beam_size}
(int64), `n_best` 1 (int64), `length_penalty` {decoding.length_penalty} (float64), `max_length`
{decoding.max_length} (int64), `min_length` 0 (int64) and `no_repeat_ngram` 0 (int64). It returns
the best translations of each sentence as `ids`, padded with 0, and their `scores`."""
_TEXT = """\
    import numpy, onnxruntime, onnxruntime_extensions

    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    model = onnxruntime.InferenceSession("THIS_FOLDER/{model}", options)
    translations, scores = model.run(["translation", "scores"], {{
        "text": numpy.array(["Uma linha."]),
{settings}
    print(translations[0, 0])"""


# Translates lines in batches of 16. Its input and output are JSON.
_TEXT_PROCESS = """
import json, sys, numpy, onnxruntime, onnxruntime_extensions
lines, settings = json.load(sys.stdin)
settings = {name: numpy.array(value) for name, value in settings.items()}
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
model = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
found = []
for at in range(0, len(lines), 16):
    text = numpy.array(lines[at : at + 16], object)
    texts, scores = model.run(["translation", "scores"], {"text": text, **settings})
    found += zip(texts.tolist(), scores.tolist())
json.dump(found, sys.stdout)
"""


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write the file and the tokenizer, unverified.

    Raises:
        NmtError: the weights do not fit into one file, or it cannot contain the tokenizer.
    """
    graph, run = trained.step_model.graph, trained.run
    shutil.copytree(trained.tokenizer_folder, folder / TOKENIZER)
    spec, target = trained.spec, trained.tokenizers.target
    if options.with_tokenizer and not isinstance(target, SentencePieceTokenizer):
        raise NmtError(
            f"`with_tokenizer`: {run.recipe.label} has a {spec.kind} tokenizer, and a file can "
            "contain only sentencepiece",
            "export it without `with_tokenizer`",
        )
    graphs = make_graphs(graph, options.precision, pairs=calibration_pairs(run))
    model = search_graph(graphs[ENCODER], graphs[DECODER], graph.caches, trained.decoding)
    if isinstance(target, SentencePieceTokenizer) and options.with_tokenizer:
        tokenizers = [
            (folder / TOKENIZER / name).read_bytes() for name in (spec.source, spec.target)
        ]
        model = text_graph(model, tokenizers[0], tokenizers[1], target.special_ids)
    (folder / MODEL).write_bytes(serialized(model))


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Compare a file's translations with its model's, and write the card with the report."""
    checks, _ = compare_with_model(trained, _under_test(trained, options, folder))
    report = passed(trained, checks, onnxruntime.__version__)
    example = _WORDPIECE if trained.spec.kind == "wordpiece" else _SENTENCEPIECE
    example = _TEXT if options.with_tokenizer else example
    usage = _USAGE.replace("{example}", example.replace("{settings}", _SETTINGS)).format(
        decoding=trained.decoding, spec=trained.spec, tokenizer=TOKENIZER, model=MODEL
    )
    trained.write_card(folder, options.precision, "as one ONNX file", usage, report)
    return report


def _under_test(trained: TrainedModel, options: ExportOptions, folder: Path) -> ExportUnderTest:
    """Load a file for verification; lines that a file of text cannot split are left to the model.

    A file of ids is used through the text path; a file of text does not edit text.
    """
    details: dict[str, Any] = {
        "precision": options.precision,
        "gates": GATES.get(options.precision, Gates()),
        "approximate": options.precision != FLOAT32,
    }
    model = trained.translator(edits_text=not options.with_tokenizer)
    if not options.with_tokenizer:
        search = FileSearch(load_file(folder), trained.tokenizers)
        translator = replace(model, search=search)
        return ExportUnderTest.of(translator, [model.options], **details)

    def translate(lines: Sequence[str], options: SearchOptions) -> Iterator[Translation]:
        passages = model.path.read(lines, [True] * len(lines))
        fits = [len(passage.parts) <= 1 for passage in passages]
        short = [line for line, is_short in zip(lines, fits, strict=True) if is_short]
        translations = iter(search_text(folder, short, options))
        for line, is_short in zip(lines, fits, strict=True):
            yield next(translations if is_short else model.translate([line]))

    return ExportUnderTest(translate, [model.options], edits_text=False, **details)


class FileSearch:
    """A SegmentSearch by the session of a file."""

    def __init__(self, session: Any, tokenizers: TokenizerPair) -> None:
        self._session, self._tokenizers = session, tokenizers

    def search(
        self, batch: Sequence[Segment], options: SearchOptions
    ) -> Sequence[list[Hypothesis]]:
        """Search, and again where a translation is empty or repeats itself."""
        return with_retries(self._once, batch, options, self._tokenizers)

    def _once(self, batch: Sequence[Segment], options: SearchOptions) -> list[list[Hypothesis]]:
        return search_ids(self._session, padded([segment.ids for segment in batch]), options)

    def force(
        self, pairs: Sequence[tuple[list[int], list[int]]], attention: bool
    ) -> Sequence[Hypothesis]:
        """Fail: a file only searches."""
        raise ModelError("a single file neither scores nor aligns translations", "use a bundle")


def load_file(folder: Path) -> Any:
    """Return ONNX Runtime's session of a folder's file, on one core."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(folder / MODEL), options, providers=["CPUExecutionProvider"]
    )


def search_ids(
    session: Any, source: NDArray[np.int32], options: SearchOptions
) -> list[list[Hypothesis]]:
    """The best hypotheses of each source sentence [B, L], by a file of ids."""
    ids, scores = session.run(["ids", "scores"], {"source": source, **_settings(options)})
    lengths = (np.cumsum(ids[..., ::-1] != PAD_ID, axis=2) > 0).sum(axis=2)
    return [
        [
            Hypothesis(row[:length].tolist(), float(score), [])
            for row, length, score in zip(*sentence, strict=True)
            if score > -np.inf
        ]
        for sentence in zip(ids, lengths, scores, strict=True)
    ]


def search_text(folder: Path, lines: Sequence[str], options: SearchOptions) -> list[Translation]:
    """The translation of each line, by a folder's file of text.

    Raises:
        NmtError: the file cannot be run.
    """

    def search(rows: Sequence[int], options: SearchOptions) -> list[Translation]:
        return _search_text(folder, [lines[row] for row in rows], options)

    found = search(range(len(lines)), options)
    if options.no_repeat_ngram is None:
        not_empty = [replace(options, min_length=1)]
        search_again(found, lambda _, each: not each.text, not_empty, search)
        stricter = [replace(options, no_repeat_ngram=size) for size in NO_REPEAT]
        search_again(found, lambda row, each: repeats(each.text, lines[row]), stricter, search)
    return found


def _search_text(folder: Path, lines: Sequence[str], options: SearchOptions) -> list[Translation]:
    """Search once, in another process: with TensorFlow in it, onnxruntime-extensions crashes."""
    settings = {name: each.tolist() for name, each in _settings(options).items()}
    given = json.dumps([lines, settings]).encode()
    words = [sys.executable, "-c", _TEXT_PROCESS, str(folder / MODEL)]
    done = subprocess.run(words, input=given, capture_output=True, check=False)
    if done.returncode:
        problem = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise NmtError(
            f"`with_tokenizer`: onnxruntime-extensions cannot run the file ({problem})",
            "install the versions in constraints.txt, or export without it",
        )
    found = []
    for texts, scores in json.loads(done.stdout):
        pairs = zip(texts, scores, strict=True)
        first, *others = (Translation(*each, ids=[]) for each in pairs if each[1] > -np.inf)
        found.append(replace(first, others=others))
    return found


def _settings(options: SearchOptions) -> dict[str, NDArray[Any]]:
    return {
        "beam_size": np.array([options.beam_size], np.int64),
        "n_best": np.array([options.n_best], np.int64),
        "length_penalty": np.array([options.length_penalty], np.float64),
        "max_length": np.array([options.max_length], np.int64),
        "min_length": np.array([options.min_length], np.int64),
        "no_repeat_ngram": np.array([options.no_repeat_ngram or 0], np.int64),
    }
