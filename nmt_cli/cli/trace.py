"""``nmt translate --trace``: the search of each line, step by step."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from nmt_cli.cli.options import say
from nmt_cli.files import standard_output
from nmt_cli.jobs.inputs import STDIN, name_of, opened
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.outputs import Sink
from nmt_cli.text.lines import decode_lines

if TYPE_CHECKING:
    from nmt_cli.models import TranslationModel
    from nmt_cli.search.rejoining import Translation
    from nmt_cli.search.trace import Beam, Search


def show(options: TranslateOptions, model: "TranslationModel") -> None:
    """Print the searches for every line, as text or, with ``json``, as one object a line."""
    sink = Sink(standard_output())
    for file in options.files or (STDIN,):
        with opened(file) as stream:
            for line in decode_lines(stream, name_of(file), options.errors, say):
                found, searches = model.trace(line, options.decoding)
                if options.json:
                    steps = [asdict(each) for each in searches]
                    record = {"text": found.text, "score": found.score, "searches": steps}
                    sink.write([json.dumps(record, ensure_ascii=False)])
                else:
                    sink.write(list(_text(found, searches)))


def _text(found: "Translation", searches: "list[Search]") -> Iterator[str]:
    for search in searches:
        yield f"source: {' '.join(search.source)}"
        for number, step in enumerate(search.steps, start=1):
            yield f"step {number}"
            for beam in step.beams:
                yield from _beam(beam)
            for ended in step.finished:
                yield (
                    f"  finished: {' '.join(ended.tokens)}  "
                    f"{ended.total:.3f} / {ended.length_penalty:.3f} = {ended.score:.3f}"
                )
        yield f"stopped: {search.stopped}"
    yield f"translation: {found.text}  {found.score:.3f}"
    yield ""


def _beam(beam: "Beam") -> Iterator[str]:
    yield f"  beam {beam.number}: {' '.join(beam.tokens) or '(start)'}  {beam.total:.3f}"
    for each in beam.candidates:
        chosen = f"  -> {each.beam}" if each.beam else ""
        yield f"    {each.token:16} {each.log_prob:8.3f} {each.total:8.3f}{chosen}"
