"""Writing a model with its search as one ONNX file, and comparing it with the run it was made from.

The file's folder also has the tokenizer and a card. See `nmt_cli/export/onnx/search.py`.
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from nmt_cli import __version__
from nmt_cli.bundle import DECODER, ENCODER, TOKENIZER
from nmt_cli.bundle.description import LICENCE, training_text
from nmt_cli.bundle.report import Verification
from nmt_cli.export.exporter import ExportOptions, Trained
from nmt_cli.export.onnx.bundle import GATES, calibration_pairs
from nmt_cli.export.onnx.graphs import make_graphs
from nmt_cli.export.onnx.search import search_graph
from nmt_cli.export.verification import Exported, Gates, compare_with_model, passed
from nmt_cli.recipe.decoding import DecodingConfig
from nmt_cli.search.batching import padded
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.processors import Processor
from nmt_cli.search.ranking import Hypothesis
from nmt_cli.search.rejoining import Translation
from nmt_cli.search.translator import Segment, Translator
from nmt_cli.text.folder import TokenizerSpec
from nmt_cli.text.tokenizer import PAD_ID

MODEL = "model.onnx"

_CARD = """\
# {recipe.label}: {recipe.data.source} to {recipe.data.target}, as one ONNX file

Weights in {precision}, exported by nmt {version}.

## Use

{usage}

Pad shorter sentences of a batch with 0, and split lines of more than {decoding.max_source} tokens
into sentences. A sentence's translation does not depend on the others. These are the settings of
the model; `beam_size` 1 is greedy search. `ids` are padded with 0.

## Training

{licence}

{text}

## Verification

{report}
"""
_SENTENCEPIECE = """\
    import numpy, onnxruntime, sentencepiece

    load = sentencepiece.SentencePieceProcessor
    source = load(model_file="THIS_FOLDER/{folder}/{spec.source}")
    target = load(model_file="THIS_FOLDER/{folder}/{spec.target}")
    model = onnxruntime.InferenceSession("THIS_FOLDER/{model}")
    ids, scores = model.run(["ids", "scores"], {{
        "source": numpy.array([[*source.encode("Uma linha."), source.eos_id()]], "int32"),
        "beam_size": numpy.array([{decoding.beam_size}]),
        "length_penalty": numpy.array([{decoding.length_penalty}]),
        "max_length": numpy.array([{decoding.max_length}]),
    }})
    print(target.decode(ids[0].tolist()))"""
_WORDPIECE = """\
Split text into pieces of `{folder}/{spec.source}` as BERT's WordPiece tokenizer does, lower-cased:
{spec.lowercase}; pieces beginning with ## continue a word. Give {model} the ids of [START], the
pieces and [END] as `source`, int32 [B, S], with `beam_size` {decoding.beam_size} (int64 [1]),
`length_penalty` {decoding.length_penalty} (float64 [1]) and `max_length` {decoding.max_length}
(int64 [1]). It returns `ids`, int32 [B, T], and `scores`."""


def write(trained: Trained, options: ExportOptions, folder: Path) -> None:
    """Write the file and the tokenizer, unverified.

    Raises:
        NmtError: the weights do not fit into one file.
    """
    graph, run = trained.step_model.graph, trained.run
    protos, _ = make_graphs(graph, options.precision, pairs=calibration_pairs(run))
    found = search_graph(protos[ENCODER], protos[DECODER], graph.caches, trained.decoding)
    onnx.save(found, str(folder / MODEL))
    shutil.copytree(run.folder / "tokenizer", folder / TOKENIZER)


def verify(trained: Trained, options: ExportOptions, folder: Path) -> Verification:
    """Compare a file's translations with its model's, and write the card with the report.

    Raises:
        NmtError: the verification failed.
    """
    checks, _ = compare_with_model(trained, _ExportedFile(trained, folder, options.precision))
    report = passed(trained, checks, onnxruntime.__version__)
    recipe, spec = trained.run.recipe, TokenizerSpec.read(folder / TOKENIZER)
    usage = _WORDPIECE if spec.kind == "wordpiece" else _SENTENCEPIECE
    card = _CARD.format(
        recipe=recipe,
        precision=options.precision,
        version=__version__,
        usage=usage.format(folder=TOKENIZER, spec=spec, decoding=trained.decoding, model=MODEL),
        decoding=trained.decoding,
        licence=LICENCE,
        text=training_text(trained.run.provenance()),
        report="\n".join(f"- {line}" for line in report.lines()),
    )
    (folder / "MODEL_CARD.md").write_text(card, encoding="utf-8")
    return report


class _ExportedFile(Exported):
    """A file as verification runs it: it searches only once, even if that finds a loop."""

    def __init__(self, trained: Trained, folder: Path, precision: str) -> None:
        self.precision, self.gates = precision, GATES.get(precision, Gates())
        self.searches = [SearchOptions.of(trained.decoding, DecodingOptions(no_repeat_ngram=0))]
        self._trained, self._session = trained, load_file(folder)

    def translate(self, lines: Sequence[str], options: SearchOptions) -> Iterable[Translation]:
        tokenizers, longest = self._trained.run.tokenizers(), self._trained.decoding.max_source
        return _FileTranslator(self._session, tokenizers, options, longest).translate(lines)


class _FileTranslator(Translator):
    """A translator whose model is the session of a file."""

    model: Any

    def _beam_search(
        self, batch: list[Segment], processors: Sequence[Processor]
    ) -> list[list[Hypothesis]]:
        return [
            [each]
            for each in search(self.model, padded([each.ids for each in batch]), self.options)
        ]


def load_file(folder: Path) -> Any:
    """Return ONNX Runtime's session of a folder's file, on one core."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(folder / MODEL), options, providers=["CPUExecutionProvider"]
    )


def search(
    session: Any, source: NDArray[np.int32], options: SearchOptions | DecodingConfig
) -> list[Hypothesis]:
    """The best hypothesis of each source sentence [B, S], by a file."""
    inputs = {
        "source": source,
        "beam_size": np.array([options.beam_size], np.int64),
        "length_penalty": np.array([options.length_penalty], np.float64),
        "max_length": np.array([options.max_length], np.int64),
    }
    ids, scores = session.run(["ids", "scores"], inputs)
    lengths = (np.cumsum(ids[:, ::-1] != PAD_ID, axis=1) > 0).sum(axis=1)
    return [
        Hypothesis(row[:length].tolist(), float(score), [])
        for row, length, score in zip(ids, lengths, scores, strict=True)
    ]
