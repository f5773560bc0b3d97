"""nmt export."""

from dataclasses import replace
from pathlib import Path

import click

from nmt_cli.cli.options import EXPORTS, beam_options, find_run, output_option, say
from nmt_cli.cli.quiet import import_keras


@click.command(epilog="Example: nmt export runs/phrasebook-pt-en --onnx")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@click.option("--onnx", is_flag=True, help="Write a bundle for ONNX Runtime.")
@click.option("--saved-model", is_flag=True, help="Write a TensorFlow SavedModel, text to text.")
@output_option("Folder to write; default: exports/NAME, or exports/NAME-saved-model.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    help="Weights to export; default: the run's best, else its last.",
)
@beam_options()
def export(
    run: Path | None,
    onnx: bool,
    saved_model: bool,
    output: Path | None,
    checkpoint: Path | None,
    beam_size: int | None,
    length_penalty: float | None,
) -> None:
    """Export RUN (default: the newest under runs/) and verify the result.

    The search settings given here become the export's own defaults. An export that does not
    translate like the trained model fails, and nothing is put in place.
    """
    if onnx == saved_model:
        raise click.UsageError("give one of --onnx and --saved-model")
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

        place = output or EXPORTS / opened.recipe.label
        export_onnx(opened, weights, decoding, place, say)
        say(f"bundle written to {place}; next: nmt translate -m {place} FILE")
    else:
        from nmt_cli.export.saved_model import export_saved_model

        place = output or EXPORTS / f"{opened.recipe.label}-saved-model"
        export_saved_model(opened, weights, decoding, place, say)
        say(f"SavedModel written to {place}")
