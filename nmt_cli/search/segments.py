"""The interface of everything that translates segments, and beam search behind it."""

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import numpy as np

from nmt_cli.errors import ResourceError
from nmt_cli.search.beam import beam_search
from nmt_cli.search.hypotheses import Hypotheses, Hypothesis, Pairs, Segment, force
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.rules import Processor, processors_of
from nmt_cli.search.step_model import BatchTooLarge, Ids, StepModel
from nmt_cli.text.tokenizer import PAD_ID, Tokenizer, TokenizerPair

if TYPE_CHECKING:
    from nmt_cli.search.trace import Trace

logger = logging.getLogger(__name__)

# Widths of batches are multiples of this. Matrix products sum in groups of four: a sentence's last
# tokens must fall into the same group, however far the sentence is padded.
WIDTH_STEP = 4

# These patterns mean the same in JavaScript, for the page of `nmt export --web`.
# Some characters or words, four times in a row.
LOOP = re.compile(r"([^\n]{3,60}?)\1{3}")
# Some tokens, three times in a row: the first and the last time, other tokens may spell the text.
TOKEN_LOOP = re.compile(r"(.{1,60}?)\1\1", re.DOTALL)
# Further searches allow no sequence of this many tokens to occur twice. The same tokens four times
# in a row always have two equal sequences of 3; where the end of another token completes the loop
# ("initialized" and three times "ized"), only 2 helps.
_NO_REPEAT = (3, 2)
# Sentences have most sequences of 3 characters twice. The same 3 or more characters four times in a
# row always have two equal sequences of 9.
_NO_REPEAT_CHARACTERS = (9,)

Rows = list[int]
Result = TypeVar("Result")


@runtime_checkable
class SegmentSearch(Protocol):
    """Translates segments: a step model under our beam search, or a program with its own search.
    Implementations may be called from several threads at a time."""

    def search(self, batch: Sequence[Segment], options: SearchOptions) -> Hypotheses:
        """Return the hypotheses of each segment of a batch, best first, at least one.

        Raises:
            BatchTooLarge: there is not enough memory; a smaller batch may fit.
        """

    def force(self, pairs: Pairs, attention: bool) -> Sequence[Hypothesis]:
        """Score given translations, with their attention to the source if requested.

        Raises:
            BatchTooLarge: there is not enough memory; fewer pairs may fit.
            ModelError: the model does not provide attention or scores.
        """


class BeamSearch:
    """Beam search over a step model; a search does not depend on the others of its batch."""

    def __init__(
        self, model: StepModel, tokenizers: TokenizerPair, trace: "Trace | None" = None
    ) -> None:
        """``trace`` records the search; it needs batches of one segment."""
        self.model, self._tokenizers, self._trace = model, tokenizers, trace
        # The rules that the latest options request.
        self._rules: tuple[SearchOptions | None, tuple[Processor, ...]] = None, ()

    def search(self, batch: Sequence[Segment], options: SearchOptions) -> Hypotheses:
        """Search, and again where the best hypothesis is empty or repeats itself."""
        return search_segments(self._once, batch, options, self._tokenizers)

    def _once(self, batch: Sequence[Segment], options: SearchOptions) -> Hypotheses:
        rules = self._rules
        if rules[0] is not options:
            rules = self._rules = options, processors_of(options, self._tokenizers.target)
        # Rules need the probabilities of all tokens, which may differ from those of shortlists.
        groups = defaultdict[tuple[bool, int], Rows](list)
        for row, segment in enumerate(batch):
            groups[segment.required > 0, options.beam_size + segment.more_beams].append(row)
        results = dict[int, list[Hypothesis]]()
        for (_, beams), rows in groups.items():
            segments = [batch[row] for row in rows]
            source = padded([segment.ids for segment in segments])
            wider = replace(options, beam_size=beams)
            found = beam_search(self.model, source, wider, segments, rules[1], self._trace)
            results.update(zip(rows, found, strict=True))
        return [results[row] for row in range(len(batch))]

    def force(self, pairs: Pairs, attention: bool) -> Sequence[Hypothesis]:
        """Score given translations."""
        source, targets = zip(*pairs, strict=True)
        return force(self.model, padded(source), targets, attention)


def repeats(text: str, source: str) -> bool:
    """Return whether a translation repeats itself although its source does not."""
    return LOOP.search(text) is not None and LOOP.search(source) is None


