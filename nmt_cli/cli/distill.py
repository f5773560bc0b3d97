"""nmt distill."""

from pathlib import Path

import click

from nmt_cli.cli.options import Hardware, open_model, say
from nmt_cli.cli.synthetic import pair_options
from nmt_cli.search.options import DecodingOptions


@click.command(
    epilog="\b\nExample: nmt distill train.pt -m exports/big-pt-en -o corpora/distilled\n"
    "writes corpora/distilled.pt and corpora/distilled.en."
)
@click.argument(
    "sources",
    metavar="SOURCE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, allow_dash=True),
)
@pair_options
def distill(
    sources: tuple[Path, ...],
    model: Path,
    output: Path,
    force: bool,
    decoding: DecodingOptions,
    hardware: Hardware,
) -> None:
    """Make training pairs from SOURCE and its translations by a teacher.

    A small model learns more from the translations of a large one than from human translations,
    which vary more (Kim and Rush 2016, arXiv:1606.07947). Blank lines are left out, and pairs
    whose translation is empty, repeats itself or is unreadable.

    Name PREFIX in data.train of the student's recipe, instead of the corpora or in addition.
    """
    from nmt_cli.pipeline.synthesize import synthesize_files

    opened = open_model([model], hardware)
    synthesize_files(sources, opened, decoding, output, force, say)
    source, target = opened.languages
    say(
        f'for a recipe from {source} to {target}: data.train = ["{output}"] (relative to data.root)'
    )
