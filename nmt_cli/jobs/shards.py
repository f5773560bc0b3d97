"""Shards of files, and the translation of their rows: the unit of work of every job.

A form of records cuts a file into shards and translates a shard to the content of
its output. The local run maps shards in a loop, Ray maps them over actors.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from nmt_cli.errors import visible
from nmt_cli.jobs.language import LanguageCheck
from nmt_cli.jobs.options import COLUMN, TranslateOptions
from nmt_cli.search.lines import Line, Translation
from nmt_cli.search.pivot import AnyTranslator

if TYPE_CHECKING:
    from nmt_cli.jobs.folders import DataPath

ROWS = 10_000  # of a shard, at most
MAX_BYTES = 16 << 20  # a shard ends after this size even if it has fewer rows: this bounds memory

# Seconds of work, about, after which lines are written: what an interruption may lose.
MAX_WAIT = 5.0
# Rows translated together with ``--errors column``, so that a failure can be traced to its row.
_BLOCK = 2048


@dataclass
class Counts:
    """What was translated: rows, those not blank, and tokens of their best translations."""

    lines: int = 0
    sentences: int = 0
    tokens: int = 0

    def summary(self, seconds: float) -> str:
        """Summarize a job in one line."""
        return (
            f"translated {self.lines:,} lines ({self.sentences:,} sentences, {self.tokens:,} "
            f"tokens) in {seconds:,.1f} s: {self.tokens / max(seconds, 1e-9):,.0f} tokens/s"
        )


@dataclass(frozen=True)
class Shard:
    """Consecutive rows of a file.

    Attributes:
        start, end: the range of row numbers, from 0; the end is exclusive.
        header: the first row of the file if it names the columns.
        content: records of text with their ends, or an Arrow stream.
    """

    start: int
    end: int
    header: bytes
    content: bytes


@dataclass
class RowTranslator:
    """Translates the rows of one file and counts them.

    Attributes:
        name: of the file, for errors.
        counts: several files may share them.
        max_wait: seconds of work after which translations are yielded.
    """

    translator: AnyTranslator
    options: TranslateOptions
    name: str
    counts: Counts = field(default_factory=Counts)
    max_wait: float = math.inf

    def translate(self, lines: Iterable[Line], first: int) -> Iterator[Translation | Exception]:
        """Translate lines, in order; ``first`` is the number of the first row, from 1.

        With ``errors=column``, a line that cannot be translated yields its exception.
        """
        if self.options.errors != COLUMN:
            yield from self._counted(lines, first)
            return
        lines = iter(lines)
        while block := list(islice(lines, _BLOCK if self.max_wait else 1)):
            yield from self._keeping(block, first)
            first += len(block)

    def _counted(self, lines: Iterable[Line], first: int) -> Iterator[Translation]:
        is_checked = first == 1 and self.options.language_check
        check = LanguageCheck(self.name, self.translator.languages if is_checked else None)

        def translate(lines: Iterable[Line]) -> Iterator[Translation]:
            return self.translator.translate(lines, first, self.max_wait)

        for translation in check.watch(lines, translate):
            self.counts.lines += 1
            self.counts.sentences += bool(translation.tokens)
            self.counts.tokens += len(translation.tokens)
            yield translation
        check.finish()

    def _keeping(self, lines: list[Line], first: int) -> Iterator[Translation | Exception]:
        """Translate lines; halve those that fail together until a single one is left."""
        done = 0
        try:
            for translation in self._counted(lines, first):
                done += 1
                yield translation
        except Exception as error:
            rest = lines[done:]
            if len(rest) == 1:
                self.counts.lines += 1
                yield error
                return
            half = len(rest) // 2
            yield from self._keeping(rest[:half], first + done)
            yield from self._keeping(rest[half:], first + done + half)


class Form(Protocol):
    """How the records of one file are read and written."""

    def shards(self, source: "DataPath", rows: int) -> Iterator[Shard]:
        """Cut a file into shards of at most ``rows`` rows, which depend only on the file."""

    def translate(self, shard: Shard, rows: RowTranslator, with_header: bool) -> bytes:
        """Return the output of a shard, with the file's header if it is to be read on its own."""


def extra_fields(translation: Translation, options: TranslateOptions) -> dict[str, Any]:
    """Return the requested additional fields by name, in the order of the columns."""
    extra: dict[str, Any] = {}
    if options.scores or options.json:
        extra["score"] = round(translation.score, 6)
    if options.json or (options.scores and options.input_format == "jsonl"):
        extra["quality"] = translation.quality
    if options.decoding.alignments:
        extra["alignment"] = [f"{i}-{j}" for i, j in translation.alignment or []]
    if options.tokens or options.json:
        extra["tokens"] = translation.tokens
    if options.json:
        extra["token_scores"] = [round(score, 6) for score in translation.token_scores]
    if options.errors == COLUMN:
        extra["error"] = ""
    return extra


def extra_names(options: TranslateOptions) -> list[str]:
    """Return the names of the requested additional fields."""
    return list(extra_fields(Translation("", 0.0, []), options))


def error_line(error: Exception) -> str:
    """Return an error's message without tabs and line breaks."""
    return visible(" ".join(str(error).split())) or type(error).__name__
