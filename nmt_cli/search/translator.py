"""Translate lines, in order: read ahead, batch, search and rejoin."""

import logging
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress, islice
from typing import TYPE_CHECKING

import numpy as np

from nmt_cli.errors import InputError, NmtError
from nmt_cli.search.hypotheses import Hypotheses, Hypothesis, Pairs, Segment, penalty, word_weights
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.segments import BeamSearch, SegmentSearch, in_batches
from nmt_cli.search.step_model import StepModel
from nmt_cli.text.edits import Span
from nmt_cli.text.lines import is_blank
from nmt_cli.text.path import Passage, TextPath, Words
from nmt_cli.text.tokenizer import END_ID, UNK_ID, Tokenizer, TokenizerPair, encode_lines

if TYPE_CHECKING:
    from nmt_cli.recipe.model import DecodingConfig

logger = logging.getLogger(__name__)

# Lines read ahead, so that sentences of similar length can share a batch.
WINDOW = 2048
# Maximum characters read ahead, which bounds memory, too.
WINDOW_CHARACTERS = 2_000_000
# Initial speed estimate, in characters per second (a large model on one core). A file of a few
# hundred lines is not cut into many small windows.
FIRST_SPEED = 1000.0
# Source tokens of a batch, padding included, at beam 1; wider beams get proportionally fewer rows.
BATCH_TOKENS = 2048

# No line has more segments: line and segment number together identify a segment.
_MAX_SEGMENTS = 1 << 20


@dataclass(frozen=True)
class Line:
    """A line and the phrases that its translation must contain."""

    text: str
    phrases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Translation:
    """One translation of a line.

    Attributes:
        text: the line itself if it is blank.
        score: sum of the penalised log-probabilities of its parts; 0 for a blank line.
        ids: token ids of all parts, END excluded.
        tokens: the tokens, including the END of each part.
        token_scores: their log-probabilities.
        alignment: (source word, target word), counted from 0, in target order; None if not
            requested. Words are separated by white space.
        source_words, target_words: the spans of all words of the line and of ``text``, if an
            alignment was requested.
        others: further translations, best first, if several were requested.
        seconds: search time, the line's share of its batches.
    """

    text: str
    score: float
    ids: list[int]
    tokens: list[str] = field(default_factory=list)
    token_scores: list[float] = field(default_factory=list)
    alignment: list[tuple[int, int]] | None = None
    source_words: list[Span] = field(default_factory=list)
    target_words: list[Span] = field(default_factory=list)
    others: list["Translation"] = field(default_factory=list)
    seconds: float = field(default=0.0, compare=False)

    @property
    def n_best(self) -> list["Translation"]:
        """All translations of the line, best first."""
        return [self, *self.others]


