"""nmt package and nmt models."""

import json
from pathlib import Path

import click

from nmt_cli.cli.options import PATH, find_model, say
from nmt_cli.files import standard_output


@click.command(epilog="\b\nExample: nmt package exports/pt-en && pip install nmt_model_pt_en-*.whl")
@click.argument("bundle", required=False, type=PATH)
@click.option("--name", help="The model's name; default: that of the bundle's folder.")
@click.option("--version", default="1.0.0", show_default=True, help="The model's version.")
@click.option("-o", "--output", type=PATH, help="Folder to write to; default: the current one.")
@click.option("--force", is_flag=True, help="Replace an existing wheel.")
def package(
    bundle: Path | None, name: str | None, version: str, output: Path | None, force: bool
) -> None:
    """Write BUNDLE (default: the newest under exports/) as a Python wheel.

    Where the wheel is installed, nmt translate -m NAME and nmt_cli.open("NAME") use the model.
    """
    from nmt_cli.bundle.packages import write_wheel

    folder = find_model(bundle)
    path = write_wheel(folder, output or Path(), name or _name(bundle, folder), version, force)
    say(f"wheel written to {path}; next: pip install {path}")


def _name(bundle: Path | None, folder: Path) -> str:
    """That of the folder, or of an installed model."""
    return bundle.name if bundle and not bundle.exists() else folder.resolve().name


@click.command(epilog="\b\nExample: nmt models --json | jq -r '.[].name'")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of all that is known.")
def models(as_json: bool) -> None:
    """List the installed models: name, languages, precision, size and scores."""
    from nmt_cli.bundle.card import describe_bundle
    from nmt_cli.bundle.packages import installed_models

    standard_output()
    found = [describe_bundle(path) | {"name": name} for name, path in installed_models().items()]
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    if not found:
        say("no models are installed; nmt package makes wheels of models, for pip install")
    width = max((len(each["name"]) for each in found), default=0)
    for each in found:
        scores = (f"{row['metric']} {row['value']:.1f} {row['set']}" for row in each["scores"])
        size = f"{each['bytes'] / 1e6:,.1f} MB"
        languages = f"{each['source']} to {each['target']}"
        row = f"{each['name']:{width}}", languages, each["precision"], size, ", ".join(scores)
        click.echo("  ".join(row).rstrip())
