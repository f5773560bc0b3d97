"""Translate lines: split, tokenize, batch, search, detokenize and rejoin, in order."""

import logging
import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING

from nmt_cli.errors import InputError, NmtError
from nmt_cli.search.batching import in_batches
from nmt_cli.search.hypotheses import Hypothesis, Segment
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.rejoining import Found, Translation, rejoin
from nmt_cli.search.segments import BeamSearch, SegmentSearch
from nmt_cli.search.step_model import StepModel
from nmt_cli.text.capitals import in_capitals
from nmt_cli.text.code import repair
from nmt_cli.text.tokenizer import UNK_ID, TokenizerPair, encode_lines

if TYPE_CHECKING:
    from nmt_cli.recipe.decoding import DecodingConfig

logger = logging.getLogger(__name__)

# Lines read ahead, so that sentences of similar length can share a batch.
WINDOW = 2048
# Characters after which no more lines are read ahead: they bound memory too.
WINDOW_CHARACTERS = 2_000_000
# Characters a second, before anything was measured: what large models manage on one core. A file of
# a few hundred lines is not cut into many small windows.
FIRST_SPEED = 1000.0
# Source tokens of a batch, padding included, at beam 1; wider beams get proportionally fewer rows.
BATCH_TOKENS = 2048

# Where an over-long line may be split: white space after the end of a sentence. The
# exported SavedModel uses the same pattern (RE2), so it uses plain classes only.
SENTENCE_END = r"([.!?…][\"'”’»)\]]*)[ \t]+"

# No line has so many segments: line and segment number together identify a segment.
_MOST_SEGMENTS = 1 << 20


