"""``nmt translate --interactive``: a prompt for lines to translate."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.cli.options import say
from nmt_cli.errors import NmtError
from nmt_cli.files import standard_output
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.outputs import Sink
from nmt_cli.jobs.records import Lines
from nmt_cli.jobs.shards import RowTranslator
from nmt_cli.text.lines import decode_lines

if TYPE_CHECKING:
    from nmt_cli.models import TranslationModel

PROMPT = "> "
_HISTORY_LINES = 1000


def converse(options: TranslateOptions, model: "TranslationModel") -> None:
    """Ask for lines until the input ends, and print the translation of each.

    On a terminal, lines can be edited, and the arrow keys recall earlier ones.
    """
    if sys.stdin is None:
        raise NmtError("standard input is closed", "--interactive needs a terminal")
    sink = Sink(standard_output("--interactive needs a terminal"))
    rows = RowTranslator(model.translator(options.decoding, sentences=1), options, "the line")
    form = Lines(options)
    terminal = sys.stdin.isatty()
    if terminal:
        say("type a line to translate it; Ctrl-D ends")
    piped = decode_lines(sys.stdin.buffer, "standard input", options.errors, say)
    lines = _typed() if terminal else piped
    for number, line in enumerate(lines, start=1):
        try:
            for answer in form.stream([line.encode()], number, rows):
                sink.write(answer)
        except NmtError as error:  # concerns this line only
            say(str(error))


def _typed() -> Iterator[str]:
    """Lines from the terminal; they are added to the history."""
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
