"""The jobs of ``nmt translate``, ``nmt backtranslate`` and ``nmt distill`` on Ray.

Readers cut files into shards; actors translate them and write a file for each. Its name has the
range of rows and a hash of everything that they depend on: a shard that exists is complete.
"""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import ray

from nmt_cli import models
from nmt_cli.errors import NmtError, Say
from nmt_cli.jobs.options import TranslateOptions
from nmt_cli.jobs.pairs import Pair, pair_files, report, write_pairs
from nmt_cli.jobs.translate import Counts, Progress
from nmt_cli.lock import locked
from nmt_cli.ray.cluster import Cluster, SharedBundle, on_this_node, open_shared
from nmt_cli.ray.places import Place
from nmt_cli.ray.plan import FileJob, jobs_of, settings, sources
from nmt_cli.ray.shards import Shard, ShardTranslator, read_shards
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translator

READERS = 4  # files read at the same time
_SECONDS = 60.0  # between messages about the speed
_MOST_WARNINGS = 100
_DEATHS = 2  # of processes that had the same row, after which the row is to blame

# A shard of a file; or, after them, their number as its start and that of all rows as its end.
Row = dict[str, Any]


def translate_files(
    options: TranslateOptions,
    bundles: Sequence[Path],
    cluster: Cluster,
    say: Say,
    progress: Progress | None = None,
) -> Counts:
    """Translate files on Ray; returns what was translated.

    Args:
        options: those of ``nmt translate``; files and output may be URLs.
        bundles: their folders; several are an ensemble.
        cluster: where to translate.
        say: receives warnings and messages.
        progress: shows how many rows are done.

    Raises:
        NmtError: the options contradict each other, a file cannot be read or written, a row
            cannot be translated, or there is no such cluster.
    """
    options.check()
    model, root = _checked(bundles, options.decoding, say), Place.of(options.output or Path())
    marks = [*model.fingerprint(), str(cluster.rows)]
    with locked(root.local) if root.local else nullcontext():
        jobs = [each for each in jobs_of(options, root, marks) if each.prepare(options, say)]
        return _run(jobs, options, bundles, cluster, say, progress) if jobs else Counts()


def synthesize_files(
    files: Sequence[Path],
    bundle: Path,
    decoding: DecodingOptions,
    output: Path,
    force: bool,
    cluster: Cluster,
    say: Say,
) -> tuple[str, str]:
    """Make training pairs on Ray; see :func:`nmt_cli.jobs.pairs.synthesize_files`.

    An interrupted job continues when it is started again. Returns the model's languages.

    Raises:
        NmtError: a file cannot be read or written, or there is no such cluster.
    """
    folder = output.with_name(f"{output.name}.shards")
    options = TranslateOptions(
        files=tuple(files),
        output=folder,
        force=force,
        resume=not force,
        decoding=decoding,
        engine="ray",
    )
    options.check()
    model, jobs = _checked([bundle], decoding, say), []
    places = pair_files(model, output, files, force)
    marks = [*model.fingerprint(), str(cluster.rows), "pairs"]
    with locked(folder):
        for at, (source, _) in enumerate(sources(files)):
            place = Place.of(folder / f"{at:06}")
            jobs.append(FileJob(source, place, place, settings(options, marks, source)))
        left = [each for each in jobs if each.prepare(options, say)]
        if left:
            _run(left, options, [bundle], cluster, say, None, pairs=True)
        counts = write_pairs((pair for each in jobs for pair in _pairs(each)), *places)
        Place.of(folder).remove()
    say(f"wrote {places[0]} and {places[1]}: {report(counts)}")
    return model.languages


def _checked(
    bundles: Sequence[Path], decoding: DecodingOptions, say: Say
) -> models.TranslationModel:
    """Open bundles for the errors that each actor would have."""
    for each in bundles:
        SharedBundle.of(each, copied=False)
    with models.open(*bundles, warn=say) as model:
        model.translator(decoding)
    return model


def _pairs(job: FileJob) -> Iterator[Pair]:
    """The pairs of a file whose shards are complete."""
    for shard in job.places():
        with shard.opened() as stream:
            lines = (raw.decode().removesuffix("\n") for raw in stream)
            for outcome in lines:
                pair = (next(lines), next(lines)) if outcome == "written" else ("", "")
                yield outcome, *pair


def _run(
    jobs: Sequence[FileJob],
    options: TranslateOptions,
    bundles: Sequence[Path],
    cluster: Cluster,
    say: Say,
    progress: Progress | None,
    pairs: bool = False,
) -> Counts:
    """Translate files; returns what was translated now.

    Raises:
        NmtError: a file cannot be read or written, or a row cannot be translated.
    """
    counts, began = Counts(), time.monotonic()
    done, totals, warnings, reported = Counter[int](), dict[int, Row](), 0, began
    with progress(None) if progress else nullcontext() as advance, cluster.connected():
        arguments, threads = cluster.actors()
        shared = [SharedBundle.of(each, copied=cluster.address is not None) for each in bundles]
        options = replace(options, files=())
        work = Work(jobs, options, pairs, cluster, shared, threads, on_this_node(Deaths))
        for row in work.rows(arguments):
            if row["problem"]:
                raise NmtError(row["problem"])
            for each in row["warnings"][: _MOST_WARNINGS - warnings]:
                say(each)
            warnings += len(row["warnings"])
            for part in fields(Counts):
                setattr(counts, part.name, getattr(counts, part.name) + row[part.name])
            number = row["job"]
            if row["last"]:
                totals[number] = row
            else:
                done[number] += 1
                if advance:
                    advance(row["end"] - row["start"])
            if number in totals and done[number] == totals[number]["start"]:
                jobs[number].finish(totals[number]["end"])
            if not advance and time.monotonic() > reported + _SECONDS:
                reported = time.monotonic()
                say(counts.summary(reported - began))
    return counts