@dataclass(frozen=True)
class Translator:
    """Translates lines with a model's settings; :func:`translator_for` makes one.

    Attributes:
        search: translates batches of segments.
        path: what happens to lines before they are segments, and to translations.
        workers: batches searched in parallel, each in its own thread.
        name: of the input, for messages: precedes ``line 3``.
    """

    search: SegmentSearch
    path: TextPath
    options: SearchOptions
    workers: int = 1
    batch_tokens: int = BATCH_TOKENS
    name: str = ""

    @property
    def tokenizers(self) -> TokenizerPair:
        """The tokenizers of both sides."""
        return self.path.tokenizers

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
            first_number: the number of the first line, for messages and sampling.
            seconds: about how long to work on the lines that are read ahead before the first of
                their translations is yielded; 0 for one line at a time.

        Raises:
            InputError: a line's phrases cannot be placed; names the line.
            ResourceError: there is not enough memory for one sentence.
        """
        lines, number, speed = iter(lines), first_number, FIRST_SPEED
        began = time.monotonic()
        while window := _read_ahead(lines, min(speed * seconds, WINDOW_CHARACTERS)):
            yield from self._window(window, number)
            number += len(window)
            ended = time.monotonic()
            # Blank or short lines say little about those that follow.
            characters = sum(len(line.text) + 1 for line in window)
            speed = min(4 * speed, characters / max(ended - began, 1e-9))
            began = ended

    def _window(self, lines: list[Line], first_number: int) -> Iterator[Translation]:
        segments, translated = list[Segment](), list[Passage]()
        failure: NmtError | None = None
        prefix = self._encoded(self.options.prefix, "prefix") if self.options.prefix else ()
        passages = self.path.read(
            [line.text for line in lines], [not line.phrases and not prefix for line in lines]
        )
        numbered = zip(lines, passages, strict=True)
        for number, (line, passage) in enumerate(numbered, start=first_number):
            if len(passage.parts) > 1:
                logger.warning(
                    f"{self.name}line {number}: longer than {self.path.max_source} tokens, "
                    f"translated in {len(passage.parts)} parts"
                )
            try:
                segments += self._segments(line, number, passage, prefix)
            except NmtError as error:  # translate the lines before it first
                failure = error
                break
            translated.append(passage)
        results = iter(self._search(segments))
        for passage in translated:
            parts = list(islice(results, len(passage.parts)))
            translation = self._translation(passage, [hypotheses for hypotheses, _ in parts])
            yield replace(translation, seconds=sum((seconds for _, seconds in parts), 0.0))
        if failure:
            raise failure

    def _translation(self, passage: Passage, results: Sequence[list[Hypothesis]]) -> Translation:
        """Build the translation of a line from the hypotheses of each of its parts, best first.

        The second best of a line joins the second best of its parts, and so on. A blank line, which
        has no parts, stays as it is.
        """
        source = self.path.source_words(passage) if self.options.alignments else None
        ranked = [
            self._joined(passage, [found[min(rank, len(found) - 1)] for found in results], source)
            for rank in range(self.options.n_best)
        ]
        return replace(ranked[0], others=ranked[1:])

    def _joined(
        self, passage: Passage, chosen: Sequence[Hypothesis], source: Words | None
    ) -> Translation:
        tokenizer = self.tokenizers.target
        texts = [hypothesis.text for hypothesis in chosen]
        copied: dict[int, list[Span]] = {}
        for index, hypothesis in enumerate(chosen):
            if self.options.unk == "copy" and UNK_ID in hypothesis.ids:
                words = self.path.tokenizer_words(passage, index)
                texts[index], copied[index] = _with_copies(hypothesis, words, tokenizer)
        text = self.path.written(passage, texts)
        token_ids = [
            id_
            for hypothesis in chosen
            for id_ in [*hypothesis.ids, END_ID][: len(hypothesis.token_scores)]
        ]
        translation = Translation(
            text.text,
            sum((hypothesis.score for hypothesis in chosen), 0.0),
            [id_ for hypothesis in chosen for id_ in hypothesis.ids],
            tokenizer.tokens(token_ids),
            [score for hypothesis in chosen for score in hypothesis.token_scores],
        )
        if not source:
            return translation
        spans = [
            copied.get(index) or tokenizer.decode_spans(hypothesis.ids)[1]
            for index, hypothesis in enumerate(chosen)
        ]
        target = self.path.target_words(text, list(zip(texts, spans, strict=True)))
        alignment = _aligned(source, target, chosen)
        return replace(
            translation, alignment=alignment, source_words=source.spans, target_words=target.spans
        )

    def _segments(
        self, line: Line, number: int, passage: Passage, prefix: tuple[int, ...]
    ) -> list[Segment]:
        """The segments of a line; the prefix belongs to the first."""
        if not passage.parts:  # a blank line stays as it is
            return []
        where = f"{self.name}line {number}"
        if line.phrases and len(passage.parts) > 1:
            reason = f"{where}: has constraints, and is longer than the model reads at a time"
            raise InputError(reason, "put its sentences on separate lines")
        phrases = tuple(dict.fromkeys(self._encoded(phrase, where) for phrase in line.phrases))
        first = number * _MAX_SEGMENTS
        segments = [
            Segment(ids, first + index, () if index else prefix, phrases)
            for index, ids in enumerate(passage.parts)
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

    def _search(self, segments: list[Segment]) -> list[tuple[list[Hypothesis], float]]:
        """The hypotheses of each segment and the seconds they took; batches run in parallel."""

        def timed(rows: list[int]) -> list[tuple[list[Hypothesis], float]]:
            began = time.perf_counter()
            results = self.search.search([segments[row] for row in rows], self.options)
            seconds = (time.perf_counter() - began) / len(rows)
            # All at once, and beside other batches: together, lines take a third of the time.
            ids = [hypothesis.ids for hypothesis in chain(*results)]
            texts = iter(self.tokenizers.target.decode(ids))
            return [
                ([replace(hypothesis, text=next(texts)) for hypothesis in hypotheses], seconds)
                for hypotheses in results
            ]

        sizes = [len(segment.ids) for segment in segments]
        budget = max(1, self.batch_tokens // self.options.beam_size)
        results = in_batches(sizes, budget, self.workers, timed)
        self._add_attention(segments, [hypotheses for hypotheses, _ in results])
        return results

    def _add_attention(self, segments: list[Segment], results: Hypotheses) -> None:
        options = self.options
        needed = [
            (segment.ids, hypotheses, rank)
            for segment, hypotheses in zip(segments, results, strict=True)
            for rank, hypothesis in enumerate(hypotheses)
            if options.alignments or (options.unk == "copy" and UNK_ID in hypothesis.ids)
        ]
        pairs = [(source, hypotheses[rank].ids) for source, hypotheses, rank in needed]
        forced = self.force(pairs, attention=True)
        for (_, hypotheses, rank), scored in zip(needed, forced, strict=True):
            hypotheses[rank] = replace(hypotheses[rank], attention=scored.attention)

    def force(self, pairs: Pairs, attention: bool = False) -> list[Hypothesis]:
        """Score translations in batches; see :meth:`SegmentSearch.force`."""

        def forced(rows: list[int]) -> Sequence[Hypothesis]:
            return self.search.force([pairs[row] for row in rows], attention)

        sizes = [max(len(source), len(target)) for source, target in pairs]
        return in_batches(sizes, self.batch_tokens, self.workers, forced)

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Translation]:
        """Score pairs of lines and translations as the search scores hypotheses, in order.
        Two blank lines score 0. A side that is longer than the model reads at a time makes NaN."""
        pairs, options = iter(pairs), self.options
        source, target = self.tokenizers.source, self.tokenizers.target
        while window := list(islice(pairs, WINDOW)):
            read = encode_lines(source, [line for line, _ in window])
            written = encode_lines(target, [text for _, text in window])
            encoded, fits = list[tuple[list[int], list[int]]](), list[bool]()
            for line_ids, ids in zip(read, written, strict=True):
                encoded.append((source.with_special_tokens(line_ids), ids))
                is_short = len(line_ids) <= self.path.max_source and len(ids) < options.max_length
                fits.append(is_short and bool(line_ids or ids))
            forced = iter(self.force(list(compress(encoded, fits))))
            for (line, text), ids, is_scored in zip(window, written, fits, strict=True):
                if is_scored:
                    hypothesis = next(forced)
                    score = hypothesis.score / float(penalty(len(ids) + 1, options.length_penalty))
                    tokens = target.tokens([*ids, END_ID])
                    yield Translation(text, score, ids, tokens, hypothesis.token_scores)
                else:
                    is_empty = is_blank(line) and is_blank(text)
                    yield Translation(text, 0.0 if is_empty else math.nan, ids)


def translator_for(
    model: StepModel | SegmentSearch,
    tokenizers: TokenizerPair,
    decoding: "DecodingConfig",
    options: DecodingOptions | None = None,
    workers: int = 1,
) -> Translator:
    """Make a translator with a model's settings; a step model is searched with beam search.
    ``decoding`` has the defaults of the options, and the steps of the text path."""
    search = model if isinstance(model, SegmentSearch) else BeamSearch(model, tokenizers)
    path = TextPath.of(tokenizers, decoding)
    return Translator(search, path, SearchOptions.of(decoding, options), workers)


def _read_ahead(lines: Iterator[str | Line], characters: float) -> list[Line]:
    read: list[Line] = []
    for line in lines:
        read.append(Line(line) if isinstance(line, str) else line)
        characters -= len(read[-1].text) + 1  # with its end
        if len(read) == WINDOW or characters <= 0:
            break
    return read


def _aligned(source: Words, target: Words, chosen: Sequence[Hypothesis]) -> list[tuple[int, int]]:
    """Return for each target word the source word with the largest weight: (source, target)."""
    pairs = list[tuple[int, int]]()
    for index, hypothesis in enumerate(chosen):
        # Words without tokens in this part are in other parts of the line.
        read, written = (
            {word: tokens for word, tokens in enumerate(words.tokens[index]) if tokens}
            for words in (source, target)
        )
        if read and written and hypothesis.attention is not None:
            sides = list(read.values()), list(written.values())
            weights, numbers = word_weights(hypothesis.attention, *sides), list(read)
            best = (numbers[column] for column in weights.argmax(axis=1))
            pairs += zip(best, written, strict=True)
    return pairs


def _with_copies(
    hypothesis: Hypothesis, source: Sequence[tuple[str, list[int]]], target: Tokenizer
) -> tuple[str, list[Span]]:
    """Put aligned source words in place of unknown words, and find the spans of tokens."""
    groups = target.words(hypothesis.ids)
    words = target.decode([[hypothesis.ids[token] for token in group] for group in groups])
    if source and hypothesis.attention is not None:
        weights = word_weights(hypothesis.attention, [tokens for _, tokens in source], groups)
        for index, group in enumerate(groups):
            if any(hypothesis.ids[token] == UNK_ID for token in group):
                words[index] = source[int(np.argmax(weights[index]))][0]
    spans, end = list[Span](), 0
    for word, group in zip(words, groups, strict=True):
        spans += [(end, end + len(word))] * len(group)
        end += len(word) + 1
    return " ".join(words), spans
