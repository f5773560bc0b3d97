"""The job of ``nmt translate``: files or standard input to files or standard output."""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from nmt_cli.errors import NmtError, Say
from nmt_cli.files import is_special, standard_output
from nmt_cli.formats import SUFFIXES
from nmt_cli.jobs import inputs
from nmt_cli.jobs.inputs import STDIN, Job, count_lines, name_of, opened
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.outputs import Sink, check_free, file_sink
from nmt_cli.jobs.records import (
    Form,
    Record,
    constrained,
    csv_table,
    json_lines,
    plain,
    table,
)
from nmt_cli.search.rejoining import Translation
from nmt_cli.search.translator import Line, Translator
from nmt_cli.text.lines import COLUMN, decode_lines, plain_name

if TYPE_CHECKING:
    from nmt_cli.models import TranslationModel
Advance = Callable[[int], object]
# Given the number of lines, if known: a context that takes the number of lines done so far.
Progress = Callable[[int | None], AbstractContextManager[Advance]]

# Seconds of work, about, after which lines are written: what an interruption may lose.
LONGEST_WAIT = 5.0

# Options on which the lines of the output do not depend.
_WITHOUT_EFFECT = {"files", "output", "force", "resume", "line_buffered", "interactive"}
_ENGINE = {"engine", "address"}


@dataclass
class Counts:
    """What was translated: lines, those not blank, and tokens of their best translations."""

    lines: int = 0
    sentences: int = 0
    tokens: int = 0

    def summary(self, seconds: float) -> str:
        """One line for people."""
        return (
            f"translated {self.lines:,} lines ({self.sentences:,} sentences, {self.tokens:,} "
            f"tokens) in {seconds:,.1f} s: {self.tokens / max(seconds, 1e-9):,.0f} tokens/s"
        )


class Stream:
    """How lines of one input become lines of output.

    Attributes:
        form: how lines are read and written.
        lines_each: lines of output per line of input.
    """

    def __init__(self, translator: Translator, options: TranslateOptions, name: str = "") -> None:
        """``name`` is put before ``line 3`` in the translator's messages."""
        self._translator, self._options = replace(translator, name=name), options
        self.lines_each = 1 if options.json else options.decoding.n_best
        self.form = form_of(options)

    def translate(
        self, lines: Iterable[str], name: str, counts: Counts, first_number: int = 1
    ) -> Iterator[list[str]]:
        """The lines of output for each line of input, in order, which are counted.

        Lines have no ends; the name is that of the input, for errors.

        Raises:
            NmtError: a line does not have the form or cannot be translated; names the line.
        """
        waiting: deque[tuple[str, Record | None]] = deque()
        failures: list[NmtError] = []

        def requested() -> Iterator[Line]:
            try:
                for number, raw in enumerate(lines, start=first_number):
                    record = self.form(raw, f"{name}, line {number}")
                    waiting.append((raw, record))
                    # A line that passes unchanged is translated as a blank one, to keep its place.
                    yield record.line if record else Line("")
            except NmtError as error:  # translate the lines before it first
                failures.append(error)

        seconds = 0 if self._options.line_buffered else LONGEST_WAIT
        for translation in self._translator.translate(requested(), first_number, seconds):
            counts.lines += 1
            counts.sentences += bool(translation.tokens)
            counts.tokens += len(translation.tokens)
            raw, record = waiting.popleft()
            yield written(record, translation, self._options) if record else [raw] * self.lines_each
        if failures:
            raise failures[0]


def form_of(options: TranslateOptions) -> Form:
    """How the lines of an input are read and written."""
    if options.input_format == "tsv":
        return table(options.field or "")
    if options.input_format == "csv":
        return csv_table(options.field or "")
    if options.input_format == "jsonl":
        return json_lines(options.field or "", options.errors)
    return constrained if options.constraints else plain


def written(record: Record, best: Translation, options: TranslateOptions) -> list[str]:
    """The lines of output for a line of input."""
    if not options.json:
        return [record.as_line(each.text, details(each, options)) for each in best.n_best]
    n_best = [{"translation": each.text, **details(each, options)} for each in best.n_best]
    found = n_best[0] | ({"n_best": n_best} if best.others else {})
    return [record.as_json({**found, "seconds": round(best.seconds, 6)})]


def details(translation: Translation, options: TranslateOptions) -> dict[str, Any]:
    """Additional fields by name, in the order of the columns."""
    found: dict[str, Any] = {}
    if options.scores or options.json:
        found["score"] = round(translation.score, 6)
    if options.decoding.alignments:
        found["alignment"] = [f"{i}-{j}" for i, j in translation.alignment or []]
    if options.tokens or options.json:
        found["tokens"] = translation.tokens
    if options.json:
        found["token_scores"] = [round(each, 6) for each in translation.token_scores]
    if options.errors == COLUMN:
        found["error"] = ""
    return found


