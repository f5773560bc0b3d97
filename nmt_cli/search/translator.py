"""Translate lines, in order: read ahead, batch, search and rejoin."""

import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, islice
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.errors import InputError, NmtError
from nmt_cli.search.hypotheses import Hypothesis, Pairs, Segment, penalty
from nmt_cli.search.lines import Line, Translation
from nmt_cli.search.options import DecodingOptions, SearchOptions
from nmt_cli.search.parts import translation_of
from nmt_cli.search.segments import BeamSearch, SegmentSearch, in_batches
from nmt_cli.search.step_model import StepModel
from nmt_cli.search.terms import place_terms
from nmt_cli.search.work import Work
from nmt_cli.text.glossary import Glossary, lacking, read_glossary
from nmt_cli.text.lines import is_blank
from nmt_cli.text.path import TextPath
from nmt_cli.text.tokenizer import END_ID, UNK_ID, TokenizerPair, encode_lines
from nmt_cli.text.units import Passage, Unit

if TYPE_CHECKING:
    from nmt_cli.recipe.model import DecodingConfig

logger = logging.getLogger(__name__)

# Lines read ahead, so that sentences of similar length can share a batch.
WINDOW = 2048
# Maximum characters read ahead, which bounds memory, too.
WINDOW_CHARACTERS = 2_000_000
# Initial speed estimate, in characters per second (a large model on one core). A file of a few
# hundred lines is not cut into many small windows.
FIRST_SPEED = 2000.0
# Source tokens of a batch, padding included, at beam 1; wider beams get proportionally fewer rows.
BATCH_TOKENS = 2048

_Task = tuple[Work, Unit, Segment]