def ngram_sizes(target: Tokenizer) -> tuple[int, ...]:
    """Return the sizes of the sequences of tokens that further searches allow only once."""
    texts = (surface.decode(errors="ignore") for surface in target.surfaces())
    return _NO_REPEAT if any(len(text) > 1 for text in texts) else _NO_REPEAT_CHARACTERS


def search_segments(
    search: Callable[[Sequence[Segment], SearchOptions], Hypotheses],
    batch: Sequence[Segment],
    options: SearchOptions,
    tokenizers: TokenizerPair,
) -> Hypotheses:
    """Search, and again where the best hypothesis is empty or repeats itself."""

    def search_rows(rows: Sequence[int], options: SearchOptions) -> Hypotheses:
        return search([batch[row] for row in rows], options)

    def is_loop(row: int, hypotheses: list[Hypothesis]) -> bool:
        ids = hypotheses[0].ids
        if not TOKEN_LOOP.search("".join(map(chr, ids))):  # a quick test
            return False
        (source,) = tokenizers.source.decode([batch[row].ids])
        (target,) = tokenizers.target.decode([ids])
        return repeats(target, source)

    def is_empty(row: int, hypotheses: list[Hypothesis]) -> bool:
        return not hypotheses[0].ids

    return with_retries(search_rows, len(batch), options, is_empty, is_loop, tokenizers.target)


def with_retries(
    search: Callable[[Sequence[int], SearchOptions], list[Result]],
    count: int,
    options: SearchOptions,
    is_empty: Callable[[int, Result], bool],
    is_loop: Callable[[int, Result], bool],
    target: Tokenizer,
) -> list[Result]:
    """Search rows, and again those whose result is empty or repeats itself.
    Samples, and translations whose repetition the options limit, are searched once."""
    results = search(range(count), options)
    if options.sample or options.no_repeat_ngram is not None:
        return results

    def again(is_wrong: Callable[[int, Result], bool], stricter: SearchOptions) -> None:
        rows = [row for row, result in enumerate(results) if is_wrong(row, result)]
        for row, result in zip(rows, search(rows, stricter) if rows else (), strict=True):
            results[row] = result

    again(is_empty, replace(options, min_length=1))
    if any(is_loop(row, result) for row, result in enumerate(results)):
        for size in ngram_sizes(target):
            again(is_loop, replace(options, no_repeat_ngram=size))
    return results


def padded(pieces: Sequence[Sequence[int]]) -> Ids:
    """Pad sentences into one batch, [B, S]."""
    width = -(-max(map(len, pieces)) // WIDTH_STEP) * WIDTH_STEP
    source = np.full((len(pieces), width), PAD_ID, np.int32)
    for row, piece in zip(source, pieces, strict=True):
        row[: len(piece)] = piece
    return source


def in_batches(
    sizes: Sequence[int],
    budget: int,
    workers: int,
    work: Callable[[Rows], Sequence[Result]],
) -> list[Result]:
    """Apply ``work`` to all rows in batches and return the results in order.

    ``sizes`` are the tokens of each row, ``budget`` those of a batch, padding included; ``workers``
    batches run in parallel. A batch that raises BatchTooLarge is halved, with a warning.
    """

    def run(rows: Rows) -> Sequence[Result]:
        try:
            return work(rows)
        except BatchTooLarge:
            if len(rows) == 1:
                reason = f"not enough memory for one sentence of {sizes[rows[0]]:,} tokens"
                raise ResourceError(reason, "use a smaller `beam_size`") from None
        half = len(rows) // 2
        logger.warning(f"not enough memory for {len(rows)} sentences at a time; trying {half}")
        return [*run(rows[:half]), *run(rows[half:])]

    batches = list(batches_of(sizes, budget, workers))
    if workers == 1 or len(batches) == 1:
        done = [run(rows) for rows in batches]
    else:
        with ThreadPoolExecutor(workers) as pool:
            done = list(pool.map(run, batches))
    results = dict(zip(chain(*batches), chain(*done), strict=True))
    return [results[row] for row in range(len(sizes))]


def batches_of(sizes: Sequence[int], budget: int, workers: int) -> Iterator[Rows]:
    """Yield rows of similar length, longest first, within the budget and for all workers."""
    share = -(-len(sizes) // workers)
    batch: Rows = []
    for row in sorted(range(len(sizes)), key=lambda row: -sizes[row]):
        if batch and (len(batch) == share or (len(batch) + 1) * sizes[batch[0]] > budget):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
