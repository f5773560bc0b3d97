"""nmt export."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from nmt_cli.cli.options import find_run, output_option, say
from nmt_cli.export.exporter import ExportOptions, exporters


def _format_options(command: Any) -> Any:
    """A flag for each export format, and --quantize with the values of all of them."""
    values = dict.fromkeys(value for each in exporters() for value in each.quantizations)
    command = click.option(
        "--quantize",
        type=click.Choice(list(values)),
        help="Precision of a smaller and faster model; default: float32. All but int8 and float16 "
        "need --ctranslate2.",
    )(command)
    for each in reversed(exporters()):
        command = click.option(f"--{each.name}", is_flag=True, help=each.help)(command)
    return command


@click.command(epilog="\b\nExample: nmt export runs/phrasebook-pt-en --onnx")
@click.argument("run", required=False, type=click.Path(path_type=Path))
@_format_options
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Compare the bundle with the trained model; an unverified one warns at each use.",
)
@click.option(
    "--attention",
    is_flag=True,
    help="Also export attention weights (adds attention.onnx; needed for plots and alignments).",
)
@output_option(
    "Folder to write; default: exports/NAME, followed by -ctranslate2 or -saved-model, and by the "
    "value of --quantize."
)
@click.option("--force", is_flag=True, help="Replace an older export in the same folder.")
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    help="Weights to export; default: the run's best, else its last.",
)
@click.option("--beam-size", type=click.IntRange(1, 256), help="Default number of hypotheses.")
@click.option("--length-penalty", type=click.FloatRange(0, 10), help="Default length penalty.")
def export(run: Path | None, output: Path | None, **given: Any) -> None:
    """Export RUN (default: the newest under runs/) and verify the result.

    The search settings given here become the export's defaults. An export that does not translate
    like the trained model fails, and nothing is written. A quantized export fails if it loses
    significantly more BLEU on held-out lines than allowed: 0.2 for int8, 0.1 for float16, and 1
    for CTranslate2.
    """
    chosen = [each for each in exporters() if given[each.name.replace("-", "_")]]
    if len(chosen) != 1:
        flags = ", ".join(f"--{each.name}" for each in exporters())
        raise click.UsageError(f"choose one of {flags}")
    names = {each.name for each in fields(ExportOptions)}
    options = ExportOptions(
        folder=output,
        precision=given["quantize"] or "float32",
        **{name: value for name, value in given.items() if name in names},
    )
    (exporter,) = chosen
    exporter.check(options)
    from nmt_cli.training.run import Run

    opened = Run.open(find_run(run))
    place = exporter.folder(opened, options)
    from nmt_cli.frameworks import import_keras

    import_keras()
    exporter.export(opened, options, say)
    say(exporter.next_step.format(folder=place))