def translate_files(
    options: TranslateOptions, model: "TranslationModel", say: Say, progress: Progress | None = None
) -> Counts:
    """Translate files, or standard input; returns what was translated, without counting documents.

    ``say`` receives warnings and messages, and ``progress`` shows how many lines are done.

    Raises:
        NmtError: the options contradict each other, an input cannot be read, an output cannot be
            written, or the model cannot be loaded or run.
        BrokenPipeError: the reader of standard output is gone.
    """
    options.check()
    jobs = _jobs(options, say)
    if options.format:
        from nmt_cli.formats.document import format_of
        from nmt_cli.jobs.documents import translate_documents

        kind = None if options.format == "auto" else options.format
        formats = [kind or format_of(job.source) for job in jobs]
        decoding = replace(options.decoding, alignments=model.has_attention)
        texts = model.translator(decoding, 2)
        translate_documents(jobs, formats, texts, options.errors, say)
        return Counts()
    documents = (job.source for job in jobs if plain_name(job.source).suffix.lower() in SUFFIXES)
    if not options.input_format and (first_document := next(documents, None)):
        say(f"{first_document}: translated as lines of text; --format auto keeps its markup")
    counts = Counts()
    translator: Translator | None = None
    total = _lines_in_all(options, jobs) if progress else None
    with progress(total) if progress else nullcontext(lambda lines: None) as advance:
        for job in jobs:
            name, keep_cr = name_of(job.source), options.input_format is not None
            with opened(job.source) as source:
                first = list(islice(source, 0 if options.line_buffered else 2))
                lines = decode_lines(chain(first, source), name, options.errors, say, keep_cr)
                if translator is None:
                    # A lone line gets all threads; several lines get one each.
                    sentences = len(first) if len(jobs) == 1 else 2
                    translator = model.translator(options.decoding, sentences)
                stream = Stream(translator, options, f"{name}, " if len(jobs) > 1 else "")
                start, end = 0, None
                if options.shard:
                    start, end = inputs.shard_lines(options.shard, count_lines(job.source))
                with _sink(job, options, model, stream.lines_each, say) as sink:
                    if sink.done:
                        say(f"{job.output}: continuing after line {sink.done:,}")
                    advance(sink.done)
                    lines, skipped = islice(lines, end), start + sink.done
                    if skipped and options.input_format == "tsv":
                        stream.form(next(lines, ""), f"{name}, line 1")  # the header
                        lines = islice(lines, skipped - 1, None)
                    else:
                        lines = islice(lines, skipped, None)
                    for written in stream.translate(lines, name, counts, skipped + 1):
                        sink.write(written)
                        advance(1)
    return counts


def _jobs(options: TranslateOptions, say: Say) -> list[Job]:
    """What to read and write, checked before a model is loaded."""
    folder = options.output and options.output.is_dir()
    if options.several and options.output and options.output.is_file():
        raise NmtError(f"{options.output}: is a file", "several files need a folder to write to")
    if options.several or (options.files and folder):
        jobs = inputs.jobs_of(options.files, options.output)
    else:
        jobs = [Job(options.files[0] if options.files else STDIN, options.output)]
    inputs.check_apart(jobs)
    for source, _ in jobs:
        if " " in str(source) and not source.exists():  # probably a sentence
            raise NmtError(
                f"{source}: no such file", "to translate text: echo TEXT | nmt translate"
            )
        if not is_special(source):  # what can be read only once is not opened twice
            with opened(source):
                pass
        elif options.shard:
            raise NmtError(
                f"{source}: is a pipe or a device; --shard reads its input twice",
                "use a file instead",
            )
    if options.output is None:
        standard_output("give -o FILE, or redirect it")
    left = []
    for job in jobs:
        if options.resume and job.output and job.output.is_file():
            say(f"{job.output}: already complete")
            continue
        if job.output:
            check_free(job.output, options.force or options.resume)
        left.append(job)
    return left


def _lines_in_all(options: TranslateOptions, jobs: Sequence[Job]) -> int | None:
    """How many lines to translate; None if an input can be read only once."""
    if any(job.source == STDIN or is_special(job.source) for job in jobs):
        return None
    shards = [inputs.shard_lines(options.shard or "1/1", count_lines(job.source)) for job in jobs]
    return sum(end - start for start, end in shards)


def _sink(
    job: Job, options: TranslateOptions, model: "TranslationModel", lines_each: int, say: Say
) -> AbstractContextManager[Sink]:
    if job.output is None:
        return nullcontext(Sink(standard_output()))
    source = str(job.source if job.source == STDIN else job.source.resolve())
    settings = settings_of(options, model.fingerprint(), source)
    return file_sink(job.output, lines_each, settings, options.resume, say)


def settings_of(options: TranslateOptions, model: list[str], source: str) -> str:
    """A hash of everything that the lines of the output depend on."""
    parts = {k: v for k, v in asdict(options).items() if k not in _WITHOUT_EFFECT | _ENGINE}
    parts |= {"model": model, "source": source}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
