"""From a run to other formats: nmt export, verify, package and models."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from nmt_cli.bundle.packages import write_wheel
from nmt_cli.cli import lookup
from nmt_cli.cli.options import PATH, Option, command, option_group, say, show
from nmt_cli.errors import NmtError
from nmt_cli.export.exporter import EXPORTERS, FLOAT32, ExportOptions
from nmt_cli.files import standard_output
from nmt_cli.host import import_keras
from nmt_cli.models import describe
from nmt_cli.options import option


def _format_options(function: Any) -> Any:
    """Add a flag for each export format, and --quantize with the values of all of them."""
    exporters = EXPORTERS.values()
    types = dict.fromkeys(name for exporter in exporters for name in exporter.quantizations)
    function = click.option(
        "--quantize",
        type=click.Choice(list(types)),
        metavar="TYPE",
        help="Smaller and faster model: int8 or float16; with --ctranslate2 also "
        f"{', '.join(name for name in types if name not in ('int8', 'float16'))}.",
    )(function)
    for exporter in reversed(exporters):
        function = click.option(
            f"--{exporter.name}", is_flag=True, help=exporter.help, cls=Option, group="Formats"
        )(function)
    return function


@command(example="nmt export runs/phrasebook-pt-en --onnx")
@click.argument("run", required=False, type=PATH)
@_format_options
@option_group(ExportOptions, "options")
def export(run: Path | None, quantize: str | None, options: ExportOptions, **chosen: bool) -> None:
    """Export a trained model and verify the result.

    RUN is the newest under runs/ by default. An export that does not translate like the trained
    model fails, and nothing is written. A quantized export fails if it loses significantly more
    BLEU on held-out lines than allowed: 0.2 for int8, 0.1 for float16, and 1 for CTranslate2 and
    Firefox; with --shortlist, 0.3 more.
    """
    chosen["onnx"] &= not chosen["single_file"]  # which is a kind of it
    exporters = [exporter for name, exporter in EXPORTERS.items() if chosen[name.replace("-", "_")]]
    if len(exporters) != 1:
        flags = ", ".join(f"--{name}" for name in EXPORTERS)
        raise click.UsageError(f"choose one of {flags}")
    options = replace(options, precision=quantize or FLOAT32)
    (exporter,) = exporters
    exporter.check(options)
    from nmt_cli.training.run import Run

    opened = Run.open(lookup.find_run(run))
    for line in exporter.export(opened, options).lines():
        say(f"  {line}")
    say(exporter.next_step.format(folder=exporter.folder(opened, options)))


@command(example="nmt verify exports/docs-pt-en --run runs/docs-pt-en")
@click.argument("bundle", type=PATH)
@option_group(ExportOptions, "options", ("checkpoint", "dev"))
def verify(
    bundle: Path,
    options: ExportOptions,
    run: Path | None = option(None, "Compare BUNDLE with the model of this run."),
) -> None:
    """Check that a bundle is intact and translates.

    Checks its files, the inputs and outputs of its graphs, and a few translations. Needs no
    TensorFlow. With --run, also compare the bundle with the trained model, as the export does, and
    record the result in a bundle that was exported with --no-verify.
    """
    if options != ExportOptions() and not run:
        raise click.UsageError("--checkpoint and --dev need --run")
    standard_output()
    bundle = lookup.find_model(bundle)
    if run:
        import_keras()
        from nmt_cli.export.onnx.bundle import verify_against_run
        from nmt_cli.training.run import Run

        for check in verify_against_run(Run.open(run), options, bundle).checks:
            show(f"passed  {check}")
        say(f"{bundle}: translates like the model of {run}")
        return
    from nmt_cli.bundle.manifest import require_passed
    from nmt_cli.runtime.check import check_bundle
    from nmt_cli.runtime.load import Bundle

    opened = Bundle(bundle)
    checks = check_bundle(opened)
    for check in checks:
        show(f"{'passed' if check.passed else 'FAILED'}  {check}")
    require_passed(checks, str(bundle), "export the bundle again")
    say(f"{bundle}: unchanged since its export; the report of its verification:")
    for line in opened.manifest.verification.lines():
        say(f"  {line}")


@command(example="nmt package exports/pt-en && pip install nmt_model_pt_en-*.whl")
@click.argument("bundle", required=False, envvar=["NMT_MODEL"], type=PATH)
def package(
    bundle: Path | None,
    name: str | None = option(None, "The model's name; default: that of the bundle's folder."),
    version: str = option("1.0.0", "The model's version; default: 1.0.0."),
    output: Path | None = option(None, "Folder to write to; default: the current one.", flags="-o"),
    force: bool = option(False, "Replace an existing wheel."),
) -> None:
    """Make a Python wheel of a bundle.

    BUNDLE is by default that of nmt translate. Where the wheel is installed, nmt translate -m NAME
    and nmt_cli.open("NAME") use the model.
    """
    folder = lookup.find_model(bundle)
    named = bundle if bundle and not bundle.exists() else folder.resolve()  # the first: installed
    path = write_wheel(folder, output or Path(), name or named.name, version, force)
    say(f"wheel written to {path}; next: pip install {path}")


@command(example="nmt models --default exports/pt-en")
def models(
    default: str | None = option(
        None, "Set the default of -m in this folder, in .nmt-model; '' unsets it.", metavar="NAME"
    ),
    as_json: bool = option(False, "Print a JSON list with all details.", flags="--json"),
) -> None:
    """List the models under exports/ and runs/, and the installed ones."""
    standard_output()
    if default is not None:
        lookup.set_default_model(default)
    chosen, records = lookup.default_model(), []
    found = {name: folder for _, known in lookup.known_models() for name, folder in known.items()}
    if chosen:
        found.setdefault(chosen, Path(chosen))
    for name, path in found.items():
        try:
            records.append(describe(path) | {"name": name, "default": name == chosen})
        except NmtError as error:
            say(f"{name}{' (default)' * (name == chosen)}: left out: {error}")
    if as_json:
        show(json.dumps(records, ensure_ascii=False))
        return
    if not records:
        say("no models here; nmt quickstart makes one, and pip installs wheels of nmt package")
    width = max((len(record["name"]) for record in records), default=0)
    for record in records:
        scores = (f"{row['metric']} {row['value']:.1f} {row['set']}" for row in record["scores"])
        size = f"{record['bytes'] / 1e6:,.1f} MB"
        languages = f"{record['source']} to {record['target']}"
        row = f"{record['name']:{width}}", languages, record["precision"], size, ", ".join(scores)
        show("  ".join(row).rstrip() + "  (default)" * record["default"])
