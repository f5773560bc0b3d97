"""nmt translate."""

from pathlib import Path

import click

from nmt_cli.cli.options import DecodingOptions, decoding_options, find_model, models_option
from nmt_cli.cli.wishes import Wishes, wish_options

_FORMATS = ("srt", "po", "markdown")


@click.command(
    epilog="Example: echo 'Onde fica a farmácia?' | nmt translate -m exports/phrasebook-pt-en"
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@models_option()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write, or with several FILEs or a folder the folder that takes a file of the "
    "same name for each; .gz, .xz and .zst are compressed. Default, and -: stdout.",
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
@click.option(
    "--resume", is_flag=True, help="Go on with what an interrupted call left; skip what is whole."
)
@click.option(
    "--shard",
    metavar="I/N",
    help="The I-th of N parts of each FILE, e.g. 1/4; the outputs one behind the other are the "
    "whole.",
)
@click.option(
    "--errors",
    type=click.Choice(("strict", "replace", "skip-line")),
    default="strict",
    show_default=True,
    help="Bytes that are no UTF-8: stop, put U+FFFD in their place, or leave the line blank.",
)
@click.option(
    "--line-buffered", is_flag=True, help="Translate each line as it comes, and hand it on."
)
@click.option("--interactive", is_flag=True, help="Ask for lines at a prompt with a history.")
@click.option(
    "--input-format",
    type=click.Choice(("tsv", "jsonl")),
    help="Lines are records; the field is replaced by its translation, all others stay.",
)
@click.option(
    "--field", metavar="FIELD", help="Of --input-format: a column's number from 1, or its name."
)
@click.option(
    "--format",
    "document",
    type=click.Choice((*_FORMATS, "auto")),
    help="Translate the text of documents and keep their markup; auto: by the names' suffixes.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Write an object a line, with all there is; of jsonl: the record, and that behind it.",
)
@click.option("--scores", is_flag=True, help="Add the score: a column, or a field.")
@click.option(
    "--alignments",
    is_flag=True,
    help="Add pairs i-j of source and target words, from 0. Of a bundle that was exported with "
    "--attention.",
)
@click.option("--tokens", is_flag=True, help="Add the translation's tokens.")
@click.option(
    "--constraints",
    is_flag=True,
    help="Phrases behind each line, each after a tab, that its translation must have.",
)
@wish_options
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
    document: str | None,
    as_json: bool,
    scores: bool,
    alignments: bool,
    tokens: bool,
    constraints: bool,
    wishes: Wishes,
    decoding: DecodingOptions,
) -> None:
    """Translate FILES, or standard input, line by line.

    N lines in, N lines out, in order; a blank line stays blank. What is told beside the text
    (--scores, --alignments, --tokens) stands in columns behind it, parted by tabs, in this
    order.
    """
    from nmt_cli.cli.translating import Task, run

    task = Task(
        files=files,
        models=tuple(find_model(each) for each in models or (None,)),
        output=None if output in (Path("-"), Path("/dev/stdout")) else output,
        force=force,
        resume=resume,
        shard=shard,
        errors=errors,
        line_buffered=line_buffered,
        interactive=interactive,
        input_format=input_format,
        field=field,
        document=document,
        as_json=as_json,
        scores=scores,
        alignments=alignments,
        tokens=tokens,
        constraints=constraints,
        wishes=wishes,
        decoding=decoding,
    )
    run(task)
