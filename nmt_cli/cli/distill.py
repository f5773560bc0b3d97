"""nmt distill."""

from pathlib import Path

import click

from nmt_cli.cli.options import DecodingOptions, decoding_options, say
from nmt_cli.cli.synthetic import pair_options, write_pairs


@click.command(
    epilog="Example: nmt distill train.pt -m exports/big-pt-en -o corpora/distilled "
    "writes corpora/distilled.pt and corpora/distilled.en."
)
@click.argument(
    "sources",
    metavar="SOURCE...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, allow_dash=True),
)
@pair_options()
@decoding_options()
def distill(
    sources: tuple[Path, ...],
    model: Path,
    output: Path,
    force: bool,
    decoding: DecodingOptions,
) -> None:
    """Make training pairs of SOURCE as a teacher translates it.

    A small model learns more of a large one's translations than of people's: they say the
    same thing in the same way (Kim and Rush 2016, arXiv:1606.07947). Blank lines are left out,
    and pairs whose translation is empty, goes in circles or is unreadable.

    The student's recipe names PREFIX in data.train, in place of the corpora or beside them.
    """
    source, target = write_pairs(sources, model, output, force, decoding)
    say(
        f'for a recipe from {source} to {target}: data.train = ["{output}"] '
        "(as seen from data.root)"
    )
