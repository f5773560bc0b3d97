"""The jobs of ``nmt translate``, ``nmt backtranslate`` and ``nmt distill`` on Ray.

Readers cut files into shards; actors translate them and write a file for each.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from logging.handlers import BufferingHandler
from pathlib import Path
from typing import Any
from warnings import catch_warnings

import ray
from ray.exceptions import ActorDiedError

from nmt_cli import models
from nmt_cli.errors import NmtError, ResourceError, visible
from nmt_cli.files import locked
from nmt_cli.jobs import shards
from nmt_cli.jobs.folders import DataPath, FileJob, file_jobs, settings, sources
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.pairs import PairLines, pair_files, pairs_in, write_pairs
from nmt_cli.jobs.records import form_of
from nmt_cli.jobs.shards import Counts, Form, Shard
from nmt_cli.jobs.translate import Progress, no_progress
from nmt_cli.ray.cluster import RaySettings, SharedBundle, open_shared
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator

logger = logging.getLogger(__name__)

READERS = 4  # files read at the same time
REPORT_SECONDS = 60.0  # between messages about the speed
MAX_WARNINGS = 100
MAX_RESTARTS = 20  # of an actor: a row that kills its process must not repeat forever

# A shard of a file; or, after them, their number as its start and that of all rows as its end.
Row = dict[str, Any]


def translate_files(
    options: TranslateOptions,
    bundles: Sequence[Path],
    ray_settings: RaySettings,
    progress: Progress | None = None,
) -> Counts:
    """Translate files on Ray; returns what was translated. Several bundles are an ensemble."""
    options = options.resolved()
    model, root = _checked(bundles, options.decoding), DataPath.of(options.output or Path())
    with locked(root.local) if root.local else nullcontext():
        jobs = file_jobs(options, model.fingerprint())
        jobs = [job for job in jobs if job.prepare(options.force, options.resume)]
        return _run(Work(jobs, options, bundles, ray_settings), progress) if jobs else Counts()


def synthesize_files(
    files: Sequence[Path],
    bundle: Path,
    decoding: DecodingOptions,
    output: Path,
    force: bool,
    ray_settings: RaySettings,
) -> tuple[str, str]:
    """Make training pairs on Ray; see :func:`nmt_cli.jobs.pairs.synthesize_files`.

    An interrupted job continues when it is started again. Returns the model's languages.
    """
    folder = output.with_name(f"{output.name}.shards")
    options = TranslateOptions(
        files=tuple(files), output=folder, force=force, decoding=decoding, engine="ray"
    )
    options.check()
    model, jobs = _checked([bundle], decoding), []
    paths = pair_files(model, output, files, force)
    with locked(folder):
        for index, (source, _) in enumerate(sources(files)):
            part = DataPath.of(folder / f"{index:06}")
            marks = [*model.fingerprint(), "pairs"]
            jobs.append(FileJob(source, part, part, settings(options, marks, source)))
        unfinished = [job for job in jobs if job.prepare(force, resume=not force)]
        if unfinished:
            _run(Work(unfinished, options, [bundle], ray_settings, pairs=True), None)
        write_pairs(pairs_in(part for job in jobs for part in job.parts()), *paths)
        DataPath.of(folder).remove()
    return model.languages


def _checked(bundles: Sequence[Path], decoding: DecodingOptions) -> models.TranslationModel:
    """Open bundles for the errors that each actor would have."""
    for bundle in bundles:
        SharedBundle.of(bundle, copied=False)
    with models.open(*bundles) as model:
        model.translator(decoding)
    return model


@dataclass(frozen=True)
class Work:
    """What the driver, the readers and the actors share.

    Attributes:
        pairs: make training pairs.
        shard_rows: rows of a shard, at most.
    """

    jobs: Sequence[FileJob]
    options: TranslateOptions
    bundles: Sequence[Path]
    ray_settings: RaySettings
    pairs: bool = False
    shard_rows: int = field(default_factory=lambda: shards.ROWS)

    def form(self) -> Form:
        """Return the form of the records of one file."""
        return PairLines(self.options) if self.pairs else form_of(self.options)

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the readers as the actors have translated them."""
        arguments, threads = self.ray_settings.actors()
        copied = self.ray_settings.address is not None
        shared = [SharedBundle.of(bundle, copied) for bundle in self.bundles]
        rows = [{"job": index} for index in range(len(self.jobs))]
        readers = ray.data.TaskPoolStrategy(size=min(READERS, len(rows)))
        # Readers and actors have different resources, so that Ray Data does not make one of both.
        files = ray.data.from_items(rows, override_num_blocks=len(rows))
        read = files.flat_map(self.read, num_cpus=0, compute=readers)
        with catch_warnings(action="ignore"):  # no other parameter limits the restarts yet
            arguments["max_restarts"] = MAX_RESTARTS
            translated = read.map(Actor, fn_constructor_args=(self, shared, threads), **arguments)
        try:
            yield from translated.iter_rows()
        except ActorDiedError:
            hint = "check the memory of the nodes and the rows; `resume` continues the job"
            raise ResourceError(f"an actor died {MAX_RESTARTS + 1} times", hint) from None

    def read(self, row: Row) -> Iterator[Row]:
        """Yield the shards of a file; those that exist, without their content."""
        job, count, end = self.jobs[row["job"]], 0, 0
        row = {**row, **vars(Shard(0, 0, b"", b"")), "last": False, "problem": ""}
        try:
            existing = set(job.names())
            for shard in self.form().shards(job.source, self.shard_rows):
                count, end = count + 1, shard.end
                if job.shard_name(shard.start, end) in existing:
                    shard = replace(shard, content=b"")
                yield {**row, **vars(shard)}
            yield {**row, "start": count, "end": end, "last": True}
        except NmtError as error:
            yield {**row, "problem": visible(str(error))}  # Arrow takes no surrogates