@dataclass(frozen=True)
class Line:
    """A line and the phrases that its translation must contain."""

    text: str
    phrases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Translator:
    """Translates lines with a model's settings; :func:`translator_for` makes one.

    Attributes:
        search: translates batches of segments.
        max_source: source tokens above which a line is split at sentence ends, with a warning.
        workers: batches searched in parallel, each in its own thread.
        batch_tokens: source tokens of a batch, padding included, at beam 1.
        name: of the input, for messages: put before ``line 3``.
        fold_capitals: translate a line in capitals as if it were in lower case, and put its
            translation in capitals, unless that must contain given words.
        repair_code: copy code, addresses and long numbers that the translation misspells from the
            line, under the same condition.
    """

    search: SegmentSearch
    tokenizers: TokenizerPair
    options: SearchOptions
    max_source: int
    workers: int = 1
    batch_tokens: int = BATCH_TOKENS
    name: str = ""
    fold_capitals: bool = False
    repair_code: bool = False

    @classmethod
    def of(
        cls,
        search: SegmentSearch,
        tokenizers: TokenizerPair,
        decoding: "DecodingConfig",
        options: DecodingOptions | None = None,
        workers: int = 1,
    ) -> "Translator":
        """Make a translator with a model's settings; see :func:`translator_for`."""
        return cls(
            search,
            tokenizers,
            SearchOptions.of(decoding, options),
            decoding.max_source,
            workers,
            fold_capitals=decoding.fold_capitals,
            repair_code=decoding.repair_code,
        )

    @property
    def model(self) -> StepModel:
        """The step model of a translator that uses beam search."""
        assert isinstance(self.search, BeamSearch)
        return self.search.model

    def translate(
        self, lines: Iterable[str | Line], first_number: int = 1, seconds: float = math.inf
    ) -> Iterator[Translation]:
        """Translate lines, in order, which are read ahead.

        Args:
            lines: to translate.
            first_number: the number of the first line, for messages and sampling.
            seconds: about how long to work on the lines that are read ahead before the first of
                their translations is yielded; 0 for one line at a time.

        Raises:
            NmtError: a line's phrases cannot be placed (names the line), or there is not enough
                memory.
        """
        lines, number, speed = iter(lines), first_number, FIRST_SPEED
        began = time.monotonic()
        while given := _read_ahead(lines, min(speed * seconds, WINDOW_CHARACTERS)):
            yield from self._window(given, number)
            number += len(given)
            ended = time.monotonic()
            # Blank or short lines say little about those that follow.
            speed = min(4 * speed, sum(map(_characters, given)) / max(ended - began, 1e-9))
            began = ended

    def _window(self, lines: list[Line], first_number: int) -> Iterator[Translation]:
        segments: list[Segment] = []
        counts: list[int] = []
        failure: NmtError | None = None
        folded = [self._is_folded(each) for each in lines]
        read = zip(lines, folded, strict=True)
        texts = [each.text.lower() if fold else each.text for each, fold in read]
        split = self._split(texts)
        prefix = self._encoded(self.options.prefix, "prefix") if self.options.prefix else ()
        for number, (line, pieces) in enumerate(zip(lines, split, strict=True), start=first_number):
            if len(pieces) > 1:
                logger.warning(
                    f"{self.name}line {number}: longer than {self.max_source} tokens, "
                    f"translated in {len(pieces)} parts"
                )
            try:
                segments += self._segments(line, number, pieces, prefix)
            except NmtError as error:  # translate the lines before it first
                failure = error
                break
            counts.append(len(pieces))
        found = iter(self._search(segments))
        for line, text, fold, count in zip(lines, texts, folded, counts, strict=False):
            best = rejoin(text, list(islice(found, count)), self.tokenizers, self.options)
            if fold:
                best = best.edited(str.upper)
            elif self.repair_code and self._is_free(line):
                best = best.edited(partial(repair, text))
            yield best
        if failure:
            raise failure

    def _is_folded(self, line: Line) -> bool:
        return self.fold_capitals and self._is_free(line) and in_capitals(line.text)

    def _is_free(self, line: Line) -> bool:
        """Whether the translation of a line need not contain given words."""
        return not line.phrases and not self.options.prefix

    def _split(self, lines: list[str]) -> Iterator[list[list[int]]]:
        """Framed ids of each line's segments: none for a blank line, usually one."""
        tokenizer = self.tokenizers.source
        for line, ids in zip(lines, encode_lines(tokenizer, lines), strict=True):
            if not ids:
                yield []
            elif len(ids) <= self.max_source:
                yield [tokenizer.frame_source(ids)]
            else:
                sentences = re.sub(SENTENCE_END, "\\1\n", line).split("\n")
                yield [
                    tokenizer.frame_source(part)
                    for sentence_ids in tokenizer.encode(sentences)
                    for part in even_parts(sentence_ids, self.max_source)
                ]

    def _segments(
        self, line: Line, number: int, pieces: list[list[int]], prefix: tuple[int, ...]
    ) -> list[Segment]:
        """The segments of a line; the prefix belongs to the first."""
        if not pieces:  # a blank line stays as it is
            return []
        where = f"{self.name}line {number}"
        if line.phrases and len(pieces) > 1:
            raise InputError(
                f"{where}: has constraints, and is longer than the model reads at a time",
                "put its sentences on separate lines",
            )
        phrases = tuple(dict.fromkeys(self._encoded(each, where) for each in line.phrases))
        segments = [
            Segment(ids, number * _MOST_SEGMENTS + at, () if at else prefix, phrases)
            for at, ids in enumerate(pieces)
        ]
        required = segments[0].required
        if required >= self.options.max_length:
            raise InputError(
                f"{where}: prefix and constraints take {required} tokens; "
                f"`max_length={self.options.max_length}` includes the end token",
                "use shorter constraints or a larger `max_length`",
            )
        return segments

    def _encoded(self, phrase: str, where: str) -> tuple[int, ...]:
        (ids,) = self.tokenizers.target.encode([phrase])
        if not ids or UNK_ID in ids:
            problem = "has characters that the model does not know" if ids else "is blank"
            raise InputError(f"{where}: {phrase!r} {problem}", "use other words")
        return tuple(ids)

    def _search(self, segments: list[Segment]) -> list[Found]:
        """What the search finds for each segment, in order; batches run in parallel."""

        def timed(rows: list[int]) -> list[Found]:
            batch = [segments[row] for row in rows]
            began = time.perf_counter()
            results = self.search.search(batch, self.options)
            seconds = (time.perf_counter() - began) / len(batch)
            # All at once, and beside other batches: together, lines take a third of the time.
            texts = iter(self.tokenizers.target.decode([each.ids for each in chain(*results)]))
            return [
                Found(segment.ids, hypotheses, list(islice(texts, len(hypotheses))), seconds)
                for segment, hypotheses in zip(batch, results, strict=True)
            ]

        sizes = [len(each.ids) for each in segments]
        budget = max(1, self.batch_tokens // self.options.beam_size)
        found = in_batches(sizes, budget, self.workers, timed)
        self._add_attention(found)
        return found

    def _add_attention(self, found: list[Found]) -> None:
        """Add attention to the hypotheses that need it."""
        options = self.options
        needed = [
            (each, place)
            for each in found
            for place, hypothesis in enumerate(each.hypotheses)
            if options.alignments or (options.unk == "copy" and UNK_ID in hypothesis.ids)
        ]
        pairs = [(each.source, each.hypotheses[place].ids) for each, place in needed]
        for (each, place), forced in zip(needed, self.force(pairs, attention=True), strict=True):
            each.hypotheses[place] = replace(each.hypotheses[place], attention=forced.attention)

    def force(
        self, pairs: Sequence[tuple[list[int], list[int]]], attention: bool = False
    ) -> list[Hypothesis]:
        """Decode pairs of framed source ids and a translation's ids without END, in order.

        Raises:
            NmtError: the model does not provide attention, or there is not enough memory.
        """

        def forced(rows: list[int]) -> Sequence[Hypothesis]:
            return self.search.force([pairs[row] for row in rows], attention)

        sizes = [max(len(source), len(target)) for source, target in pairs]
        return in_batches(sizes, self.batch_tokens, self.workers, forced)


def translator_for(
    model: StepModel,
    tokenizers: TokenizerPair,
    decoding: "DecodingConfig",
    options: DecodingOptions | None = None,
    workers: int = 1,
) -> Translator:
    """Make a translator that searches with a step model.

    Args:
        decoding: settings of the model's recipe: defaults of the options, and how text is edited.
        options: None for the settings.
        workers: batches searched in parallel, each in its own thread.

    Raises:
        OptionError: the options contradict each other or the settings.
    """
    return Translator.of(BeamSearch(model, tokenizers), tokenizers, decoding, options, workers)


def even_parts(ids: list[int], most: int) -> Iterator[list[int]]:
    """As few parts as possible, of about the same length: a short rest would have no context."""
    size = -(-len(ids) // max(1, -(-len(ids) // most)))
    yield from (ids[at : at + size] for at in range(0, len(ids), max(1, size)))


def _read_ahead(lines: Iterator[str | Line], characters: float) -> list[Line]:
    read: list[Line] = []
    for each in lines:
        read.append(Line(each) if isinstance(each, str) else each)
        characters -= _characters(read[-1])
        if len(read) == WINDOW or characters <= 0:
            break
    return read


def _characters(line: Line) -> int:
    return len(line.text) + 1  # with its end
