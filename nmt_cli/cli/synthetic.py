"""What nmt backtranslate and nmt distill share: options, and text plus model to two files."""

from collections.abc import Callable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click

from nmt_cli.cli.options import DecodingOptions, Decorator, find_model, say
from nmt_cli.cli.streams import open_lines
from nmt_cli.errors import NmtError


def pair_options() -> Decorator:
    """-m/--model, -o/--output and --force."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        model = click.option(
            "-m",
            "--model",
            required=True,
            type=click.Path(path_type=Path),
            help="Run or bundle that translates the text.",
        )
        output = click.option(
            "-o",
            "--output",
            required=True,
            metavar="PREFIX",
            type=click.Path(path_type=Path),
            help="Files to write: PREFIX with the model's two languages as suffixes.",
        )
        force = click.option("--force", is_flag=True, help="Replace files that are there already.")
        return model(output(force(function)))

    return decorate


def write_pairs(
    files: Sequence[Path],
    model: Path,
    output: Path,
    force: bool,
    decoding: DecodingOptions,
) -> tuple[str, str]:
    """Write the lines of files and their translations; returns the model's languages.

    Args:
        files: in the model's source language.
        model: a run or bundle.
        output: the two files without their suffixes.
        force: whether to replace them.
        decoding: how to translate them.

    Raises:
        NmtError: a file or the model is not to be had, or the output is there already.
    """
    from nmt_cli.cli.models import load_translator, model_languages
    from nmt_cli.data.synthesize import synthesize

    lines = chain.from_iterable([open_lines(file) for file in files])
    languages = model_languages(find_model(model))
    places = [_place(output, language) for language in languages]
    for place in places:
        _check_free(place, files, force)
    first = list(islice(lines, 2))
    translator = load_translator(model, decoding, sentences=len(first))
    counts = synthesize(chain(first, lines), translator, *places)
    say(f"wrote {places[0]} and {places[1]}: {counts.report()}")
    return languages


def _place(output: Path, language: str) -> Path:
    if output.name in ("", ".."):
        raise NmtError(f"{output}: is no file name", "give a PREFIX, e.g. -o corpora/mono.bt")
    return output.with_name(f"{output.name}.{language}")


def _check_free(place: Path, inputs: Sequence[Path], force: bool) -> None:
    if not place.exists():
        return
    if any(each.exists() and place.samefile(each) for each in inputs):
        raise NmtError(f"{place}: is the text to be translated itself", "choose another -o")
    if not force:
        raise NmtError(f"{place}: exists already", "choose another -o, or replace it with --force")
