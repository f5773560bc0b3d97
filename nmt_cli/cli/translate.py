"""nmt translate."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from nmt_cli.cli.options import (
    PATH_OR_STDIN,
    Hardware,
    decoding_options,
    ending_by_sigpipe,
    find_model,
    models_option,
    open_model,
    option_group,
    say,
)
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.search.options import DecodingOptions


@click.command(epilog="\b\nExample: echo 'Onde fica a farmácia?' | nmt translate -m exports/mine")
@click.argument("files", nargs=-1, type=PATH_OR_STDIN)
@models_option
@option_group(TranslateOptions, "options")
@decoding_options()
def translate(
    files: tuple[Path, ...],
    models: tuple[Path, ...],
    options: TranslateOptions,
    decoding: DecodingOptions,
    hardware: Hardware,
) -> None:
    """Translate FILES, or standard input, line by line.

    N lines in, N lines out, in order; a blank line stays as it is. Extra output (--scores,
    --alignments, --tokens) follows the text in tab-separated columns, in this order.
    """
    output = None if options.output in (Path("-"), Path("/dev/stdout")) else options.output
    options = replace(options, files=files, output=output, decoding=decoding)
    options.check()
    began = time.monotonic()
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if options.engine:
        from nmt_cli.ray.cluster import RaySettings
        from nmt_cli.ray.engine import translate_files as translate_on_ray

        bundles = [find_model(each) for each in models or (None,)]
        settings = RaySettings(options.address, **vars(hardware))
        counts = translate_on_ray(options, bundles, settings, _progress if terminal else None)
        if counts.lines:
            say(counts.summary(time.monotonic() - began))
        return
    model = open_model(models, hardware)
    if options.trace:
        from nmt_cli.cli.trace import show

        with ending_by_sigpipe():
            show(options, model)
        return
    # Imported while the model is being loaded.
    from nmt_cli.jobs.translate import translate_files

    if options.interactive:
        from nmt_cli.cli.interactive import converse

        converse(options, model)
        return
    # A progress bar would mix with translations on the same terminal.
    mixed = output is None and sys.stdout is not None and sys.stdout.isatty()
    with ending_by_sigpipe():
        counts = translate_files(options, model, _progress if terminal and not mixed else None)
    if counts.lines and (output or terminal):
        say(counts.summary(time.monotonic() - began))


@contextmanager
def _progress(total: int | None) -> Iterator[Callable[[int], object]]:
    from tqdm import tqdm  # importing it takes a tenth of the time of a single line

    with tqdm(total=total, desc="translating", unit="line") as bar:
        yield bar.update
