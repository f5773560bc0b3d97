"""nmt export and nmt verify."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from nmt_cli.bundle.report import Check, require_passed
from nmt_cli.cli.options import PATH, find_run, say
from nmt_cli.export.exporter import EXPORTERS, ExportOptions
from nmt_cli.files import standard_output
from nmt_cli.frameworks import import_keras


def _format_options(command: Any) -> Any:
    """A flag for each export format, and --quantize with the values of all of them."""
    values = dict.fromkeys(value for each in EXPORTERS.values() for value in each.quantizations)
    command = click.option(
        "--quantize",
        type=click.Choice(list(values)),
        help="Precision of a smaller and faster model; default: float32. All but int8 and float16 "
        "need --ctranslate2.",
    )(command)
    for each in reversed(EXPORTERS.values()):
        command = click.option(f"--{each.name}", is_flag=True, help=each.help)(command)
    return command


@click.command(epilog="\b\nExample: nmt export runs/phrasebook-pt-en --onnx")
@click.argument("run", required=False, type=PATH)
@_format_options
@click.option(
    "--verify/--no-verify",
    default=True,
    show_default=True,
    help="Compare the bundle with the trained model; an unverified one warns at each use.",
)
@click.option(
    "--attention",
    is_flag=False,
    flag_value="cross",
    type=click.Choice(("cross", "all")),
    help="Also export attention weights: cross (also without a value), to the source, for "
    "alignments; all, self-attention, too, for plots.",
)
@click.option(
    "--shortlist",
    is_flag=True,
    help="Limit each translation to the 384 tokens that are likeliest by the training data: "
    "faster, with a small loss of quality, which the export measures.",
)
@click.option(
    "--with-tokenizer",
    is_flag=True,
    help="Put the tokenizer into the file of --single-file: text in, text out. It then needs "
    "onnxruntime-extensions.",
)
@click.option(
    "--prepared",
    type=PATH,
    help="Folder of the prepared data, for --shortlist; default: prepared/NAME.",
)
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Folder to write; default: exports/NAME, followed by -single-file, -ctranslate2, "
    "-saved-model, -keras, -huggingface or -web, and by the value of --quantize.",
)
@click.option("--force", is_flag=True, help="Replace an older export in the same folder.")
@click.option(
    "--checkpoint", type=PATH, help="Weights to export; default: the run's best, else its last."
)
@click.option("--beam-size", type=click.IntRange(1, 256), help="Default number of hypotheses.")
@click.option("--length-penalty", type=click.FloatRange(0, 10), help="Default length penalty.")
def export(run: Path | None, output: Path | None, **given: Any) -> None:
    """Export RUN (default: the newest under runs/) and verify the result.

    The search settings given here become the export's defaults. An export that does not translate
    like the trained model fails, and nothing is written. A quantized export fails if it loses
    significantly more BLEU on held-out lines than allowed: 0.2 for int8, 0.1 for float16, and 1
    for CTranslate2; with --shortlist, 0.3 more.
    """
    given["onnx"] &= not given["single_file"]  # which is a kind of it
    chosen = [each for each in EXPORTERS.values() if given[each.name.replace("-", "_")]]
    if len(chosen) != 1:
        flags = ", ".join(f"--{each.name}" for each in EXPORTERS.values())
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

    exporter.export(Run.open(find_run(run)), options, say)


@click.command(epilog="\b\nExample: nmt verify exports/docs-pt-en --run runs/docs-pt-en")
@click.argument("bundle", type=PATH)
@click.option("--run", type=PATH, help="Compare BUNDLE with the model of this run.")
@click.option(
    "--checkpoint",
    type=PATH,
    help="Weights of the run to compare with; default: its best, else its last.",
)
def verify(bundle: Path, run: Path | None, checkpoint: Path | None) -> None:
    """Check the files of BUNDLE, the inputs and outputs of its graphs, and that it translates.

    Needs no TensorFlow. With --run, also compare the bundle with the trained model, as the export
    does, and record the result in a bundle that was exported with --no-verify.
    """
    if checkpoint and not run:
        raise click.UsageError("--checkpoint needs --run")
    standard_output()
    if run:
        import_keras()
        from nmt_cli.export.onnx.bundle import verify_against_run
        from nmt_cli.training.run import Run

        options = ExportOptions(checkpoint=checkpoint)
        _show(verify_against_run(Run.open(run), options, bundle, say).checks)
        say(f"{bundle}: translates like the model of {run}")
        return
    from nmt_cli.runtime.check import check_bundle
    from nmt_cli.runtime.load import Bundle

    opened = Bundle(bundle)
    checks = check_bundle(opened)
    _show(checks)
    require_passed(checks, str(bundle), "export the bundle again")
    say(f"{bundle}: unchanged since its export; the report of its verification:")
    for line in opened.manifest.verification.lines():
        say(f"  {line}")


def _show(checks: Sequence[Check]) -> None:
    for each in checks:
        click.echo(f"{'passed' if each.passed else 'FAILED'}  {each}")
