"""The job of ``nmt translate``: files or standard input to files or standard output."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, replace
from itertools import chain, islice
from pathlib import Path
from typing import Protocol

from nmt_cli.errors import NmtError
from nmt_cli.files import is_special, standard_output
from nmt_cli.pipeline.forms import Form, JsonLines, Plain, Table
from nmt_cli.pipeline.inputs import STDIN, Job, check_apart, count_lines, jobs_of, name_of, opened
from nmt_cli.pipeline.options import TranslateOptions
from nmt_cli.pipeline.output import (
    Sink,
    check_free,
    file_sink,
    part_of,
    stream_sink,
)
from nmt_cli.pipeline.stream import Counts, Stream
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator
from nmt_cli.text.lines import decode_lines

Say = Callable[[str], None]
Advance = Callable[[int], object]
# Given the number of lines, if known: a context that takes the number of lines done so far.
Progress = Callable[[int | None], AbstractContextManager[Advance]]


class Model(Protocol):
    """What the job needs of a model; :func:`nmt_cli.open` returns one."""

    def translator(self, options: DecodingOptions | None, sentences: int) -> Translator:
        """A translator with these options for about so many sentences."""

    def fingerprint(self) -> list[str]:
        """What distinguishes the model from any other."""


def translate_files(
    options: TranslateOptions, model: Model, say: Say, progress: Progress | None = None
) -> Counts:
    """Translate files, or standard input.

    Args:
        options: what to translate and how.
        model: to translate with.
        say: receives warnings and progress messages.
        progress: shows how many lines are done; None for nothing.

    Returns:
        What was translated; no counts for documents.

    Raises:
        OptionError: the options contradict each other.
        NmtError: an input cannot be read, an output cannot be written, or the model cannot be
            loaded or run.
        BrokenPipeError: the reader of standard output is gone.
    """
    options.check()
    jobs = _jobs(options, say)
    if options.format:
        from nmt_cli.pipeline.documents import document_format, translate_documents

        formats = [document_format(job.source, options.format) for job in jobs]
        translator = model.translator(options.decoding, 2)
        translate_documents(jobs, formats, translator, options.errors, say)
        return Counts()
    total = _lines_in_all(options, jobs) if progress else None
    with progress(total) if progress else nullcontext(lambda lines: None) as advance:
        return _Lines(options, model, say, advance).translate(jobs)


def line_stream(options: TranslateOptions, model: Model, sentences: int) -> Stream:
    """How lines become lines with these options, for about so many sentences."""
    return Stream(model.translator(options.decoding, sentences), _form(options), options)


def _form(options: TranslateOptions) -> Form:
    if options.input_format == "tsv":
        return Table(options.field or "")
    if options.input_format == "jsonl":
        return JsonLines(options.field or "", options.errors)
    return Plain(options.constraints)


def _jobs(options: TranslateOptions, say: Say) -> list[Job]:
    """What to read and write, checked before a model is loaded.

    Raises:
        NmtError: an input cannot be read, or an output must not be written.
    """
    folder = options.output and options.output.is_dir()
    if options.several or (options.files and folder):
        jobs = jobs_of(options.files, options.output)
    else:
        jobs = [Job(options.files[0] if options.files else STDIN, options.output)]
    check_apart(jobs)
    for job in jobs:
        _check_source(options, job.source)
    if options.output is None:
        standard_output("give -o FILE, or redirect it")
    if options.resume:
        return list(_unfinished(jobs, say))
    for job in jobs:
        if job.output:
            check_free(job.output, options.force)
    return jobs


def _check_source(options: TranslateOptions, source: Path) -> None:
    """Check that a source can be read, unless it can be read only once.

    Raises:
        NmtError: it cannot be read, or not as often as needed.
    """
    if not is_special(source):
        with opened(source):
            pass
    elif options.shard:
        raise NmtError(
            f"{source}: is a pipe or a device; --shard reads its input twice", "use a file instead"
        )


def _unfinished(jobs: Sequence[Job], say: Say) -> Iterator[Job]:
    for job in jobs:
        if job.output and job.output.is_file():
            say(f"{job.output}: already complete")
        else:
            yield job


def _lines_in_all(options: TranslateOptions, jobs: Sequence[Job]) -> int | None:
    """How many lines to translate; None if an input can be read only once."""
    if any(job.source == STDIN or is_special(job.source) for job in jobs):
        return None
    spans = [options.part.lines(count_lines(job.source)) for job in jobs]
    return sum(end - start for start, end in spans)


class _Lines:
    """The translation of line-based inputs.

    Args: as of :func:`translate_files`.
    """

    def __init__(self, options: TranslateOptions, model: Model, say: Say, advance: Advance) -> None:
        self._options, self._model, self._say, self._advance = options, model, say, advance
        self._counts = Counts()

    def translate(self, jobs: Sequence[Job]) -> Counts:
        """Translate each input to its output."""
        options, stream = self._options, None
        for job in jobs:
            with opened(job.source) as source:
                name, keep_cr = name_of(job.source), options.input_format is not None
                lines = decode_lines(source, name, options.errors, self._say, keep_cr)
                if stream is None:
                    # A lone line gets all threads; several lines get one each.
                    first, lines = _ahead(lines, 0 if options.line_buffered else 2)
                    sentences = first if len(jobs) == 1 else 2
                    stream = line_stream(options, self._model, sentences)
                own = replace(stream, form=_form(options))
                if len(jobs) > 1:
                    own = replace(own, translator=replace(stream.translator, name=f"{name}, "))
                self._translate_file(job, own, lines)
        return self._counts

    def _translate_file(self, job: Job, stream: Stream, lines: Iterator[str]) -> None:
        """Translate the lines of one file that belong to the shard and are not done."""
        start, end = 0, None
        if self._options.shard:
            start, end = self._options.part.lines(count_lines(job.source))
        name = name_of(job.source)
        with self._sink(job, stream.lines_each) as sink:
            if sink.done:
                self._say(f"{job.output}: continuing after line {sink.done:,}")
            skipped = start + sink.done
            if skipped:
                stream.form.begin(next(lines, ""), f"{name}, line 1")
                lines = islice(lines, skipped - 1, None)
            if end is not None:
                lines = islice(lines, end - skipped)
            self._advance(sink.done)
            for written in stream.translate(lines, name, self._counts, skipped + 1):
                sink.write(written)
                self._advance(1)

    @contextmanager
    def _sink(self, job: Job, lines_each: int) -> Iterator[Sink]:
        options = self._options
        if job.output is None:
            with stream_sink(standard_output(), options.line_buffered) as out:
                yield out
            return
        settings = _fingerprint(options, self._model, job.source)
        began = False
        try:
            with file_sink(job.output, lines_each, settings, options.resume, options.force) as sink:
                began = True
                yield sink
        except BaseException:
            part = part_of(job.output)
            if began and part.exists():
                self._say(f"{part}: holds the finished lines; continue with --resume")
            raise


def _fingerprint(options: TranslateOptions, model: Model, source: Path) -> str:
    """A SHA-256 (hex) of everything that the lines of an output depend on."""
    parts = asdict(options)
    for each in ("files", "output", "force", "resume", "line_buffered", "interactive"):
        del parts[each]
    parts["model"] = model.fingerprint()
    parts["source"] = str(source if source == STDIN else source.resolve())
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _ahead(lines: Iterator[str], most: int) -> tuple[int, Iterator[str]]:
    """How many lines there are, up to ``most``, and all lines; an error is raised in its place."""
    read: list[str] = []
    try:
        for line in islice(lines, most):
            read.append(line)
    except NmtError as error:
        return len(read), chain(read, _raising(error))
    return len(read), chain(read, lines)


def _raising(error: NmtError) -> Iterator[str]:
    raise error
    yield