@dataclass(frozen=True)
class Translator:
    """Translates lines with a model's settings; :func:`translator_for` makes one.

    Attributes:
        search: translates batches of segments.
        path: what happens to lines before they are segments, and to translations.
        workers: batches searched in parallel, each in its own thread.
        name: of the input, for messages: precedes ``line 3``.
        glossary: whose terms lines without terms of their own may have.
        languages: codes of source and target; empty if they are not known.
    """

    search: SegmentSearch
    path: TextPath
    options: SearchOptions
    workers: int = 1
    batch_tokens: int = BATCH_TOKENS
    name: str = ""
    glossary: Glossary | None = None
    languages: tuple[str, str] = ("", "")

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
        while window := self._read_ahead(lines, min(speed * seconds, WINDOW_CHARACTERS)):
            yield from self._window(window, number)
            number += len(window)
            ended = time.monotonic()
            # Blank or short lines say little about those that follow.
            characters = sum(len(line.text) + 1 for line in window)
            speed = min(8 * speed, characters / max(ended - began, 1e-9))
            began = ended

    def _read_ahead(self, lines: Iterator[str | Line], characters: float) -> list[Line]:
        read: list[Line] = []
        for item in lines:
            line = Line(item) if isinstance(item, str) else item
            if self.glossary and line.terms == ():
                line = replace(line, terms=self.glossary.found(line.text))
            read.append(line)
            characters -= len(line.text) + 1  # with its end
            if len(read) == WINDOW or characters <= 0:
                break
        return read

    def best(self, line: str) -> tuple[Passage, dict[Unit, Hypothesis]]:
        """Translate one line, and return what the model read of it, and wrote for each part."""
        ((work,), _) = self._searched({1: Line(line)})
        return work.passage, work.ranked(0)

    def _window(self, lines: list[Line], first_number: int) -> Iterator[Translation]:
        """Translate lines freely, and those whose translations lack phrases with constraints."""
        numbered = dict(enumerate(lines, start=first_number))
        free, failure = self._translated(
            {number: replace(line, phrases=()) for number, line in numbered.items()}
        )
        lacking = {
            number: numbered[number]
            for number, translation in free.items()
            if not all(numbered[number].is_satisfied_by(other) for other in translation.n_best)
        }
        constrained, constrained_failure = self._translated(lacking)
        for number, translation in free.items():
            if number in constrained:
                yield numbered[number].best_of(translation, constrained[number])
            elif number in lacking:
                failure = constrained_failure
                break
            else:
                yield translation
        if failure:
            raise failure

    def _translated(
        self, lines: Mapping[int, Line]
    ) -> tuple[dict[int, Translation], NmtError | None]:
        """Translate lines by number, up to the first with an error."""
        work, failure = self._searched(lines)
        translations = dict[int, Translation]()
        for item in work:
            # The second best of a line joins the second best of its units, and so on.
            ranked = [
                translation_of(self.path, item.passage, item.ranked(rank), self.options)
                for rank in range(self.options.n_best)
            ]
            problems = {
                f"{term.source!r:.80} is not translated as {term.target!r:.80}"
                for term in lacking(item.terms, ranked[0].text)
            }
            for problem in sorted(problems):
                logger.warning(f"{item.where}: {problem}, as the glossary says")
            translation = replace(ranked[0], others=ranked[1:], seconds=item.seconds)
            translations[item.number] = translation
        return translations, failure

    def _searched(self, lines: Mapping[int, Line]) -> tuple[list[Work], NmtError | None]:
        """Search the translations of lines, up to the first with an error."""
        work, waiting, failure = list[Work](), list[_Task](), None
        prefix = self._encoded(self.options.prefix, "prefix") if self.options.prefix else ()
        passages = self.path.read(
            [line.text for line in lines.values()],
            [not line.phrases and not prefix for line in lines.values()],
            [line.placeholders for line in lines.values()],
        )
        for (number, line), passage in zip(lines.items(), passages, strict=True):
            where = self.name + (line.where or f"line {number}")
            cuts = sum(unit.is_cut for unit in passage.units)
            if cuts:
                logger.warning(
                    f"{where}: has a sentence longer than {self.path.max_source} tokens, "
                    f"translated in {cuts} parts"
                )
            terms = self.path.free_terms(passage, line.terms or ())
            item = Work(passage, number, where, terms)
            try:
                waiting += self._segments(item, line.phrases, prefix)
            except NmtError as error:  # translate the lines before it first
                failure = error
                break
            work.append(item)
        while waiting:
            results = self._search([segment for _, _, segment in waiting])
            searched, waiting = waiting, []
            for (item, unit, _), (hypotheses, seconds) in zip(searched, results, strict=True):
                item.results[unit], item.seconds = hypotheses, item.seconds + seconds
                further = item.further(self.path, unit)
                waiting += [(item, new, item.segment(new)) for new in further if new.ids]
        if any(item.terms for item in work):
            limit = self.options.max_length
            place_terms(self.path, work, self._hypotheses, self._forced, limit)
        self._add_attention(work)
        return work, failure

    def _hypotheses(self, segments: list[Segment]) -> list[list[Hypothesis]]:
        return [hypotheses for hypotheses, _ in self._search(segments)]

    def _forced(self, pairs: Pairs) -> list[Hypothesis]:
        """Return given translations as the search would, with attention if the model has it."""
        forced = self.force(pairs, attention=self.path.aligns)
        texts = self.tokenizers.target.decode([ids for _, ids in pairs])
        alpha = self.options.length_penalty
        return [
            replace(
                hypothesis,
                text=text,
                score=hypothesis.score / float(penalty(len(hypothesis.ids) + 1, alpha)),
            )
            for hypothesis, text in zip(forced, texts, strict=True)
        ]

    def _segments(self, work: Work, phrases: Sequence[str], prefix: tuple[int, ...]) -> list[_Task]:
        """Return the segments of a line; the prefix belongs to the first."""
        parts, where = work.passage.parts, work.where
        if not parts:  # a blank line stays as it is
            return []
        if phrases and len(parts) > 1:
            reason = f"{where}: has constraints, and is longer than the model reads at a time"
            raise InputError(reason, "put its sentences on separate lines")
        encoded = tuple(dict.fromkeys(self._encoded(phrase, where) for phrase in phrases))
        segments = list(map(work.segment, parts))
        if prefix or encoded:
            more = sum(map(len, encoded))
            segments[0] = replace(segments[0], prefix=prefix, phrases=encoded, more_beams=more)
        required = segments[0].required
        if required >= self.options.max_length:
            raise InputError(
                f"{where}: prefix and constraints take {required} tokens; "
                f"`max_length={self.options.max_length}` includes the end token",
                "use shorter constraints or a larger `max_length`",
            )
        return [(work, unit, segment) for unit, segment in zip(parts, segments, strict=True)]

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
        return in_batches(sizes, budget, self.workers, timed)

    def _add_attention(self, work: Sequence[Work]) -> None:
        """Add attention to the hypotheses that need it: for alignments, copies, and pairs."""
        options, needed = self.options, list[tuple[list[int], list[Hypothesis], int]]()
        for unit, hypotheses in chain(*(item.results.items() for item in work)):
            for rank, hypothesis in enumerate(hypotheses):
                is_needed = options.alignments or bool(unit.reading.pairs)
                is_needed |= options.unk == "copy" and UNK_ID in hypothesis.ids
                if is_needed and hypothesis.attention is None:
                    needed.append((unit.ids, hypotheses, rank))
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
    languages: tuple[str, str] = ("", ""),
    aligns: bool = False,
) -> Translator:
    """Make a translator with a model's settings; a step model is searched with beam search.

    Args:
        decoding: the defaults of the options, and the steps of the text path.
        workers: batches to search in parallel.
        languages: source and target, for what the text path knows of them.
        aligns: whether the text path may use the attention of the model.
    """
    search = model if isinstance(model, SegmentSearch) else BeamSearch(model, tokenizers)
    path = TextPath.of(tokenizers, decoding, languages, aligns)
    chosen = SearchOptions.of(decoding, options)
    path = replace(path, splits=path.splits and chosen.split_sentences)
    glossary = read_glossary(Path(chosen.glossary), languages) if chosen.glossary else None
    return Translator(search, path, chosen, workers, glossary=glossary, languages=languages)
