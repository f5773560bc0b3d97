"""Writing a CTranslate2 folder, and comparing it with the run it was made from."""

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nmt_cli.bundle import TOKENIZER
from nmt_cli.bundle.manifest import Check, Verification
from nmt_cli.export.card import write_card
from nmt_cli.export.ctranslate2.spec import write_weights
from nmt_cli.export.ctranslate2.translator import FORMAT, SETTINGS, load_ctranslate2
from nmt_cli.export.exporter import FLOAT32, ExportOptions, Trained
from nmt_cli.export.verification import Exported, Gates, LogProbs, compare_with_model, passed
from nmt_cli.files import write_json
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.text.folder import TokenizerSpec

# Of any quantization: CTranslate2 also quantizes what an ONNX bundle keeps in float32.
GATES = Gates(bleu=1.0, chrf=80)

_USAGE = """\
    from pathlib import Path
    from nmt_cli.export.ctranslate2.translator import load_ctranslate2

    for each in load_ctranslate2(Path("THIS_FOLDER")).translate(["Uma linha."]):
        print(each.text)

{alone}

Give sources without start and end tokens: CTranslate2 adds them, as `config.json` says.
Split lines of more than {decoding.max_source} tokens into sentences first.
CTranslate2's length penalty is `score / length ** alpha`, which differs from nmt's."""
_SENTENCEPIECE = """\
Without nmt, with sentencepiece:

    import ctranslate2, sentencepiece

    load = sentencepiece.SentencePieceProcessor
    source = load(model_file="THIS_FOLDER/{folder}/{spec.source}")
    target = load(model_file="THIS_FOLDER/{folder}/{spec.target}")
    model = ctranslate2.Translator("THIS_FOLDER")
    pieces = source.encode("Uma linha.", out_type=str)
    found = model.translate_batch(
        [pieces], beam_size={decoding.beam_size}, length_penalty={decoding.length_penalty:g},
        max_decoding_length={decoding.max_length},
    )
    print(target.decode(found[0].hypotheses[0]))"""
_WORDPIECE = (
    "Without nmt: split text into pieces of `{folder}/{spec.source}` as BERT's WordPiece tokenizer "
    "does, lower-cased: {spec.lowercase}; pieces beginning with ## continue a word."
)


def write(trained: Trained, options: ExportOptions, folder: Path) -> None:
    """Write a model's weights, tokenizers and settings, unverified.

    Raises:
        NmtError: CTranslate2 cannot represent the model.
    """
    run, decoding = trained.run, trained.decoding
    shutil.copytree(run.folder / "tokenizer", folder / TOKENIZER)
    write_json(folder / SETTINGS, {"format": FORMAT, "decoding": asdict(decoding)})
    quantization = None if options.precision == FLOAT32 else options.precision
    write_weights(trained.step_model.graph, run.tokenizers(), decoding, quantization, folder)


def verify(trained: Trained, options: ExportOptions, folder: Path) -> Verification:
    """Compare a folder with its model, and write its card with the report.

    Quantized weights are first written in float32 elsewhere, to check the conversion exactly.
    """
    checks: list[Check] = []
    if options.precision != FLOAT32:
        with TemporaryDirectory(prefix="nmt-ctranslate2-") as exact:
            write(trained, replace(options, precision=FLOAT32), Path(exact))
            found, _ = compare_with_model(trained, _ExportedFolder(trained, Path(exact)))
            checks += [replace(each, name=f"in float32: {each.name}") for each in found]
    found, _ = compare_with_model(trained, _ExportedFolder(trained, folder, options.precision))
    report = passed(trained, [*checks, *found])
    spec, decoding = TokenizerSpec.read(folder / TOKENIZER), trained.decoding
    alone = _WORDPIECE if spec.kind == "wordpiece" else _SENTENCEPIECE
    alone = alone.format(folder=TOKENIZER, spec=spec, decoding=decoding)
    usage = _USAGE.format(alone=alone, decoding=decoding)
    write_card(folder, trained, options.precision, "for CTranslate2", usage, report)
    return report


class _ExportedFolder(Exported):
    """A CTranslate2 folder as verification runs it.

    Without a length penalty, as CTranslate2's formula differs from ours, and without a second
    search of translations that repeat themselves, which CTranslate2 does not have.
    """

    gates = GATES
    own_search = True

    def __init__(self, trained: Trained, folder: Path, precision: str = FLOAT32) -> None:
        self.precision = precision
        once = DecodingOptions(length_penalty=0.0, no_repeat_ngram=0)
        self.searches = [
            SearchOptions.of(trained.decoding, replace(once, beam_size=beam)) for beam in (1, 4)
        ]
        # One thread: several wait for each other at each product where other work takes a core.
        self.translator = load_ctranslate2(folder, intra_threads=1)

    def log_probs(self, source: list[int], target: list[int]) -> LogProbs | None:
        if not source:  # CTranslate2 cannot read it
            return None
        (forced,) = self.translator.force(
            [(self.translator.tokenizers.source.frame_source(source), target)]
        )
        return np.array(forced.token_scores, np.float32)
