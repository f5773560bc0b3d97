"""Write a folder for CTranslate2, and compare it with the trained model."""

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nmt_cli.bundle import TOKENIZER
from nmt_cli.bundle.manifest import Check, Verification
from nmt_cli.export.ctranslate2.spec import write_weights
from nmt_cli.export.ctranslate2.translator import FORMAT, SETTINGS, load_ctranslate2
from nmt_cli.export.exporter import FLOAT32, ExportOptions
from nmt_cli.export.trained import TrainedModel
from nmt_cli.export.verification import (
    ExportUnderTest,
    Gates,
    LogProbs,
    compare_with_model,
    passed,
)
from nmt_cli.files import write_json
from nmt_cli.search.options import DecodingOptions, SearchOptions

# For all quantizations: CTranslate2 also quantizes what an ONNX bundle keeps in float32.
GATES = Gates(bleu=1.0, chrf=80)

_USAGE = """\
    from pathlib import Path
    from nmt_cli.export.ctranslate2.translator import load_ctranslate2

    for translation in load_ctranslate2(Path("THIS_FOLDER")).translate(["Uma linha."]):
        print(translation.text)

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
    results = model.translate_batch(
        [pieces], beam_size={decoding.beam_size}, length_penalty={decoding.length_penalty:g},
        max_decoding_length={decoding.max_length},
    )
    print(target.decode(results[0].hypotheses[0]))"""
_WORDPIECE = (
    "Without nmt: split text into pieces of `{folder}/{spec.source}` as BERT's WordPiece tokenizer "
    "does, lower-cased: {spec.lowercase}; pieces beginning with ## continue a word."
)


def write(trained: TrainedModel, options: ExportOptions, folder: Path) -> None:
    """Write a model's weights, tokenizers and settings, unverified.

    Raises:
        ModelError: CTranslate2 cannot represent the model.
    """
    decoding = trained.decoding
    shutil.copytree(trained.tokenizer_folder, folder / TOKENIZER)
    write_json(folder / SETTINGS, {"format": FORMAT, "decoding": asdict(decoding)})
    quantization = None if options.precision == FLOAT32 else options.precision
    write_weights(trained.step_model.graph, trained.tokenizers, decoding, quantization, folder)


def verify(trained: TrainedModel, options: ExportOptions, folder: Path) -> Verification:
    """Compare a folder with its model, and write its card with the report.

    Quantized weights are first written in float32 elsewhere, to check the conversion exactly.
    """
    checks: list[Check] = []
    if options.precision != FLOAT32:
        with TemporaryDirectory(prefix="nmt-ctranslate2-") as exact:
            write(trained, replace(options, precision=FLOAT32), Path(exact))
            exact_checks, _ = compare_with_model(trained, _under_test(trained, Path(exact)))
            checks += [replace(check, name=f"in float32: {check.name}") for check in exact_checks]
    own_checks, _ = compare_with_model(trained, _under_test(trained, folder, options.precision))
    report = passed(trained, [*checks, *own_checks])
    alone = _WORDPIECE if trained.spec.kind == "wordpiece" else _SENTENCEPIECE
    alone = alone.format(folder=TOKENIZER, spec=trained.spec, decoding=trained.decoding)
    usage = _USAGE.format(alone=alone, decoding=trained.decoding)
    trained.write_card(folder, options.precision, "for CTranslate2", usage, report)
    return report


def _under_test(trained: TrainedModel, folder: Path, precision: str = FLOAT32) -> ExportUnderTest:
    """Load a folder for verification.

    It searches without a length penalty, as CTranslate2's formula differs from ours, and without a
    second search of translations that repeat themselves, which CTranslate2 does not have.
    """
    # One thread: several wait for each other at each product where other work takes a core.
    translator = load_ctranslate2(folder, intra_threads=1)

    def log_probs(source: list[int], target: list[int]) -> LogProbs | None:
        if not source:  # CTranslate2 cannot read it
            return None
        (forced,) = translator.force(
            [(translator.tokenizers.source.with_special_tokens(source), target)]
        )
        return np.array(forced.token_scores, np.float32)

    once = DecodingOptions(length_penalty=0.0, no_repeat_ngram=0)
    return ExportUnderTest.of(
        translator,
        [SearchOptions.of(trained.decoding, replace(once, beam_size=beam)) for beam in (1, 4)],
        log_probs=log_probs,
        precision=precision,
        gates=GATES,
        approximate=precision != FLOAT32,
        own_search=True,
    )
