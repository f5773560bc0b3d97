"""From lines to translations: split, tokenize, batch, search, detokenize, rejoin, in order."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from nmt_cli.errors import NmtError
from nmt_cli.search.batching import in_batches, padded
from nmt_cli.search.beam import beam_search
from nmt_cli.search.forced import Forced, force
from nmt_cli.search.hypothesis import Hypothesis
from nmt_cli.search.options import Request, SearchOptions
from nmt_cli.search.processors import Processor
from nmt_cli.search.rejoining import Found, Translation, rejoin
from nmt_cli.search.step_model import StepModel
from nmt_cli.text.tokenizer import UNK_ID, TokenizerPair

# Lines read ahead so that sentences of like length can share a batch.
WINDOW = 2048
# Characters after which no more lines are read ahead: memory is bounded by them too.
WINDOW_CHARACTERS = 2_000_000
# Source tokens of a batch, padding included, at beam 1; wider beams get as many fewer rows.
BATCH_TOKENS = 4096

# Where an over-long line may be parted: white space after the end of a sentence. The
# exported SavedModel uses the same pattern (RE2), so it keeps to plain classes.
SENTENCE_END = r"([.!?…][\"'”’»)\]]*)[ \t]+"

# A line has fewer parts: numbers of parts are numbers of lines and the part's own behind.
_MOST_PARTS = 1 << 20


@dataclass(frozen=True)
class Line:
    """A line and the phrases that its translation must have."""

    text: str
    phrases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Piece:
    """What the model reads at a time: a line, or a part of it.

    Attributes:
        ids: framed.
        request: what is asked of its translation.
    """

    ids: list[int]
    request: Request


@dataclass(frozen=True)
class Translator:
    """A model with its tokenizers and the settings of its search.

    Attributes:
        model: the step model, Keras or ONNX Runtime.
        tokenizers: of both sides.
        options: of the search.
        max_source: source tokens beyond which a line is split at sentence ends.
        warn: receives a line when that happens.
        workers: batches searched side by side, each in a thread of its own.
        batch_tokens: source tokens of a batch, padding included, at beam 1.
        processors: what changes log-probabilities before tokens are ranked.
        prefix: what every translation begins with.
        alignments: whether to tell which words each translation's words come from.
        copy_unknown: whether a word that is unknown is replaced by the source's.
        name: of what the lines come from, in front of ``line 3`` in messages.
    """

    model: StepModel
    tokenizers: TokenizerPair
    options: SearchOptions
    max_source: int
    warn: Callable[[str], None] = lambda message: None
    workers: int = 1
    batch_tokens: int = BATCH_TOKENS
    processors: tuple[Processor, ...] = ()
    prefix: str = ""
    alignments: bool = False
    copy_unknown: bool = False
    name: str = ""

    def translate(
        self, lines: Iterable[str | Line], first_number: int = 1, window: int | None = None
    ) -> Iterator[Translation]:
        """Translate lines, in order.

        Args:
            lines: read ``window`` ahead.
            first_number: of the first of them, for warnings and samples.
            window: None: WINDOW.

        Raises:
            NmtError: phrases that cannot be placed; names the line. Memory does not suffice.
        """
        lines, number = iter(lines), first_number
        while given := _read_ahead(lines, window or WINDOW):
            yield from self._window(given, number)
            number += len(given)

    def _window(self, lines: list[Line], first_number: int) -> Iterator[Translation]:
        pieces: list[Piece] = []
        counts: list[int] = []
        failure: NmtError | None = None
        split = self._split([each.text for each in lines])
        prefix = self._encoded(self.prefix, "--prefix") if self.prefix else ()
        for number, (line, parts) in enumerate(zip(lines, split, strict=True), start=first_number):
            if len(parts) > 1:
                self.warn(
                    f"{self.name}line {number}: longer than {self.max_source} tokens, "
                    f"translated in {len(parts)} parts"
                )
            try:
                pieces += [
                    Piece(
                        ids, self._request(line, number, part, len(parts), () if part else prefix)
                    )
                    for part, ids in enumerate(parts)
                ]
            except NmtError as error:  # what stands before it is translated first
                failure = error
                break
            counts.append(len(parts))
        found = iter(self._found(pieces))
        for count in counts:
            of_line = list(islice(found, count))
            first, *others = rejoin(
                of_line,
                self.tokenizers,
                self.options.n_best,
                self.alignments,
                self.copy_unknown,
            )
            seconds = sum((each.seconds for each in of_line), 0.0)
            yield replace(first, others=others, seconds=seconds)
        if failure:
            raise failure

    def _split(self, lines: list[str]) -> Iterator[list[list[int]]]:
        """Framed ids of each line's parts: none for a blank line, one as a rule."""
        tokenizer = self.tokenizers.source
        for line, ids in zip(lines, tokenizer.encode(lines), strict=True):
            if not ids:
                yield []
            elif len(ids) <= self.max_source:
                yield [tokenizer.frame_source(ids)]
            else:
                sentences = re.sub(SENTENCE_END, "\\1\n", line).split("\n")
                yield [
                    tokenizer.frame_source(sentence_ids[at : at + self.max_source])
                    for sentence_ids in tokenizer.encode(sentences)
                    for at in range(0, len(sentence_ids), self.max_source)
                ]

    def _request(
        self, line: Line, number: int, part: int, parts: int, prefix: tuple[int, ...]
    ) -> Request:
        """What is asked of a part of a line.

        Raises:
            NmtError: its phrases have no place.
        """
        where = f"{self.name}line {number}"
        if line.phrases and parts > 1:
            raise NmtError(
                f"{where}: has constraints, and is longer than the model reads at a time",
                "put its sentences on lines of their own",
            )
        phrases = dict.fromkeys(self._encoded(each, where) for each in line.phrases)
        request = Request(number * _MOST_PARTS + part, prefix, tuple(phrases))
        if request.asked >= self.options.max_length:
            raise NmtError(
                f"{where}: what it must have is {request.asked} tokens, and a translation has at "
                f"most {self.options.max_length} with its end",
                "give shorter constraints, or a larger --max-length",
            )
        return request

    def _encoded(self, phrase: str, where: str) -> tuple[int, ...]:
        (ids,) = self.tokenizers.target.encode([phrase])
        if not ids or UNK_ID in ids:
            problem = "has characters that the model does not know" if ids else "is blank"
            raise NmtError(f"{where}: {phrase!r} {problem}", "give other words")
        return tuple(ids)

    def _found(self, pieces: list[Piece]) -> list[Found]:
        """What search finds for each piece, in order; batches run side by side."""
        results = in_batches(
            [len(each.ids) for each in pieces],
            max(1, self.batch_tokens // self.options.beam_size),
            self.workers,
            lambda rows: self._timed([pieces[row] for row in rows]),
            self.warn,
        )
        looked = self._forced(pieces, [hypotheses for hypotheses, _ in results])
        return [
            Found(piece.ids, hypotheses, forced, seconds)
            for piece, (hypotheses, seconds), forced in zip(pieces, results, looked, strict=True)
        ]

    def _timed(self, batch: list[Piece]) -> list[tuple[list[Hypothesis], float]]:
        began = time.perf_counter()
        found = self._search_batch(batch)
        seconds = (time.perf_counter() - began) / len(batch)
        return [(each, seconds) for each in found]

    def _search_batch(self, batch: list[Piece]) -> list[list[Hypothesis]]:
        lengths = np.array([len(each.ids) for each in batch], np.int64)
        return beam_search(
            self.model,
            padded([each.ids for each in batch]),
            lengths,
            self.options,
            [each.request for each in batch],
            self.processors,
        )

    def _forced(
        self, pieces: list[Piece], found: list[list[Hypothesis]]
    ) -> list[list[Forced | None]]:
        """What the model looks at in those hypotheses of which it is asked."""
        asked = [
            (row, place)
            for row, hypotheses in enumerate(found)
            for place, each in enumerate(hypotheses)
            if self.alignments or (self.copy_unknown and UNK_ID in each.ids)
        ]
        pairs = [(pieces[row].ids, found[row][place].ids) for row, place in asked]
        results: list[list[Forced | None]] = [[None] * len(each) for each in found]
        for (row, place), forced in zip(asked, self.force(pairs, attention=True), strict=True):
            results[row][place] = forced
        return results

    def force(
        self, pairs: Sequence[tuple[list[int], list[int]]], attention: bool = False
    ) -> list[Forced]:
        """Lead translations through the decoder, in order.

        Args:
            pairs: framed source ids, and ids of the translation without END.
            attention: also tell what the decoder looks at.

        Raises:
            NmtError: the model does not tell, or memory does not suffice.
        """
        return in_batches(
            [max(len(source), len(target)) for source, target in pairs],
            self.batch_tokens,
            self.workers,
            lambda rows: force(
                self.model,
                padded([pairs[row][0] for row in rows]),
                [pairs[row][1] for row in rows],
                attention,
            ),
            self.warn,
        )


def _read_ahead(lines: Iterator[str | Line], most: int) -> list[Line]:
    """The next lines."""
    read: list[Line] = []
    characters = 0
    for each in lines:
        read.append(Line(each) if isinstance(each, str) else each)
        characters += len(read[-1].text)
        if len(read) == most or characters > WINDOW_CHARACTERS:
            break
    return read
