"""``nmt translate`` at work: from files or standard input to files or standard output."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from nmt_cli.cli.models import check_asked, load_ensemble
from nmt_cli.cli.options import say
from nmt_cli.cli.streams import (
    STDIN,
    bytes_of,
    check_standard_output,
    ending_by_sigpipe,
    name_of,
    on_terminal,
    standard_output,
)
from nmt_cli.cli.task import Task
from nmt_cli.cli.wishes import with_wishes
from nmt_cli.errors import NmtError
from nmt_cli.files import is_special
from nmt_cli.pipeline.details import Details
from nmt_cli.pipeline.forms import Form, JsonLines, Plain, Table
from nmt_cli.pipeline.inputs import Job, check_apart, count_lines, jobs_of
from nmt_cli.pipeline.output import Sink, check_free, file_sink, part_of
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
    if not jobs:
        return
    with ending_by_sigpipe():
        if task.document:
            from nmt_cli.cli.documents import kind_of, translate_documents

            for job in jobs:
                kind_of(task, job.source)
            translate_documents(task, jobs, _translator(task, sentences=2))
        else:
            _translate_lines(task, jobs)


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
    check_apart(jobs)
    for job in jobs:
        _check_source(task, job.source)
    if task.output is None:
        check_standard_output("give -o FILE, or redirect it")
    if task.resume:
        return list(_unfinished(jobs))
    for job in jobs:
        if job.output:
            check_free(job.output, task.force)
    return jobs


def _check_source(task: Task, source: Path) -> None:
    """Whether a source can be read; what can be read but once is not touched.

    Raises:
        NmtError: it cannot be, or not as often as is asked for.
    """
    if not is_special(source):
        with bytes_of(source):
            pass
    elif task.shard:
        raise NmtError(
            f"{source}: is a pipe or a device, and --shard reads twice", "give a file in its place"
        )


def _unfinished(jobs: Sequence[Job]) -> Iterator[Job]:
    """The jobs whose output is not there yet."""
    for job in jobs:
        if job.output and job.output.is_file():
            say(f"{job.output}: is whole already")
        else:
            yield job


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
                keep_cr = task.input_format is not None
                lines = decode_lines(source, name_of(job.source), task.errors, say, keep_cr)
                if stream is None:
                    # A lone line gets all threads; more than one, one each.
                    first, lines = _ahead(lines, 0 if task.line_buffered else 2)
                    stream = _stream(task, sentences=first if len(jobs) == 1 else 2)
                own = replace(stream, form=_form(task))
                if len(jobs) > 1:
                    named = replace(stream.translator, name=f"{name_of(job.source)}, ")
                    own = replace(own, translator=named)
                _translate_file(task, job, own, lines, counts, advance)
    if task.output or on_terminal(sys.stderr):
        say(counts.summary(time.monotonic() - began))


def _ahead(lines: Iterator[str], most: int) -> tuple[int, Iterator[str]]:
    """How many lines there are, up to ``most``; and all of them, an error in its place."""
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
    with _sink(task, job, stream.lines_each) as sink:
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
def _sink(task: Task, job: Job, lines_each: int) -> Iterator[Sink]:
    """Where lines go."""
    if job.output is None:
        with standard_output(at_once=task.line_buffered) as out:
            yield out
        return
    settings = task.fingerprint(job.source)
    began = False
    try:
        with file_sink(job.output, lines_each, settings, task.resume, task.force) as sink:
            began = True
            yield sink
    except BaseException:
        part = part_of(job.output)
        if began and part.exists():
            say(f"{part}: keeps what is done; go on with --resume")
        raise


@contextmanager
def _progress(task: Task, jobs: Sequence[Job]) -> Iterator[Callable[[int], object]]:
    """A bar on a terminal that shows nothing else; gives what counts lines."""
    if not on_terminal(sys.stderr) or (task.output is None and on_terminal(sys.stdout)):
        yield lambda lines: None
        return
    from tqdm import tqdm  # not imported in vain: it takes a tenth of a lone line's time

    total = None
    if not any(job.source == STDIN or is_special(job.source) for job in jobs):
        counts = [count_lines(job.source) for job in jobs]
        spans = [task.part.lines(count) for count in counts]
        total = sum(end - start for start, end in spans)
    with tqdm(total=total, desc="translating", unit="line") as bar:
        yield bar.update