class Deaths:
    """Knows which shards and rows were being translated when a process ended."""

    def __init__(self) -> None:
        self._begun: Counter[tuple[int, int]] = Counter()
        self._row: dict[tuple[int, int], int] = {}
        self._ended: defaultdict[tuple[int, int], Counter[int]] = defaultdict(Counter)

    def begin(self, shard: tuple[int, int]) -> tuple[int, list[int]]:
        """How often a shard was begun before, and the rows that end processes."""
        self._begun[shard] += 1
        if shard in self._row:
            self._ended[shard][self._row.pop(shard)] += 1
        rows = [row for row, count in self._ended[shard].items() if count >= _DEATHS]
        return self._begun[shard] - 1, rows

    def begin_row(self, shard: tuple[int, int], row: int) -> None:
        """Record the row that is being translated."""
        self._row[shard] = row

    def end(self, shard: tuple[int, int]) -> None:
        """Forget a shard."""
        for each in (self._begun, self._row, self._ended):
            each.pop(shard, None)


@dataclass(frozen=True)
class Work:
    """What readers and actors share.

    Attributes:
        pairs: make training pairs.
        bundles: their translations are those of an ensemble.
        threads: of each actor.
        deaths: the actor of :class:`Deaths`.
    """

    jobs: Sequence[FileJob]
    options: TranslateOptions
    pairs: bool
    cluster: Cluster
    bundles: Sequence[SharedBundle]
    threads: int
    deaths: Any

    def rows(self, arguments: dict[str, Any]) -> Iterator[Row]:
        """Yield the rows of the readers as actors, with these arguments, have translated them."""
        rows = [{"job": at} for at in range(len(self.jobs))]
        readers = ray.data.TaskPoolStrategy(size=min(READERS, len(rows)))
        # Readers and actors have different resources, so that Ray Data does not make one of both.
        files = ray.data.from_items(rows, override_num_blocks=len(rows))
        shards = files.flat_map(self.read, num_cpus=0, compute=readers)
        yield from shards.map(Actor, fn_constructor_args=(self,), **arguments).iter_rows()

    def read(self, row: Row) -> Iterator[Row]:
        """Yield the shards of a file; those that exist, without their content."""
        job, count, end = self.jobs[row["job"]], 0, 0
        empty = {**row, "header": b"", "content": b"", "done": True, "last": False, "problem": ""}
        try:
            existing = set(job.names())
            for each in read_shards(job.source, self.options, self.cluster.rows):
                count, end = count + 1, each.end
                shard = {**empty, "start": each.start, "end": end}
                if job.shard(each.start, end) not in existing:
                    shard |= {"header": each.header, "content": each.content, "done": False}
                yield shard
            yield {**empty, "start": count, "end": end, "last": True}
        except NmtError as error:
            yield {**empty, "start": 0, "end": 0, "problem": str(error)}


class _Collector(logging.Handler):
    """Appends messages to a list."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__()
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        """Append the message of a record."""
        self._messages.append(record.getMessage())


class Actor:
    """Translates shards with bundles that it loads once."""

    def __init__(self, work: Work) -> None:
        self._work, self._warnings = work, list[str]()
        logging.getLogger("nmt_cli").addHandler(_Collector(self._warnings))
        self._translator: Translator | None = None

    def __call__(self, row: Row) -> Row:
        """Translate a shard and write its file; returns the row with counts for its content."""
        counts, problem = Counts(), row["problem"]
        if not row["done"]:
            try:
                self._translate(row, counts)
            except NmtError as error:
                problem = str(error)
        kept = {each: row[each] for each in ("job", "start", "end", "last")}
        warnings, self._warnings[:] = list(self._warnings), []
        return {**kept, **vars(counts), "problem": problem, "warnings": warnings}

    def _translate(self, row: Row, counts: Counts) -> None:
        work, key = self._work, (row["job"], row["start"])
        job = work.jobs[row["job"]]
        if not self._translator:  # not earlier: its errors belong to a row
            model = open_shared(work.bundles, work.cluster, work.threads, self._warnings.append)
            self._translator = model.translator(work.options.decoding)
        begun, deadly = ray.get(work.deaths.begin.remote(key))

        def begin_row(number: int) -> None:
            if number in deadly:
                reason = f"{job.source.name}, line {number}: ends the process that translates it"
                raise NmtError(reason, "remove it, or keep it as it is with --errors column")
            ray.get(work.deaths.begin_row.remote(key, number))

        translating = ShardTranslator(
            replace(self._translator, name=f"{job.source.name}, "),
            work.options,
            job.source.name,
            work.pairs,
            each_header=not job.joined,
            begin_row=begin_row if begun >= _DEATHS else None,
        )
        shard = Shard(row["start"], row["end"], row["header"], row["content"])
        content = translating.translate(shard, counts)
        job.shards.plus(f"/{job.shard(shard.start, shard.end)}").write(content)
        work.deaths.end.remote(key)
