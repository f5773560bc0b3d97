"""nmt translate."""

import sys
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import click

from nmt_cli.cli.options import DecodingOptions, decoding_options, find_model, open_lines
from nmt_cli.errors import NmtError


@click.command(
    epilog="Example: echo 'Onde fica a farmácia?' | nmt translate -m exports/phrasebook-pt-en"
)
@click.argument("file", required=False, type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "-m",
    "--model",
    type=click.Path(path_type=Path),
    help="Run or bundle; default: the newest under exports/, else under runs/.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write; default: stdout."
)
@decoding_options()
def translate(
    file: Path | None,
    model: Path | None,
    output: Path | None,
    decoding: DecodingOptions,
) -> None:
    """Translate FILE, or standard input, line by line.

    N lines in, N lines out, in order; a blank line stays blank.
    """
    from nmt_cli.cli.models import load_translator
    from nmt_cli.text.lines import write_lines

    lines: Iterator[str] = open_lines(file)
    first = list(islice(lines, 2))
    translator = load_translator(find_model(model), decoding, sentences=len(first))
    lines = chain(first, lines)
    translations = (each.text for each in translator.translate(lines))
    if output:
        write_lines(output, translations)
        return
    if sys.stdout is None:
        raise NmtError("standard output is closed", "give -o FILE")
    out = sys.stdout.buffer
    try:
        for text in translations:
            out.write(text.encode("utf-8") + b"\n")
        out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise NmtError(f"standard output: cannot be written ({error.strerror})") from None
