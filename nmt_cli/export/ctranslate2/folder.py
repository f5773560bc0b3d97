"""Writing a CTranslate2 folder, and comparing it with the run it was made from."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from nmt_cli.bundle.report import Check, Verification
from nmt_cli.export.ctranslate2.card import ctranslate2_card
from nmt_cli.export.ctranslate2.spec import LONGEST, write_weights
from nmt_cli.export.ctranslate2.translator import FORMAT, SETTINGS, TOKENIZER, load_ctranslate2
from nmt_cli.export.exporter import FLOAT32, ExportOptions, Trained
from nmt_cli.export.verification import Exported, Gates, Output, compare_with_model, passed
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.text.tokenizer import START_ID

# Of any quantization: CTranslate2 also quantizes what an ONNX bundle keeps in float32.
GATES = Gates(bleu=1.0, chrf=80)


def write(trained: Trained, options: ExportOptions, folder: Path) -> None:
    """Write a model's weights, tokenizers and settings, unverified.

    Args:
        trained: the model.
        options: precision.
        folder: exists and is empty.

    Raises:
        NmtError: CTranslate2 cannot represent the model, or two tokens are the same string.
    """
    run, decoding = trained.run, trained.decoding
    shutil.copytree(run.folder / "tokenizer", folder / TOKENIZER)
    settings = {"format": FORMAT, "decoding": asdict(decoding)}
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    tokenizers = run.tokenizers()
    framed = tokenizers.source.frame_source([])
    write_weights(
        trained.step_model.graph,
        tokenizers.source.tokens(range(tokenizers.source.vocab_size)),
        tokenizers.target.tokens(range(tokenizers.target.vocab_size)),
        folder,
        None if options.precision == FLOAT32 else options.precision,
        frame_start=framed[0] == START_ID,
        longest=max(LONGEST, decoding.max_length, decoding.max_source + len(framed)),
    )


def verify(trained: Trained, options: ExportOptions, folder: Path) -> Verification:
    """Compare a folder with its model, and write its card with the report.

    Quantized weights are first written in float32 elsewhere, to check the conversion exactly.

    Raises:
        NmtError: the verification failed.
    """
    checks: list[Check] = []
    if options.precision != FLOAT32:
        with TemporaryDirectory(prefix="nmt-ctranslate2-") as exact:
            write(trained, replace(options, precision=FLOAT32), Path(exact))
            found = compare_with_model(trained, _ExportedFolder(trained, Path(exact))).checks
            checks += [replace(each, name=f"in float32: {each.name}") for each in found]
    exported = _ExportedFolder(trained, folder, options.precision)
    checks += compare_with_model(trained, exported).checks
    report = passed(trained, checks)
    card = ctranslate2_card(trained.run, trained.decoding, options.precision, report.lines())
    (folder / "MODEL_CARD.md").write_text(card, encoding="utf-8")
    return report


class _ExportedFolder(Exported):
    """A CTranslate2 folder as verification runs it.

    Without a length penalty, as CTranslate2's formula differs from ours.
    """

    title = "CTranslate2"
    gates = GATES
    own_search = True

    def __init__(self, trained: Trained, folder: Path, precision: str = FLOAT32) -> None:
        self.precision = precision
        self.searches = [
            SearchOptions.of(trained.decoding, DecodingOptions(beam_size=beam, length_penalty=0.0))
            for beam in (1, 4)
        ]
        # One thread: several wait for each other at each product where other work takes a core.
        self._model = load_ctranslate2(folder, intra_threads=1)

    def translate(self, lines: Sequence[str], options: SearchOptions) -> list[Output]:
        translator = replace(self._model, options=options)
        return [
            Output(each.text, each.score, len(each.ids)) for each in translator.translate(lines)
        ]

    def log_probs(self, source: list[int], target: list[int]) -> NDArray[np.float32] | None:
        return self._model.log_probs(source, target)
