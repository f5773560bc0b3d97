"""nmt import: a bundle, or a model of Hugging Face's transformers, as a run."""

from pathlib import Path

import click

from nmt_cli.bundle import MANIFEST
from nmt_cli.bundle.packages import model_folder
from nmt_cli.cli.options import PATH, say
from nmt_cli.errors import OptionError


@click.command("import", epilog="\b\nExample: nmt import opus-mt-en-de")
@click.argument("folder", type=PATH)
@click.option("--source", help="Source language, if the folder does not name it.")
@click.option("--target", help="Target language, if the folder does not name it.")
@click.option("-o", "--output", type=PATH, help="Run folder to write; default: runs/NAME.")
@click.option(
    "--dev",
    metavar="PREFIX",
    help="Text that calibrates and verifies exports: PREFIX.SOURCE and PREFIX.TARGET.",
)
@click.option("--force", is_flag=True, help="Replace an existing run.")
@click.option(
    "--normalize-punctuation",
    is_flag=True,
    help="Normalize the punctuation of sources, as OPUS-MT did before training.",
)
def import_(
    folder: Path,
    source: str | None,
    target: str | None,
    output: Path | None,
    dev: str | None,
    force: bool,
    normalize_punctuation: bool,
) -> None:
    """Turn FOLDER, a bundle or a Marian model from Hugging Face (OPUS-MT), into a run.

    All other commands take the run; nmt train --init-from trains it further. FOLDER may be the name
    of an installed model. Of a Marian model's weights, model.safetensors is read, or
    pytorch_model.bin if torch is installed.
    """
    folder = model_folder(folder)
    if (folder / MANIFEST).exists():
        if source or target or normalize_punctuation:
            raise OptionError(
                "`source`, `target` and `normalize-punctuation` are for models from Hugging Face"
            )
        from nmt_cli.export.importing.bundle import import_bundle

        place = import_bundle(folder, output, dev, force)
        say(f"run written to {place}; next: nmt train RECIPE --init-from {place}")
        return
    from nmt_cli.export.importing.huggingface import import_huggingface

    place = import_huggingface(folder, output, (source, target), dev, force, normalize_punctuation)
    say(f"run written to {place}; next: nmt export {place} --onnx --quantize int8")
