"""``nmt translate`` at work: from files or standard input to files or standard output."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice

from nmt_cli.cli.models import check_asked, load_ensemble
from nmt_cli.cli.options import say
from nmt_cli.cli.sources import STDIN, bytes_of, name_of
from nmt_cli.cli.task import Task
from nmt_cli.cli.wishes import with_wishes
from nmt_cli.errors import NmtError
from nmt_cli.pipeline.details import Details
from nmt_cli.pipeline.forms import Form, JsonLines, Plain, Table
from nmt_cli.pipeline.inputs import Job, count_lines, jobs_of
from nmt_cli.pipeline.output import PART, Sink, StreamSink, check_free, file_sink
from nmt_cli.pipeline.stream import Counts, Stream
from nmt_cli.search.translator import Translator
from nmt_cli.text.lines import decode_lines


def run(task: Task) -> None:
    """Do what a call of ``nmt translate`` asks for.

    Raises:
        click.UsageError: options that do not go together.
        NmtError: input, model or output is not as it should be.
    """
    task.check()
    for model in task.models:
        check_asked(model, task.wishes.max_length, task.wishes.looks(task.alignments))
    if task.interactive:
        from nmt_cli.cli.interactive import converse

        converse(_stream(task, sentences=1))
        return
    jobs = _jobs(task)
    try:
        if task.document:
            from nmt_cli.cli.documents import kind_of, translate_documents

            for job in jobs:
                kind_of(task, job.source)
            translate_documents(task, jobs, _translator(task, sentences=2))
        else:
            _translate_lines(task, jobs)
    except BrokenPipeError:
        _end_by_sigpipe()


def _jobs(task: Task) -> list[Job]:
    """What is read and written, looked at before a model is loaded.

    Raises:
        NmtError: something cannot be read, or is not to be written.
    """
    several = len(task.files) > 1 or any(each.is_dir() for each in task.files)
    if several or (task.files and task.output and task.output.is_dir()):
        jobs = jobs_of(task.files, task.output)
    else:
        jobs = [Job(task.files[0] if task.files else STDIN, task.output)]
    for job in jobs:
        with bytes_of(job.source):
            pass
        if job.output and not task.resume:
            check_free(job.output, task.force)
    if task.output is None and sys.stdout is None:
        raise NmtError("standard output is closed", "give -o FILE")
    return jobs


def _end_by_sigpipe() -> None:
    """The reader of standard output is gone: end as other filters do, without a word."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)


def _translator(task: Task, sentences: int) -> Translator:
    loaded = load_ensemble(task.models, task.decoding, sentences)
    return with_wishes(loaded, task.wishes, task.decoding.beam_size, task.alignments)


def _stream(task: Task, sentences: int) -> Stream:
    translator = _translator(task, sentences)
    details = Details(
        translator.tokenizers.target, task.scores, task.alignments, task.tokens, task.as_json
    )
    window = 1 if task.line_buffered else None
    return Stream(translator, _form(task), details, task.as_json, window)


def _form(task: Task) -> Form:
    if task.input_format == "tsv":
        return Table(task.field or "")
    if task.input_format == "jsonl":
        return JsonLines(task.field or "", task.errors)
    return Plain(task.constraints)


def _translate_lines(task: Task, jobs: Sequence[Job]) -> None:
    began, counts, stream = time.monotonic(), Counts(), None
    with _progress(task, jobs) as advance:
        for job in jobs:
            with bytes_of(job.source) as source:
                lines = decode_lines(source, name_of(job.source), task.errors, say)
                if stream is None:
                    # A lone line gets all threads; more than one, one each.
                    first = [] if task.line_buffered else list(islice(lines, 2))
                    stream = _stream(task, sentences=len(first) if len(jobs) == 1 else 2)
                    lines = chain(first, lines)
                _translate_file(
                    task, job, replace(stream, form=_form(task)), lines, counts, advance
                )
    if task.output or sys.stderr.isatty():
        say(counts.summary(time.monotonic() - began))


def _translate_file(
    task: Task,
    job: Job,
    stream: Stream,
    lines: Iterator[str],
    counts: Counts,
    advance: Callable[[int], object],
) -> None:
    """Translate the lines of one file that are this process's and not yet done."""
    start, end = 0, None
    if task.shard:
        start, end = task.part.lines(count_lines(job.source))
    name = name_of(job.source)
    if len(task.files) > 1:
        stream = replace(stream, translator=replace(stream.translator, name=f"{name}, "))
    with _sink(task, job, stream.lines_each) as sink:
        if sink is None:
            say(f"{job.output}: is whole already")
            return
        if sink.done:
            say(f"{job.output}: going on behind its line {sink.done:,}")
        skipped = start + sink.done
        if skipped:
            stream.form.begin(next(lines, ""), f"{name}, line 1")
            lines = islice(lines, skipped - 1, None)
        if end is not None:
            lines = islice(lines, end - skipped)
        advance(sink.done)
        for written in stream.translate(lines, name, counts, skipped + 1):
            sink.write(written)
            advance(1)


@contextmanager
def _sink(task: Task, job: Job, lines_each: int) -> Iterator[Sink | None]:
    """Where lines go; None: they are there."""
    if job.output is None:
        out = StreamSink(sys.stdout.fileno(), at_once=task.line_buffered)
        yield out
        out.flush()
        return
    settings = task.fingerprint(job.source)
    try:
        with file_sink(job.output, lines_each, settings, task.resume, task.force) as sink:
            yield sink
    except BaseException:
        part = job.output.with_name(job.output.name + PART)
        if part.exists():
            say(f"{part}: keeps what is done; go on with --resume")
        raise


@contextmanager
def _progress(task: Task, jobs: Sequence[Job]) -> Iterator[Callable[[int], object]]:
    """A bar on a terminal that shows nothing else; gives what counts lines."""
    if not sys.stderr.isatty() or (task.output is None and sys.stdout.isatty()):
        yield lambda lines: None
        return
    from tqdm import tqdm  # not imported in vain: it takes a tenth of a lone line's time

    total = None
    if not task.reads_stdin:
        counts = [count_lines(job.source) for job in jobs]
        spans = [task.part.lines(count) for count in counts]
        total = sum(end - start for start, end in spans)
    with tqdm(total=total, desc="translating", unit="line") as bar:
        yield bar.update
