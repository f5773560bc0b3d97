"""The options that nmt backtranslate and nmt distill share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from nmt_cli.cli.options import decoding_options


def pair_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """-m/--model, -o/--output, --force, and the options of the search."""
    decorators = (
        click.option(
            "-m",
            "--model",
            required=True,
            type=click.Path(path_type=Path),
            help="Run or bundle that translates the text.",
        ),
        click.option(
            "-o",
            "--output",
            required=True,
            metavar="PREFIX",
            type=click.Path(path_type=Path),
            help="Files to write: PREFIX with the model's two languages as suffixes.",
        ),
        click.option("--force", is_flag=True, help="Replace existing files."),
        decoding_options("beam_size", "length_penalty"),
    )
    for each in reversed(decorators):
        command = each(command)
    return command
