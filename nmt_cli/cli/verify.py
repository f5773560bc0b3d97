"""nmt verify."""

from collections.abc import Sequence
from pathlib import Path

import click

from nmt_cli.bundle.report import Check, require_passed
from nmt_cli.cli.options import say
from nmt_cli.files import standard_output
from nmt_cli.frameworks import import_keras


@click.command(epilog="\b\nExample: nmt verify exports/docs-pt-en --run runs/docs-pt-en")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--run", type=click.Path(path_type=Path), help="Compare BUNDLE with the model of this run."
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    help="Weights of the run to compare with; default: its best, else its last.",
)
def verify(bundle: Path, run: Path | None, checkpoint: Path | None) -> None:
    """Check the files of BUNDLE, the inputs and outputs of its graphs, and that it translates.

    Needs no TensorFlow. With --run, also compare the bundle with the trained model, as the export
    does; a bundle that was exported with --no-verify then gets its report.
    """
    if checkpoint and not run:
        raise click.UsageError("--checkpoint needs --run")
    standard_output()
    if run:
        _against(bundle, run, checkpoint)
        return
    from nmt_cli.runtime.check import check_bundle
    from nmt_cli.runtime.load import open_bundle

    opened = open_bundle(bundle)
    checks = check_bundle(opened)
    _show(checks)
    require_passed(checks, str(bundle), "export the bundle again")
    say(f"{bundle}: unchanged since its export; the report of its verification:")
    for line in opened.manifest.verification.lines():
        say(f"  {line}")


def _against(bundle: Path, run: Path, checkpoint: Path | None) -> None:
    import_keras()
    from nmt_cli.export.exporter import ExportOptions
    from nmt_cli.export.onnx.bundle import verify_against_run
    from nmt_cli.training.run import Run

    options = ExportOptions(checkpoint=checkpoint)
    _show(verify_against_run(Run.open(run), options, bundle, say).checks)
    say(f"{bundle}: translates like the model of {run}")


def _show(checks: Sequence[Check]) -> None:
    for each in checks:
        click.echo(f"{'passed' if each.passed else 'FAILED'}  {each}")
