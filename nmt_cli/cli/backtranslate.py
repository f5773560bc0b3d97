"""nmt backtranslate."""

from pathlib import Path

import click

from nmt_cli.cli.options import Hardware, open_model, say
from nmt_cli.cli.synthetic import pair_options
from nmt_cli.search.options import DecodingOptions


@click.command(
    epilog="\b\nExample: nmt backtranslate mono.en -m exports/docs-en-pt -o corpora/mono.bt\n"
    "writes corpora/mono.bt.pt and corpora/mono.bt.en."
)
@click.argument("mono", type=click.Path(path_type=Path, allow_dash=True))
@pair_options
def backtranslate(
    mono: Path,
    model: Path,
    output: Path,
    force: bool,
    decoding: DecodingOptions,
    hardware: Hardware,
) -> None:
    """Make training pairs from MONO, text in the target language.

    The target language is that of the system to be trained; MODEL translates from it. The
    translations become the sources of the new pairs, the lines of MONO their targets (Sennrich et
    al. 2016, arXiv:1511.06709). Blank lines are left out, and pairs whose translation is empty,
    repeats itself or is unreadable.

    Name PREFIX in data.synthetic of the recipe; data.synthetic_tag marks these sources,
    data.synthetic_ratio limits their number.
    """
    from nmt_cli.pipeline.synthesize import synthesize_files

    opened = open_model([model], hardware)
    synthesize_files([mono], opened, decoding, output, force, say)
    machine, written = reversed(opened.languages)
    say(
        f'for a recipe from {machine} to {written}: data.synthetic = ["{output}"] '
        "(relative to data.root)"
    )
