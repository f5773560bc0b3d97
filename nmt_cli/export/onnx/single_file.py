"""Write a model with its search as one ONNX file, and compare it with the run it was made from.

The file's folder also has the tokenizer and a card. See `nmt_cli/export/onnx/search.py`.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from nmt_cli.bundle import DECODER, ENCODER, TOKENIZER
from nmt_cli.bundle.manifest import Verification
from nmt_cli.errors import ModelError, OutputError, ResourceError
from nmt_cli.export.exporter import ExportOptions
from nmt_cli.export.onnx.bundle import GATES, calibration_pairs
from nmt_cli.export.onnx.graphs import make_graphs
from nmt_cli.export.onnx.library import serialized
from nmt_cli.export.onnx.search import search_graph, search_inputs, text_graph
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import ExportUnderTest, compare_with_model
from nmt_cli.search.hypotheses import Hypotheses, Hypothesis, Pairs, Segment
from nmt_cli.search.lines import Translation
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.segments import padded, repeats, search_segments, with_retries
from nmt_cli.text.sentence_piece import SentencePieceTokenizer
from nmt_cli.text.tokenizer import PAD_ID, Tokenizer, TokenizerPair

MODEL = "model.onnx"


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write the file and the tokenizer, unverified."""
    graph = trained.step_model.graph
    shutil.copytree(trained.tokenizer_folder, folder / TOKENIZER)
    spec, target = trained.spec, trained.tokenizers.target
    if options.with_tokenizer and not isinstance(target, SentencePieceTokenizer):
        raise OutputError(
            f"{trained.run.recipe.label} has a {spec.kind} tokenizer, and a file can contain only "
            "sentencepiece",
            "export it without `with_tokenizer`",
        )
    pairs, given = calibration_pairs(trained), trained.run.quantization
    graphs = make_graphs(graph, options.precision, pairs=pairs, given=given)
    model = search_graph(graphs[ENCODER], graphs[DECODER], graph.caches, trained.decoding)
    if isinstance(target, SentencePieceTokenizer) and options.with_tokenizer:
        files = (folder / TOKENIZER / name for name in (spec.source, spec.target))
        source_model, target_model = (file.read_bytes() for file in files)
        model = text_graph(model, source_model, target_model, target.special_ids)
    (folder / MODEL).write_bytes(serialized(model))


def verify(
    trained: TrainedModel,
    options: ExportOptions,
    folder: Path,
    form: str = "as one ONNX file",
    usage: str = "",
) -> Verification:
    """Compare a file's translations with its model's, and write the card with the report.

    Args:
        form, usage: of the card, for a folder that is used in another way; see ``write_card``.
    """
    checks, _ = compare_with_model(trained, _under_test(trained, options, folder))
    report = trained.passed(checks, onnxruntime.__version__)
    usage = usage or f"single-file-{'text' if options.with_tokenizer else trained.spec.kind}"
    return trained.write_card(folder, options.precision, form, usage, report)


def _under_test(trained: TrainedModel, options: ExportOptions, folder: Path) -> ExportUnderTest:
    """Load a file: one of ids is used through the text path, one of text does not edit text."""
    precision = options.precision
    details: dict[str, Any] = {"precision": precision, "gates": GATES.get(precision)}
    if options.with_tokenizer:
        search_lines = partial(search_text, folder / MODEL, trained.tokenizers.target)
        return ExportUnderTest(search_lines, edits_text=False, **details)
    search = FileSearch(load_file(folder), trained.tokenizers)
    return ExportUnderTest.of(
        replace(trained.translator(edits_text=True), search=search), **details
    )


class FileSearch:
    """A SegmentSearch by the session of a file."""

    def __init__(self, session: Any, tokenizers: TokenizerPair) -> None:
        self._session, self._tokenizers = session, tokenizers

    def search(self, batch: Sequence[Segment], options: SearchOptions) -> Hypotheses:
        """Search, and again where a translation is empty or repeats itself."""
        return search_segments(self._once, batch, options, self._tokenizers)

    def _once(self, batch: Sequence[Segment], options: SearchOptions) -> Hypotheses:
        return search_ids(self._session, padded([segment.ids for segment in batch]), options)

    def force(self, pairs: Pairs, attention: bool) -> Sequence[Hypothesis]:
        """Fail: a file only searches."""
        raise ModelError("a single file neither scores nor aligns translations", "use a bundle")


def load_file(folder: Path) -> Any:
    """Return ONNX Runtime's session of a folder's file, on one core."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(folder / MODEL), options, providers=["CPUExecutionProvider"]
    )


def search_ids(session: Any, source: NDArray[np.int32], options: SearchOptions) -> Hypotheses:
    """Return the best hypotheses of each source sentence [B, L], by a file of ids."""
    ids, scores = session.run(["ids", "scores"], {"source": source, **search_inputs(options)})
    lengths = (np.cumsum(ids[..., ::-1] != PAD_ID, axis=2) > 0).sum(axis=2)
    return [
        [
            Hypothesis(row[:length].tolist(), float(score), [])
            for row, length, score in zip(*sentence, strict=True)
            if score > -np.inf
        ]
        for sentence in zip(ids, lengths, scores, strict=True)
    ]


def search_text(
    file: Path, target: Tokenizer, lines: Sequence[str], options: SearchOptions
) -> list[Translation]:
    """Translate lines with a file of text, which has this target tokenizer."""

    def search(rows: Sequence[int], options: SearchOptions) -> list[Translation]:
        return _search_text(file, [lines[row] for row in rows], options)

    def is_loop(row: int, result: Translation) -> bool:
        return repeats(result.text, lines[row])

    def is_empty(row: int, result: Translation) -> bool:
        return not result.text

    return with_retries(search, len(lines), options, is_empty, is_loop, target)


def _search_text(file: Path, lines: Sequence[str], options: SearchOptions) -> list[Translation]:
    settings = {name: value.tolist() for name, value in search_inputs(options).items()}
    program = Path(__file__).with_name("text_process.py")
    done = subprocess.run(
        [sys.executable, "-P", program, file],
        input=json.dumps([lines, settings]).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        problem = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ResourceError(
            f"onnxruntime-extensions cannot run the file ({problem})",
            "install the versions in constraints.txt, or export without `with_tokenizer`",
        )
    results = []
    for texts, scores in json.loads(done.stdout):
        pairs = [pair for pair in zip(texts, scores, strict=True) if pair[1] > -np.inf]
        first, *others = (Translation(text, score, ids=[]) for text, score in pairs)
        results.append(replace(first, others=others))
    return results
