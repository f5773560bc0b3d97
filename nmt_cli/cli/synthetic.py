"""nmt backtranslate and nmt distill: training pairs from text and its translations."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click

from nmt_cli.cli.options import (
    PATH,
    PATH_OR_STDIN,
    Decorator,
    Hardware,
    decoding_options,
    find_model,
    open_model,
    option_group,
    say,
)
from nmt_cli.errors import OptionError
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.search.options import DecodingOptions

# Given the model's source and target language: the languages of a recipe and its key for the pairs.
Use = Callable[[str, str], tuple[str, str, str]]


def _pairs_from(metavar: str) -> Decorator:
    """Make pairs as the arguments and options request; the function returns their use."""

    def decorate(use: Use) -> Callable[..., None]:
        @click.argument("files", metavar=metavar, nargs=-1, required=True, type=PATH_OR_STDIN)
        @click.option(
            "-m",
            "--model",
            required=True,
            type=PATH,
            help="Run or bundle that translates the text.",
        )
        @click.option(
            "-o",
            "--output",
            required=True,
            metavar="PREFIX",
            type=PATH,
            help="Files to write: PREFIX with the model's two languages as suffixes.",
        )
        @click.option("--force", is_flag=True, help="Replace existing files.")
        @option_group(TranslateOptions, "engine", ("engine", "address"))
        @decoding_options("beam_size", "length_penalty")
        @wraps(use)
        def make_pairs(
            files: tuple[Path, ...],
            model: Path,
            output: Path,
            force: bool,
            engine: TranslateOptions,
            decoding: DecodingOptions,
            hardware: Hardware,
        ) -> None:
            from nmt_cli.jobs.pairs import synthesize_files

            if engine.address and not engine.engine:
                raise OptionError("`address` needs `engine`")
            if engine.engine:
                from nmt_cli.ray.cluster import RaySettings
                from nmt_cli.ray.engine import synthesize_files as synthesize_on_ray

                settings = RaySettings(engine.address, **vars(hardware))
                folder = find_model(model)
                languages = synthesize_on_ray(files, folder, decoding, output, force, settings)
            else:
                opened = open_model([model], hardware)
                synthesize_files(files, opened, decoding, output, force)
                languages = opened.languages
            source, target, key = use(*languages)
            say(
                f'for a recipe from {source} to {target}: {key} = ["{output}"] '
                "(relative to data.root)"
            )

        return make_pairs

    return decorate


@click.command(
    epilog="\b\nExample: nmt backtranslate mono.en -m exports/docs-en-pt -o corpora/mono.bt\n"
    "writes corpora/mono.bt.pt and corpora/mono.bt.en."
)
@_pairs_from("MONO...")
def backtranslate(source: str, target: str) -> tuple[str, str, str]:
    """Generate training pairs from MONO, text in the target language.

    The target language is that of the system to be trained; MODEL translates from it. The
    translations become the sources of the new pairs, the lines of MONO their targets (Sennrich et
    al. 2016, arXiv:1511.06709). Blank lines are left out, and pairs whose translation is empty,
    repeats itself or is unreadable.

    Add PREFIX to data.synthetic in the recipe; data.synthetic_tag marks these sources,
    data.synthetic_ratio limits their number.
    """
    return target, source, "data.synthetic"


@click.command(
    epilog="\b\nExample: nmt distill train.pt -m exports/big-pt-en -o corpora/distilled\n"
    "writes corpora/distilled.pt and corpora/distilled.en."
)
@_pairs_from("SOURCE...")
def distill(source: str, target: str) -> tuple[str, str, str]:
    """Generate training pairs from SOURCE and its translations by a teacher.

    A small model learns more from the translations of a large one than from human translations,
    which vary more (Kim and Rush 2016, arXiv:1606.07947). Blank lines are left out, and pairs
    whose translation is empty, repeats itself or is unreadable.

    Add PREFIX to data.train in the student's recipe, in addition to the corpora or instead of them.
    """
    return source, target, "data.train"
