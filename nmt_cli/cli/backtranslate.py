"""nmt backtranslate."""

from pathlib import Path

import click

from nmt_cli.cli.options import DecodingOptions, decoding_options, say
from nmt_cli.cli.synthetic import pair_options, write_pairs


@click.command(
    epilog="Example: nmt backtranslate mono.en -m exports/docs-en-pt -o corpora/mono.bt "
    "writes corpora/mono.bt.pt and corpora/mono.bt.en."
)
@click.argument("mono", type=click.Path(path_type=Path, allow_dash=True))
@pair_options()
@decoding_options()
def backtranslate(
    mono: Path,
    model: Path,
    output: Path,
    force: bool,
    decoding: DecodingOptions,
) -> None:
    """Make training pairs of MONO, text in the target language alone.

    That is the language that the system to be trained translates into; MODEL translates the
    other way, from it. Its translations become the sources of the new pairs, MONO's own lines
    their targets (Sennrich et al. 2016, arXiv:1511.06709). Blank lines are left out, and pairs
    whose translation is empty, goes in circles or is unreadable.

    The recipe of the system to be trained names PREFIX in data.synthetic; data.synthetic_tag
    tells these sources from real ones, data.synthetic_ratio bounds their number.
    """
    written, machine = write_pairs([mono], model, output, force, decoding)
    say(
        f'for a recipe from {machine} to {written}: data.synthetic = ["{output}"] '
        "(as seen from data.root)"
    )
