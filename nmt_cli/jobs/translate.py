"""The job of ``nmt translate`` in one process: files or stdin to files or stdout."""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import InputError
from nmt_cli.files import is_special, locked, standard_output
from nmt_cli.formats import ARCHIVES, format_of, translate_file
from nmt_cli.jobs.files import STDIN, Job, Sink, file_sink, jobs_to_do, name_of, opened, shard_range
from nmt_cli.jobs.language import LanguageCheck
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.records import Lines, form_of
from nmt_cli.jobs.shards import MAX_WAIT, Counts, Form, RowTranslator
from nmt_cli.text.lines import unshortened, writing

if TYPE_CHECKING:
    from nmt_cli.models import AnyModel

logger = logging.getLogger(__name__)

Advance = Callable[[int], object]
# Given the number of rows, if known: a context that takes the number of rows done so far.
Progress = Callable[[int | None], AbstractContextManager[Advance]]


def no_progress(total: int | None) -> AbstractContextManager[Advance]:
    """Show nothing."""
    return nullcontext(lambda rows: None)


def translate_files(
    options: TranslateOptions, model: "AnyModel", progress: Progress | None = None
) -> Counts:
    """Translate files, or standard input; returns what was translated, without counting documents.

    Raises BrokenPipeError if the reader of standard output is gone.
    """
    options = options.resolved()
    form = form_of(options)
    if not isinstance(form, Lines):
        return _translate_shards(options, form, model, progress)
    jobs = jobs_to_do(options)
    if options.format or options.writes_memory:
        _translate_documents(options, jobs, model)
        return Counts()
    if not options.input_format:
        _check_no_documents([job.source for job in jobs])
    run = _TextRun(options, model, jobs, type(form))
    total = run.total() if progress else None  # which takes as long as reading the files
    with (progress or no_progress)(total) as advance:
        for job in jobs:
            run.translate(job, advance)
    return run.counts


@dataclass(frozen=True)
class _TextRun:
    """Translates files of text record by record."""

    options: TranslateOptions
    model: "AnyModel"
    jobs: Sequence[Job]
    form: type[Lines]
    counts: Counts = field(default_factory=Counts)

    def total(self) -> int | None:
        """Return the number of records to translate; None if an input can be read only once."""
        if any(job.source == STDIN or is_special(job.source) for job in self.jobs):
            return None
        ranges = [self._range(job.source, self.options.shard or "1/1") for job in self.jobs]
        return sum(end - start for start, end in ranges)

    def translate(self, job: Job, advance: Advance) -> None:
        """Translate a file, or continue it."""
        options, name = self.options, name_of(job.source)
        form = self.form(options)
        with opened(job.source) as source:
            peeked = list(islice(source, 0 if options.line_buffered else 2))
            records = form.split(chain(peeked, source))
            rows = self._rows(name, len(peeked))
            start, end = self._range(job.source, options.shard) if options.shard else (0, None)
            # Before the output takes its name.
            with self._sink(job, form) as sink, unshortened(source, name):
                if sink.done:
                    logger.info(f"{job.output}: continuing after line {sink.done:,}")
                    advance(sink.done)
                start += sink.done
                records = islice(records, end)
                for skipped in islice(records, start):
                    if form.column is None:
                        form.read_header(skipped, name)
                for lines in form.stream(records, start + 1, rows):
                    sink.write(lines)
                    advance(1)

    def _range(self, source: Path, shard: str) -> tuple[int, int]:
        with opened(source) as stream:
            return shard_range(shard, sum(1 for _ in self.form(self.options).split(stream)))

    def _rows(self, name: str, peeked: int) -> RowTranslator:
        """Return a translator of the rows of a file, ``peeked`` of which were read."""
        options, several = self.options, len(self.jobs) > 1
        # A lone line gets all threads; several lines get one each.
        translator = self.model.translator(options.decoding, single=not several and peeked < 2)
        if several:
            translator = replace(translator, name=f"{name}, ")
        wait = 0 if options.line_buffered else MAX_WAIT
        return RowTranslator(translator, options, name, self.counts, wait)

    def _sink(self, job: Job, form: Lines) -> AbstractContextManager[Sink]:
        if job.output is None:
            return nullcontext(Sink(standard_output()))
        source = str(job.source if job.source == STDIN else job.source.resolve())
        settings = self.options.fingerprint(self.model.fingerprint(), source)
        return file_sink(job.output, form.completed, settings, self.options.resume)


def _translate_shards(
    options: TranslateOptions, form: Form, model: "AnyModel", progress: Progress | None
) -> Counts:
    """Translate files whose records cannot be streamed: as Ray does, to folders of shards."""
    from nmt_cli.jobs import shards
    from nmt_cli.jobs.folders import file_jobs

    counts = Counts()
    with locked(options.output or Path()), (progress or no_progress)(None) as advance:
        jobs = file_jobs(options, model.fingerprint())
        jobs = [job for job in jobs if job.prepare(options.force, options.resume)]
        translator = model.translator(options.decoding)
        for job in jobs:
            existing, end = set(job.names()), 0
            for shard in form.shards(job.source, shards.ROWS):
                end = shard.end
                if job.shard_name(shard.start, end) not in existing:
                    job.translate(shard, translator, options, counts, form)
                advance(end - shard.start)
            job.finish(end)
    return counts


def _translate_documents(options: TranslateOptions, jobs: Sequence[Job], model: "AnyModel") -> None:
    """Translate documents, each written as a whole; alignments place the markup."""
    from nmt_cli.formats.placing import Translate
    from nmt_cli.formats.tmx import translation_memory

    formats = [_format(job.source, options.format) for job in jobs]
    decoding = replace(options.decoding, alignments=model.has_attention)
    translator, has_terms = model.translator(decoding), options.decoding.glossary is not None
    for (source, output), format in zip(jobs, formats, strict=True):
        name = name_of(source)
        check = LanguageCheck(name, model.languages if options.language_check else None)
        lines = partial(check.watch, translate=translator.translate)
        translate = Translate(lines, model.has_attention, model.languages, has_terms=has_terms)
        with opened(source) as stream:
            content = stream.read()
        if options.writes_memory:
            result = translation_memory(format, content, name, translate, options.errors)
        else:
            result = translate_file(format, content, name, translate, errors=options.errors)
        with writing(output) if output else nullcontext(standard_output()) as stream:
            stream.write(result)
            stream.flush()
        check.finish()


def _format(path: Path, name: str | None) -> str:
    """Return the format with a name, or that of a file; "" for lines, unless the name is auto."""
    format = format_of(path) if name in (None, "auto") else str(name)
    if name and not format:
        hint = "use a suffix such as .srt, .po, .json or .html, or name the `format`"
        raise InputError(f"{path}: unknown document format", hint)
    return format


def _check_no_documents(paths: Sequence[Path]) -> None:
    """Warn of documents that are translated as lines; those of bytes have none."""
    documents = [path for path in paths if format_of(path)]
    for path in documents:
        if format_of(path) in ARCHIVES:
            raise InputError(f"{path}: is a document, not lines of text", "add `format=auto`")
    if documents:
        others = f" and {len(documents) - 1:,} more" if len(documents) > 1 else ""
        reason = "translated as lines of text; `format=auto` keeps its markup"
        logger.warning(f"{documents[0]}{others}: {reason}")
