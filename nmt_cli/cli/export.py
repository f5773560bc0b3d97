"""nmt export and nmt verify."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from nmt_cli.bundle.manifest import Check, require_passed
from nmt_cli.cli.options import PATH, find_model, find_run, option_group, say
from nmt_cli.export.exporter import EXPORTERS, FLOAT32, ExportOptions
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
@option_group(ExportOptions, "options")
def export(run: Path | None, quantize: str | None, options: ExportOptions, **given: bool) -> None:
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
    options = replace(options, precision=quantize or FLOAT32)
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
    help="Weights of the run to compare with; default: its best, else its average, else its last.",
)
def verify(bundle: Path, run: Path | None, checkpoint: Path | None) -> None:
    """Check the files of BUNDLE, the inputs and outputs of its graphs, and that it translates.

    Needs no TensorFlow. With --run, also compare the bundle with the trained model, as the export
    does, and record the result in a bundle that was exported with --no-verify.
    """
    if checkpoint and not run:
        raise click.UsageError("--checkpoint needs --run")
    standard_output()
    bundle = find_model(bundle)
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