class Actor:
    """Translates shards with bundles that it loads once."""

    def __init__(self, work: Work, shared: Sequence[SharedBundle], threads: int) -> None:
        self._work, self._shared, self._threads = work, shared, threads
        self._translator: Translator | None = None
        self._log = BufferingHandler(1 << 20)  # messages, for the driver
        logging.getLogger("nmt_cli").addHandler(self._log)

    def __call__(self, row: Row) -> Row:
        """Translate a shard and write its file; returns the row with counts for its content."""
        work, counts, problem = self._work, Counts(), row["problem"]
        try:
            if row["content"]:
                if not self._translator:  # not earlier: its errors belong to a row
                    model = open_shared(self._shared, work.ray_settings, self._threads)
                    self._translator = model.translator(work.options.decoding)
                shard = Shard(row["start"], row["end"], row["header"], row["content"])
                job = work.jobs[row["job"]]
                job.translate(shard, self._translator, work.options, counts, work.form())
        except NmtError as error:
            problem = visible(str(error))
        messages = [visible(record.getMessage()) for record in self._log.buffer]
        self._log.flush()
        kept = {name: row[name] for name in ("job", "start", "end", "last")}
        return {**kept, **vars(counts), "problem": problem, "messages": messages}


def _run(work: Work, progress: Progress | None) -> Counts:
    """Translate files; returns what was translated now."""
    counts, began = Counts(), time.monotonic()
    done, totals, warnings, reported = Counter[int](), dict[int, Row](), 0, began
    with (progress or no_progress)(None) as advance, work.ray_settings.connected():
        for row in work.rows():
            if row["problem"]:
                raise NmtError(row["problem"])
            for message in row["messages"][: MAX_WARNINGS - warnings]:
                logger.warning(message)
            warnings += len(row["messages"])
            counts = Counts(**{name: value + row[name] for name, value in vars(counts).items()})
            number = row["job"]
            if row["last"]:
                totals[number] = row
            else:
                done[number] += 1
                advance(row["end"] - row["start"])
            if number in totals and done[number] == totals[number]["start"]:
                work.jobs[number].finish(totals[number]["end"])
            if not progress and time.monotonic() > reported + REPORT_SECONDS:
                reported = time.monotonic()
                logger.info(counts.summary(reported - began))
    return counts
