"""nmt backtranslate and nmt distill: training pairs from text and its translations."""

from pathlib import Path
from typing import Any

import click

from nmt_cli.cli.lookup import find_model, open_model
from nmt_cli.cli.options import (
    PATH_OR_STDIN,
    Hardware,
    command,
    decoding_options,
    option_group,
    say,
)
from nmt_cli.errors import OptionError
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.options import option
from nmt_cli.search.options import DecodingOptions

# What both commands read and write.
MODEL: Path = option(..., "Run or bundle that translates the text.", flags="-m")
OUTPUT: Path = option(
    ...,
    "Files to write: PREFIX with the model's two languages as suffixes.",
    metavar="PREFIX",
    flags="-o",
)
FORCE: bool = option(False, "Replace existing files.")
engine_options = option_group(TranslateOptions, "engine", ("engine", "address"))


@command(
    example="nmt backtranslate mono.en -m exports/docs-en-pt -o corpora/mono.bt",
    epilog="writes corpora/mono.bt.pt and corpora/mono.bt.en.",
)
@click.argument("files", metavar="MONO...", nargs=-1, required=True, type=PATH_OR_STDIN)
@engine_options
@decoding_options("beam_size", "length_penalty")
def backtranslate(
    model: Path = MODEL, output: Path = OUTPUT, force: bool = FORCE, **arguments: Any
) -> None:
    """Generate training pairs from target-language text.

    MONO is text in the target language of the system to be trained, and --model translates from it.
    The translations become the sources of the new pairs, the lines of MONO their targets (Sennrich
    et al. 2016, arXiv:1511.06709). Blank lines are left out, and pairs whose translation is empty,
    repeats itself or is unreadable.

    Add PREFIX to data.synthetic in the recipe; data.synthetic_tag marks these sources,
    data.synthetic_ratio limits their number.
    """
    target, source = _make_pairs(model, output, force, **arguments)
    _print_key(source, target, "data.synthetic", output)


@command(
    example="nmt distill train.pt -m exports/big-pt-en -o corpora/distilled",
    epilog="writes corpora/distilled.pt and corpora/distilled.en.",
)
@click.argument("files", metavar="SOURCE...", nargs=-1, required=True, type=PATH_OR_STDIN)
@engine_options
@decoding_options("beam_size", "length_penalty")
def distill(
    model: Path = MODEL, output: Path = OUTPUT, force: bool = FORCE, **arguments: Any
) -> None:
    """Generate training pairs with a teacher's translations.

    The teacher, --model, translates SOURCE. A small model learns more from the translations of a
    large one than from human translations, which vary more (Kim and Rush 2016, arXiv:1606.07947).
    Blank lines are left out, and pairs whose translation is empty, repeats itself or is unreadable.

    Add PREFIX to data.train in the student's recipe, in addition to the corpora or instead of them.
    """
    source, target = _make_pairs(model, output, force, **arguments)
    _print_key(source, target, "data.train", output)


def _make_pairs(
    model: Path,
    output: Path,
    force: bool,
    files: tuple[Path, ...],
    engine: TranslateOptions,
    decoding: DecodingOptions,
    hardware: Hardware,
) -> tuple[str, str]:
    """Write the pairs; return the languages that the model translates from and to."""
    from nmt_cli.jobs.pairs import synthesize_files

    if engine.address and not engine.engine:
        raise OptionError("`address` needs `engine`")
    if not engine.engine:
        opened = open_model([model], hardware)
        synthesize_files(files, opened, decoding, output, force)
        return opened.languages
    from nmt_cli.ray.cluster import RaySettings
    from nmt_cli.ray.engine import synthesize_files as synthesize_on_ray

    settings = RaySettings(engine.address, **vars(hardware))
    return synthesize_on_ray(files, find_model(model), decoding, output, force, settings)


def _print_key(source: str, target: str, key: str, output: Path) -> None:
    say(f'for a recipe from {source} to {target}: {key} = ["{output}"] (relative to data.root)')
