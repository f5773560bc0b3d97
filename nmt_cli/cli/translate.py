"""nmt translate, with its prompt (--interactive) and its trace of the search (--trace)."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nmt_cli.cli.lookup import MODELS, find_model, open_model
from nmt_cli.cli.options import (
    PATH_OR_STDIN,
    Hardware,
    command,
    decoding_options,
    ending_by_sigpipe,
    option_group,
    say,
)
from nmt_cli.errors import NmtError
from nmt_cli.files import standard_output
from nmt_cli.jobs.files import STDIN, Sink, name_of, opened
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.search.options import DecodingOptions

if TYPE_CHECKING:
    from nmt_cli.models import TranslationModel
    from nmt_cli.search.trace import Beam, Search
    from nmt_cli.search.translator import Translation

PROMPT = "> "
_HISTORY_LINES = 1000


@command(example="echo 'Onde fica a farmácia?' | nmt translate -m exports/mine")
@click.argument("files", nargs=-1, type=PATH_OR_STDIN)
@option_group(TranslateOptions, "options")
@decoding_options()
def translate(
    files: tuple[Path, ...],
    options: TranslateOptions,
    decoding: DecodingOptions,
    hardware: Hardware,
    models: tuple[Path, ...] = MODELS,
) -> None:
    """Translate text, records or documents.

    Reads FILES, or standard input. N lines in, N lines out, in order; a blank line stays as it is.
    Extra output (--scores, --alignments, --tokens) follows the text in tab-separated columns, in
    this order.
    """
    output = None if options.output in (Path("-"), Path("/dev/stdout")) else options.output
    options = replace(options, files=files, output=output, decoding=decoding)
    options.check()
    began = time.monotonic()
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if options.engine:
        from nmt_cli.ray.cluster import RaySettings
        from nmt_cli.ray.engine import translate_files as translate_on_ray

        bundles = [find_model(path) for path in models or (None,)]
        settings = RaySettings(options.address, **vars(hardware))
        counts = translate_on_ray(options, bundles, settings, _progress if terminal else None)
        if counts.lines:
            say(counts.summary(time.monotonic() - began))
        return
    model = open_model(models, hardware)
    if options.trace:
        with ending_by_sigpipe():
            _trace(options, model)
        return
    if options.interactive:
        _converse(options, model)
        return
    # Imported while the model is being loaded.
    from nmt_cli.jobs.translate import translate_files

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


def _converse(options: TranslateOptions, model: "TranslationModel") -> None:
    """Ask for lines until the input ends, and print the translation of each.

    On a terminal, lines can be edited, and the arrow keys recall earlier ones.
    """
    from nmt_cli.jobs.records import Lines
    from nmt_cli.jobs.shards import RowTranslator
    from nmt_cli.text.lines import decode_lines

    if sys.stdin is None:
        raise NmtError("standard input is closed", "`interactive` needs a terminal")
    sink = Sink(standard_output("`interactive` needs a terminal"))
    rows = RowTranslator(model.translator(options.decoding, single=True), options, "the line")
    form = Lines(options)
    terminal = sys.stdin.isatty()
    if terminal:
        say("type a line to translate it; Ctrl-D ends")
    piped = decode_lines(sys.stdin.buffer, "standard input", options.errors)
    lines = _typed() if terminal else piped
    for number, line in enumerate(lines, start=1):
        try:
            for output in form.stream([line.encode()], number, rows):
                sink.write(output)
        except NmtError as error:  # about this line only
            say(str(error))


def _typed() -> Iterator[str]:
    """Read lines from the terminal and add them to the history."""
    import readline

    # As the XDG base directory specification defines for state.
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    history = Path(base, "nmt", "history")
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(_HISTORY_LINES)
    try:
        while True:
            try:
                # Invalid UTF-8 arrives as unpaired surrogates.
                yield input(PROMPT).encode("utf-8", "replace").decode()
            except EOFError:
                print(flush=True)
                return
    finally:
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(history)


def _trace(options: TranslateOptions, model: "TranslationModel") -> None:
    """Print the searches for every line, as text or, with ``json``, as one object per line."""
    from nmt_cli.text.lines import decode_lines

    sink = Sink(standard_output())
    for path in options.files or (STDIN,):
        with opened(path) as stream:
            for line in decode_lines(stream, name_of(path), options.errors):
                translation, searches = model.trace(line, options.decoding)
                if options.json:
                    record = {
                        "text": translation.text,
                        "score": translation.score,
                        "searches": [asdict(search) for search in searches],
                    }
                    sink.write([json.dumps(record, ensure_ascii=False)])
                else:
                    sink.write(list(_as_text(translation, searches)))


def _as_text(translation: "Translation", searches: "list[Search]") -> Iterator[str]:
    for search in searches:
        yield f"source: {' '.join(search.source)}"
        for number, step in enumerate(search.steps, start=1):
            yield f"step {number}"
            for beam in step.beams:
                yield from _beam(beam)
            for hypothesis in step.finished:
                quotient = f"{hypothesis.total:.3f} / {hypothesis.length_penalty:.3f}"
                tokens = " ".join(hypothesis.tokens)
                yield f"  finished: {tokens}  {quotient} = {hypothesis.score:.3f}"
        yield f"stopped: {search.stopped}"
    yield f"translation: {translation.text}  {translation.score:.3f}"
    yield ""


def _beam(beam: "Beam") -> Iterator[str]:
    yield f"  beam {beam.number}: {' '.join(beam.tokens) or '(start)'}  {beam.total:.3f}"
    for candidate in beam.candidates:
        chosen = f"  -> {candidate.beam}" if candidate.beam else ""
        yield f"    {candidate.token:16} {candidate.log_prob:8.3f} {candidate.total:8.3f}{chosen}"
