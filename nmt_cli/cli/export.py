"""nmt export."""

from dataclasses import replace
from pathlib import Path

import click

from nmt_cli.bundle.manifest import PRECISIONS
from nmt_cli.cli.options import EXPORTS, find_run, output_option, say
from nmt_cli.frameworks import import_keras


@click.command(epilog="\b\nExample: nmt export runs/phrasebook-pt-en --onnx")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--onnx", is_flag=True, help="Write a bundle for ONNX Runtime.")
@click.option("--ctranslate2", is_flag=True, help="Write a model folder for CTranslate2.")
@click.option("--saved-model", is_flag=True, help="Write a TensorFlow SavedModel, text to text.")
@click.option(
    "--quantize",
    type=click.Choice(
        (
            "int8",
            "float16",
            "int8_float32",
            "int8_float16",
            "int8_bfloat16",
            "int16",
            "bfloat16",
        )
    ),
    help="Make the model smaller and faster; by default it is of float32. All but int8 and "
    "float16 are for --ctranslate2.",
)
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Compare the bundle with the trained model; without, it warns at each use.",
)
@click.option(
    "--attention",
    is_flag=True,
    help="Let the bundle tell what it looks at, for nmt plot; a step graph more.",
)
@output_option(
    "Folder to write; default: exports/NAME, and -int8, -float16, -ctranslate2 or -saved-model "
    "behind it."
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    help="Weights to export; default: the run's best, else its last.",
)
@click.option("--beam-size", type=click.IntRange(1, 256), help="Default number of hypotheses.")
@click.option("--length-penalty", type=click.FloatRange(0, 10), help="Default length penalty.")
def export(
    run: Path | None,
    onnx: bool,
    ctranslate2: bool,
    saved_model: bool,
    quantize: str | None,
    verify: bool,
    attention: bool,
    output: Path | None,
    checkpoint: Path | None,
    beam_size: int | None,
    length_penalty: float | None,
) -> None:
    """Export RUN (default: the newest under runs/) and verify the result.

    The search settings given here become the export's own defaults. An export that does not
    translate like the trained model fails, and nothing is put in place. A quantized bundle
    may lose 0.2 BLEU as int8, or 0.1 as float16, on the run's held-out lines; a quantized
    CTranslate2 model 1 point.
    """
    if onnx + ctranslate2 + saved_model != 1:
        raise click.UsageError("give one of --onnx, --ctranslate2 and --saved-model")
    if saved_model and quantize:
        raise click.UsageError("--quantize is for --onnx and --ctranslate2")
    if onnx and quantize not in (None, *PRECISIONS):
        raise click.UsageError(f"--quantize {quantize} is for --ctranslate2")
    if not onnx and not verify:
        raise click.UsageError("--no-verify is for --onnx")
    if attention and not onnx:
        raise click.UsageError("--attention is for --onnx")
    folder = find_run(run)
    import_keras()
    from nmt_cli.training.run import Run

    opened = Run.open(folder)
    decoding = opened.recipe.decoding
    decoding = replace(
        decoding,
        beam_size=decoding.beam_size if beam_size is None else beam_size,
        length_penalty=decoding.length_penalty if length_penalty is None else length_penalty,
    )
    weights = checkpoint or opened.preferred
    if onnx:
        from nmt_cli.export.onnx_bundle import export_onnx

        precision = quantize or PRECISIONS[0]
        label = opened.recipe.label
        place = output or EXPORTS / (f"{label}-{quantize}" if quantize else label)
        export_onnx(opened, weights, decoding, place, say, precision, verify, attention)
        say(f"bundle written to {place}; next: nmt translate -m {place} FILE")
    elif ctranslate2:
        from nmt_cli.export.ctranslate2_model import export_ctranslate2

        label = f"{opened.recipe.label}-ctranslate2"
        place = output or EXPORTS / (f"{label}-{quantize}" if quantize else label)
        export_ctranslate2(opened, weights, decoding, place, quantize, say)
        say(f"CTranslate2 model written to {place}; its MODEL_CARD.md says how to use it")
    else:
        from nmt_cli.export.saved_model import export_saved_model

        place = output or EXPORTS / f"{opened.recipe.label}-saved-model"
        export_saved_model(opened, weights, decoding, place, say)
        say(f"SavedModel written to {place}")
