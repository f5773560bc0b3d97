"""nmt translate."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from nmt_cli.cli.options import Hardware, decoding_options, models_option, open_model, say
from nmt_cli.cli.streams import ending_by_sigpipe, on_terminal
from nmt_cli.search.options import DecodingOptions

_FORMATS = ("srt", "po", "markdown")


@click.command(epilog="\b\nExample: echo 'Onde fica a farmácia?' | nmt translate -m exports/mine")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@models_option()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write; with several FILEs or a folder, the folder for files of the same names. "
    ".gz, .xz and .zst are compressed. Default, and -: standard output.",
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.option("--resume", is_flag=True, help="Continue interrupted outputs and skip complete ones.")
@click.option(
    "--shard",
    metavar="I/N",
    help="Translate the I-th of N parts of each FILE, e.g. 1/4; the outputs concatenated are the "
    "whole translation.",
)
@click.option(
    "--errors",
    type=click.Choice(("strict", "replace", "skip-line")),
    default="strict",
    show_default=True,
    help="How to handle invalid UTF-8: stop, replace bad bytes with U+FFFD, or output a blank "
    "line.",
)
@click.option("--line-buffered", is_flag=True, help="Translate and write each line as it arrives.")
@click.option("--interactive", is_flag=True, help="Prompt for lines, with a history.")
@click.option(
    "--input-format",
    type=click.Choice(("tsv", "jsonl")),
    help="Lines are records; one field is replaced by its translation, the others stay.",
)
@click.option(
    "--field",
    metavar="FIELD",
    help="Field of --input-format: a column number from 1 or a name.",
)
@click.option(
    "--format",
    type=click.Choice((*_FORMATS, "auto")),
    help="Translate the text of documents and keep their markup; auto: by file name suffix.",
)
@click.option(
    "--json",
    is_flag=True,
    help="Write one JSON object per line with all details; jsonl records are extended.",
)
@click.option("--scores", is_flag=True, help="Add the score: a column or a field.")
@click.option("--tokens", is_flag=True, help="Add the tokens of the translation.")
@click.option(
    "--constraints",
    is_flag=True,
    help="Each line is followed by tab-separated phrases that its translation must contain.",
)
@decoding_options()
def translate(
    files: tuple[Path, ...],
    models: tuple[Path, ...],
    output: Path | None,
    force: bool,
    resume: bool,
    shard: str | None,
    errors: str,
    line_buffered: bool,
    interactive: bool,
    input_format: str | None,
    field: str | None,
    format: str | None,
    json: bool,
    scores: bool,
    tokens: bool,
    constraints: bool,
    decoding: DecodingOptions,
    hardware: Hardware,
) -> None:
    """Translate FILES, or standard input, line by line.

    N lines in, N lines out, in order; a blank line stays blank. Extra output (--scores,
    --alignments, --tokens) follows the text in tab-separated columns, in this order.
    """
    from nmt_cli.pipeline.job import translate_files
    from nmt_cli.pipeline.options import TranslateOptions

    options = TranslateOptions(
        files=files,
        output=None if output in (Path("-"), Path("/dev/stdout")) else output,
        force=force,
        resume=resume,
        shard=shard,
        errors=errors,
        line_buffered=line_buffered,
        interactive=interactive,
        input_format=input_format,
        field=field,
        format=format,
        json=json,
        scores=scores,
        tokens=tokens,
        constraints=constraints,
        decoding=decoding,
    )
    options.check()
    model = open_model(models, hardware)
    if interactive:
        from nmt_cli.cli.interactive import converse

        converse(options, model)
        return
    began, terminal = time.monotonic(), on_terminal(sys.stderr)
    # A progress bar would mix with translations on the same terminal.
    bar = terminal and (output is not None or not on_terminal(sys.stdout))
    with ending_by_sigpipe():
        counts = translate_files(options, model, say, _progress if bar else None)
    if counts.lines and (output or terminal):
        say(counts.summary(time.monotonic() - began))


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[int], object]]:
    from tqdm import tqdm  # importing it takes a tenth of the time of a single line

    with tqdm(total=total, desc="translating", unit="line") as bar:
        yield bar.update
