"""The jobs of ``nmt translate``, ``nmt backtranslate`` and ``nmt distill`` on Ray.

Readers cut files into shards; actors translate them and write a file for each. Its name has the
range of rows and a hash of everything that they depend on: a shard that exists is complete.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import ray

from nmt_cli import models
from nmt_cli.errors import NmtError, Say
from nmt_cli.lock import locked
from nmt_cli.pipeline.job import Counts, Progress
from nmt_cli.pipeline.options import TranslateOptions
from nmt_cli.pipeline.synthesize import Pair, pair_files, report, write_pairs
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
    """Make training pairs on Ray; see :func:`nmt_cli.pipeline.synthesize.synthesize_files`.

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
    done, totals, warnings = Counter[int](), dict[int, Row](), 0
    reported = began
    with progress(None) if progress else nullcontext() as advance, cluster.connected():
        for row in _translated(jobs, options, bundles, cluster, pairs):
            if row["problem"]:
                raise NmtError(row["problem"])
            for each in row["warnings"][: _MOST_WARNINGS - warnings]:
                say(each)
            warnings += len(row["warnings"])
            for each in fields(Counts):
                setattr(counts, each.name, getattr(counts, each.name) + row[each.name])
            if row["last"]:
                totals[row["job"]] = row
            else:
                done[row["job"]] += 1
                if advance:
                    advance(row["end"] - row["start"])
            total = totals.get(row["job"])
            if total and done[row["job"]] == total["start"]:
                jobs[row["job"]].finish(total["end"])
            if not advance and time.monotonic() > reported + _SECONDS:
                reported = time.monotonic()
                say(counts.summary(reported - began))
    return counts


def _translated(
    jobs: Sequence[FileJob],
    options: TranslateOptions,
    bundles: Sequence[Path],
    cluster: Cluster,
    pairs: bool,
) -> Iterator[Row]:
    """Yield the rows of the readers as actors have translated them."""
    arguments, threads = cluster.actors()
    shared = [SharedBundle.of(each, copied=cluster.address is not None) for each in bundles]
    options = replace(options, files=())
    work = (jobs, options, pairs, cluster, shared, threads, on_this_node(Deaths))
    rows = [{"job": at} for at in range(len(jobs))]
    readers = ray.data.TaskPoolStrategy(size=min(READERS, len(jobs)))
    # Readers and actors have different resources, so that Ray Data does not make one of both.
    shards = ray.data.from_items(rows, override_num_blocks=len(rows)).flat_map(
        partial(_read, jobs=jobs, options=options, rows=cluster.rows), num_cpus=0, compute=readers
    )
    yield from shards.map(Actor, fn_constructor_args=work, **arguments).iter_rows()


def _read(row: Row, jobs: Sequence[FileJob], options: TranslateOptions, rows: int) -> Iterator[Row]:
    """Yield the shards of a file; those that exist, without their content."""
    job, count, end = jobs[row["job"]], 0, 0
    empty = {**row, "header": b"", "content": b"", "done": True, "last": False, "problem": ""}
    try:
        existing = set(job.names())
        for each in read_shards(job.source, options, rows):
            count, end = count + 1, each.end
            shard = {**empty, "start": each.start, "end": end}
            if job.shard(each.start, end) not in existing:
                shard |= {"header": each.header, "content": each.content, "done": False}
            yield shard
        yield {**empty, "start": count, "end": end, "last": True}
    except NmtError as error:
        yield {**empty, "start": 0, "end": 0, "problem": str(error)}


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


class Actor:
    """Translates shards with bundles that it loads once."""

    def __init__(
        self,
        jobs: Sequence[FileJob],
        options: TranslateOptions,
        pairs: bool,
        cluster: Cluster,
        bundles: Sequence[SharedBundle],
        threads: int,
        deaths: Any,
    ) -> None:
        self._jobs, self._options, self._pairs, self._deaths = jobs, options, pairs, deaths
        self._model = partial(open_shared, bundles, cluster, threads, self._warn)
        self._translator: Translator | None = None
        self._warnings: list[str] = []

    def _warn(self, message: str) -> None:
        self._warnings.append(message)

    def __call__(self, row: Row) -> Row:
        """Translate a shard and write its file; returns the row with counts for its content."""
        counts, problem, self._warnings = Counts(), row["problem"], []
        if not row["done"]:
            try:
                self._translate(row, counts)
            except NmtError as error:
                problem = str(error)
        kept = {each: row[each] for each in ("job", "start", "end", "last")}
        return {**kept, **vars(counts), "problem": problem, "warnings": self._warnings}

    def _translate(self, row: Row, counts: Counts) -> None:
        job, key = self._jobs[row["job"]], (row["job"], row["start"])
        name = job.source.name
        if not self._translator:  # not earlier: its errors belong to a row
            self._translator = self._model().translator(self._options.decoding)
        begun, deadly = ray.get(self._deaths.begin.remote(key))

        def begin_row(number: int) -> None:
            if number in deadly:
                reason = f"{name}, line {number}: ends the process that translates it"
                raise NmtError(reason, "remove it, or keep it as it is with --errors column")
            ray.get(self._deaths.begin_row.remote(key, number))

        translating = ShardTranslator(
            replace(self._translator, name=f"{name}, "),
            self._options,
            name,
            self._pairs,
            each_header=not job.joined,
            begin_row=begin_row if begun >= _DEATHS else None,
        )
        shard = Shard(row["start"], row["end"], row["header"], row["content"])
        content = translating.translate(shard, counts)
        job.shards.plus(f"/{job.shard(shard.start, shard.end)}").write(content)
        self._deaths.end.remote(key)
