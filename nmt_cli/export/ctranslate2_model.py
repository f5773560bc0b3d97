"""``nmt export --ctranslate2``: a run to a folder that CTranslate2 translates with."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from nmt_cli.errors import NmtError
from nmt_cli.export.ctranslate2_card import ctranslate2_card
from nmt_cli.export.ctranslate2_check import compare_quantized, translate_held_out, verify_exact
from nmt_cli.export.ctranslate2_spec import LONGEST, QUANTIZATIONS, write_ctranslate2
from nmt_cli.files import replacing_folder
from nmt_cli.model.build import step_graph
from nmt_cli.model.step_graph import StepGraph
from nmt_cli.model.step_model import KerasStepModel
from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.runtime.ctranslate2_translator import FORMAT, SETTINGS, TOKENIZER, import_ctranslate2
from nmt_cli.text.tokenizer import START_ID, Tokenizer
from nmt_cli.training.model import trained_model
from nmt_cli.training.run import Run


def export_ctranslate2(
    run: Run,
    checkpoint: Path,
    decoding: DecodingConfig,
    folder: Path,
    quantization: str | None = None,
    say: Callable[[str], None] = print,
) -> dict[str, int | float]:
    """Write, verify and put in place the CTranslate2 model of a run.

    Args:
        run, checkpoint, decoding, folder, say: as
            :func:`nmt_cli.export.onnx_bundle.export_onnx`.
        quantization: how weights are stored, one of QUANTIZATIONS; None: as float32.

    Returns:
        What was compared, and how it came out.

    Raises:
        NmtError: ctranslate2 is not installed, the run is damaged, the verification fails,
            or the folder cannot be written.
    """
    import_ctranslate2()  # before the model is loaded, which takes longer
    if quantization not in (None, *QUANTIZATIONS):
        raise NmtError(
            f"unknown quantization '{quantization}'", "choose one of " + ", ".join(QUANTIZATIONS)
        )
    model, _ = trained_model(run, checkpoint)
    graph = step_graph(model)
    with replacing_folder(folder, SETTINGS) as work:
        say("converting the weights")
        write_folder(graph, run, decoding, work, None)
        say("verifying against the trained model")
        report = verify_exact(run, KerasStepModel(model), decoding, work)
        if quantization:
            exact = translate_held_out(run, work)
            _write_weights(graph, run, decoding, work, quantization)
            say(f"verifying the weights in {quantization} against those in float32")
            report.update(compare_quantized(run, exact, translate_held_out(run, work)))
        card = ctranslate2_card(run, decoding, quantization, report)
        (work / "MODEL_CARD.md").write_text(card, encoding="utf-8")
    for key, value in report.items():
        say(f"  {key}: {value}")
    return report


def write_folder(
    graph: StepGraph, run: Run, decoding: DecodingConfig, folder: Path, quantization: str | None
) -> None:
    """Write a run's model, tokenizers and settings, unverified.

    Args:
        graph: the step graphs of the run's model.
        run: where tokenizers come from.
        decoding: settings that the folder is to translate with.
        folder: where to; exists, and is empty.
        quantization: how weights are stored, one of QUANTIZATIONS; None: as float32.

    Raises:
        NmtError: ctranslate2 is not installed, or cannot tell the vocabulary's tokens apart.
    """
    shutil.copytree(run.folder / "tokenizer", folder / TOKENIZER)
    settings = {"format": FORMAT, "decoding": asdict(decoding)}
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    _write_weights(graph, run, decoding, folder, quantization)


def _write_weights(
    graph: StepGraph, run: Run, decoding: DecodingConfig, folder: Path, quantization: str | None
) -> None:
    """The model, in place of one of another precision if there is one."""
    tokenizers = run.tokenizers()
    framed = tokenizers.source.frame_source([])
    longest = max(LONGEST, decoding.max_length, decoding.max_source + len(framed))
    write_ctranslate2(
        graph,
        _tokens(tokenizers.source),
        _tokens(tokenizers.target),
        folder,
        quantization,
        frame_start=framed[0] == START_ID,
        longest=longest,
    )


def _tokens(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.tokens(range(tokenizer.vocab_size))
