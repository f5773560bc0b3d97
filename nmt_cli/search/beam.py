"""Beam search over a step model.

Semantics, the same for every model and for the exported SavedModel:

- A sentence has K slots. At each step the continuations of its open beams are ranked by their
  summed log-probability (ties: lower token id, then lower beam), and the best fill the slots that
  no finished hypothesis holds. Hypotheses that end in END are finished: they keep their slot and
  are never extended.
- A finished hypothesis scores ``sum of log-probabilities / penalty(length)``, with END counted in
  the length, plus its coverage penalty if requested.
- The N best finished hypotheses are kept (N is 1 by default). A sentence is done when every slot
  is finished, when no open beam can beat the worst of N kept hypotheses even if every further
  token were certain, or at its maximum length; if fewer have finished by then, the best open
  beams follow them, unfinished.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.hypotheses import (
    Continuations,
    Hypotheses,
    Hypothesis,
    Segment,
    best,
    coverage_penalty,
    penalty,
)
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.rules import Processor, constrained_best
from nmt_cli.search.step_model import (
    Floats,
    Ids,
    Mask,
    StepModel,
    aligning_weights,
    top_candidates,
    worth_dropping,
)
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID

if TYPE_CHECKING:
    from nmt_cli.search.trace import Trace

# Steps allocated at first; doubled when needed.
_STEPS = 32


def beam_search(
    model: StepModel,
    source: Ids,
    options: SearchOptions,
    segments: Sequence[Segment] | None = None,
    processors: Sequence[Processor] = (),
    trace: "Trace | None" = None,
) -> Hypotheses:
    """Find the best hypotheses of each source sentence.

    Args:
        source: [B, S], with special tokens and padding.
        segments: what each translation must contain (their ids are not read); None for nothing.
        processors: change log-probabilities before tokens are ranked.
        trace: records the search of a single sentence.

    Returns:
        For each sentence, in order, ``options.n_best`` hypotheses, best first; fewer only if
        the vocabulary has no more.
    """
    segments = segments or [Segment()] * len(source)
    lengths, shortest = (source != PAD_ID).sum(axis=1), options.min_length + 1
    limits = np.array([max(options.limit(length), shortest) for length in lengths], np.int64)
    limits += np.array([segment.required for segment in segments], np.int64)
    limits = limits.clip(max=options.max_length)
    has_rules = bool(processors) or options.sample or any(segment.required for segment in segments)
    if options.beam_size == 1 and not (has_rules or options.coverage_penalty or trace):
        return greedy_search(model, source, limits, options)
    beams = Beams(source, limits, options, segments)
    if trace:
        trace.begin(source)
    state = model.encode(source)
    while beams.open:
        ancestry = beams.ancestry()
        if beams.coverage is not None:
            beams.coverage += aligning_weights(model.attention(state, beams.last, ancestry))
        if has_rules:
            log_probs, state = model.log_probs(state, beams.last, ancestry)
            chosen = choose(beams, log_probs, processors)
        else:
            candidates, state = model.step(state, beams.last, ancestry)
            chosen = best(beams.sums, candidates)
        if trace:
            ranked = top_candidates(log_probs, options.beam_size) if has_rules else candidates
            trace.step(beams, ranked, chosen)
        beams.extend(chosen)
        keep = beams.drop_done()
        if keep is not None:
            state = model.select(state, keep)
    if trace:
        trace.end(beams)
    return beams.best


def greedy_search(
    model: StepModel, source: Ids, limits: NDArray[np.int64], options: SearchOptions
) -> Hypotheses:
    """Follow the most probable token of each sentence; ties: the lower id.

    This is beam search with one beam, without its bookkeeping, which would take a third of a step.
    Arguments and results are those of :func:`beam_search`; ``limits`` count END, [B].
    """
    count, limit = len(source), int(limits.max(initial=0))
    tokens = np.zeros((count, limit), np.int32)
    totals = np.zeros((count, limit), np.float32)
    lengths = np.zeros(count, np.int64)  # 0 while open
    past = np.ones((count, 1, limit), np.bool_)
    rows, steps = np.arange(count), 0
    last, sums = np.full((count, 1), START_ID, np.int32), np.zeros((count, 1), np.float32)
    state = model.encode(source) if count else None
    while len(rows):
        candidates, state = model.step(state, last, past[: len(rows), :, : steps + 1])
        last, sums = candidates.ids[:, :, 0].copy(), sums + candidates.scores[:, :, 0]
        tokens[rows, steps], totals[rows, steps] = last[:, 0], sums[:, 0]
        steps += 1
        done = (last[:, 0] == END_ID) | (steps >= limits[rows])
        if not done.any():
            continue
        ended = rows[done]
        lengths[ended] = np.where(lengths[ended], lengths[ended], steps)
        keep = np.flatnonzero(lengths[rows] == 0)
        if not len(keep):
            break
        if worth_dropping(len(rows), len(keep)):
            rows, last, sums = rows[keep], last[keep], sums[keep]
            state = model.select(state, keep)
    hypotheses: Hypotheses = []
    for row, length in enumerate(lengths.tolist()):
        score = _penalized(totals[row, length - 1], length, options)
        hypotheses.append([_hypothesis(tokens[row, :length], totals[row, :length], score)])
    return hypotheses


def _penalized(total: float, length: int, options: SearchOptions) -> float:
    """Return the score of tokens that have this summed log-probability."""
    return float(total) / float(penalty(length, options.length_penalty))


def _hypothesis(tokens: Ids, totals: Floats, score: float) -> Hypothesis:
    """Return the hypothesis of tokens with their summed log-probabilities."""
    ids, sums = tokens.tolist(), totals.tolist()
    scores = [after - before for before, after in pairwise([0.0, *sums])]
    return Hypothesis(ids[:-1] if ids[-1] == END_ID else ids, score, scores)


class Beams:
    """The bookkeeping of one batch. B counts the sentences still in it, K the slots.

    A step of one sentence takes half a millisecond: what is needed only when a beam ends is
    computed only then.

    Attributes:
        segments, generators: of all sentences; the latter for sampling.
        open: number of sentences that are not done.
        rows: [B], index of each sentence's segment and result.
        limits: [B], maximum numbers of tokens.
        max_penalty: float64 [B], length penalty at the limit.
        sums: float32 [B, K], summed log-probabilities of open beams, -inf where closed.
        last: int32 [B, K], last token of each beam.
        history_mask: bool [B, K, T * K], cache columns that belong to each beam's past, its last
            token's included, and space for more.
        tokens: int32 [B, T * K], the token of each column.
        cumulative: float32 [B, T * K], summed log-probabilities after that token.
        finished: [B], number of slots held by finished hypotheses.
        done: bool [B].
        thresholds: float64 [B], the score that a hypothesis must beat to be kept; -inf while fewer
            than ``n_best`` are kept.
        best: kept hypotheses of each sentence, best first.
        coverage: float32 [B, K, S], total attention to each source token so far; None if there
            is no coverage penalty.
    """

    def __init__(
        self,
        source: Ids,
        limits: NDArray[np.int64],
        options: SearchOptions,
        segments: Sequence[Segment],
    ) -> None:
        count, beams = len(source), options.beam_size
        self.options, self.segments = options, segments
        self.open = count
        self.steps = 0
        self.rows = np.arange(count)
        self.limits = limits
        self.max_penalty = penalty(self.limits, options.length_penalty)
        self.sums = np.full((count, beams), -np.inf, np.float32)
        # All beams start out equal: the search needs only one of them, sampling all.
        self.sums[:, : None if options.sample else 1] = 0.0
        self.last = np.full((count, beams), START_ID, np.int32)
        self._diagonal = np.eye(beams, dtype=np.bool_)
        self.history_mask = np.tile(self._diagonal, (count, 1, _STEPS))
        self.tokens = np.full((count, _STEPS * beams), START_ID, np.int32)
        self.cumulative = np.zeros((count, _STEPS * beams), np.float32)
        self.finished = np.zeros(count, np.int64)
        self.done = np.zeros(count, np.bool_)
        self.thresholds = np.full(count, -np.inf)
        self.best: Hypotheses = [[] for _ in range(count)]
        self.coverage: Floats | None = None
        if options.coverage_penalty:
            # Padding counts as covered: its logarithm is 0.
            self.coverage = np.repeat((source == PAD_ID).astype(np.float32)[:, None], beams, 1)
        self.generators = [
            np.random.default_rng((options.seed or 0, segment.number))
            for segment in (segments if options.sample else ())
        ]

    def ancestry(self) -> Mask:
        """Return the columns of each beam's past and last token, [B, K, (t + 1) * K]."""
        return self.history_mask[..., : (self.steps + 1) * self.sums.shape[1]]

    def history(self) -> Ids:
        """Return the tokens of each beam so far, without START, [B, K, t]."""
        ancestry = self.ancestry()
        tokens = np.broadcast_to(self.tokens[:, None, : ancestry.shape[2]], ancestry.shape)
        return tokens[ancestry].reshape(*self.sums.shape, -1)[..., 1:]

    def extend(self, chosen: Continuations) -> None:
        """Fill the free slots with the best continuations and close finished hypotheses."""
        tokens, sums = chosen.tokens, chosen.sums
        beams = sums.shape[1]
        if self.finished.any():
            # Finished hypotheses hold slots: only the best (K - finished) candidates count.
            sums[np.arange(beams) >= (beams - self.finished)[:, None]] = -np.inf
        self._append(chosen)
        self.last, self.sums = tokens, sums
        ends = tokens == END_ID
        if ends.any():
            ends &= sums > -np.inf
            ends[self.done] = False
            for sentence, slot in np.argwhere(ends).tolist():
                self._keep(sentence, slot)
            self.finished += ends.sum(axis=1)
            sums[ends] = -np.inf
        self._close()

    def _append(self, chosen: Continuations) -> None:
        """Give each slot the columns of its parent and a new one."""
        count, beams = chosen.sums.shape
        parents = chosen.parents + np.arange(0, count * beams, beams)[:, None]
        self.history_mask = self.history_mask.reshape(count * beams, -1).take(parents, axis=0)
        if self.coverage is not None:
            self.coverage = self.coverage.reshape(count * beams, -1).take(parents, axis=0)
        self.steps += 1
        used = self.steps * beams
        if used == self.tokens.shape[1]:  # the content of the new half is never read
            self.history_mask = np.tile(self.history_mask, 2)
            self.tokens, self.cumulative = np.tile(self.tokens, 2), np.tile(self.cumulative, 2)
        self.history_mask[..., used : used + beams] = self._diagonal
        self.tokens[:, used : used + beams] = chosen.tokens
        self.cumulative[:, used : used + beams] = chosen.sums

    def _keep(self, sentence: int, slot: int) -> None:
        """Keep a finished hypothesis if it is among its sentence's best; ties: the first one."""
        score = self._score(sentence, slot)
        if score <= self.thresholds[sentence]:
            return
        kept = self.best[self.rows[sentence]]
        index = sum(other.score >= score for other in kept)
        kept.insert(index, self._hypothesis(sentence, slot, score))
        del kept[self.options.n_best :]
        if len(kept) == self.options.n_best:
            self.thresholds[sentence] = kept[-1].score

    def _close(self) -> None:
        """Mark sentences that cannot improve, and fill up their n-best lists with open beams."""
        # A coverage penalty only lowers scores, so the threshold still holds.
        settled = self.sums.max(axis=1) / self.max_penalty <= self.thresholds
        settled |= self.steps >= self.limits
        settled &= ~self.done
        if not settled.any():
            return
        for sentence in np.flatnonzero(settled).tolist():
            kept = self.best[self.rows[sentence]]
            if len(kept) == self.options.n_best:
                continue
            order = np.argsort(-self.sums[sentence], kind="stable").tolist()
            for slot in order[: self.options.n_best - len(kept)]:
                if not kept or self.sums[sentence, slot] > -np.inf:
                    score = self._score(sentence, slot)
                    kept.append(self._hypothesis(sentence, slot, score))
        self.done |= settled
        self.sums[settled] = -np.inf
        self.open = len(self.done) - int(self.done.sum())

    def _score(self, sentence: int, slot: int) -> float:
        total = self.cumulative[sentence, self.steps * len(self._diagonal) + slot]
        score = _penalized(total, self.steps, self.options)
        if self.coverage is not None:
            covered = self.coverage[sentence, slot]
            score += coverage_penalty(covered, self.options.coverage_penalty)
        return score

    def _hypothesis(self, sentence: int, slot: int, score: float) -> Hypothesis:
        mask = self.history_mask[sentence, slot, : (self.steps + 1) * len(self._diagonal)]
        past = np.flatnonzero(mask)[1:]  # without START
        return _hypothesis(self.tokens[sentence, past], self.cumulative[sentence, past], score)

    def drop_done(self) -> NDArray[np.int64] | None:
        """Drop the sentences that are done once they are many; return the others if so."""
        if not (self.open and worth_dropping(len(self.done), self.open)):
            return None
        keep = np.flatnonzero(~self.done)
        self.rows, self.limits = self.rows[keep], self.limits[keep]
        self.max_penalty = self.max_penalty[keep]
        self.sums, self.last = self.sums[keep], self.last[keep]
        self.history_mask, self.tokens = self.history_mask[keep], self.tokens[keep]
        self.cumulative, self.thresholds = self.cumulative[keep], self.thresholds[keep]
        self.finished, self.done = self.finished[keep], self.done[keep]
        if self.coverage is not None:
            self.coverage = self.coverage[keep]
        return keep


def choose(beams: Beams, log_probs: Floats, processors: Sequence[Processor]) -> Continuations:
    """Choose the continuation of each slot; ``log_probs``, [B, K, V], are changed in place."""
    segments = [beams.segments[row] for row in beams.rows.tolist()]
    step, past, sums = beams.steps, beams.history(), beams.sums
    # Processors must not forbid what a sentence must contain.
    unruled = {
        row: log_probs[row].copy()
        for row, segment in enumerate(segments)
        if segment.phrases or step < len(segment.prefix)
    }
    for process in processors:
        process(log_probs, past)
    for row, segment in enumerate(segments):
        if step < len(segment.prefix):
            token = segment.prefix[step]
            log_probs[row] = -np.inf
            log_probs[row, :, token] = unruled.pop(row)[:, token]
    if beams.options.sample:
        # One generator per sentence: its samples do not depend on the batch.
        chances = np.stack([beams.generators[row].random(sums.shape[1]) for row in beams.rows])
        return _sampled(sums, log_probs, chances, beams.options)
    chosen = best(sums, top_candidates(log_probs, sums.shape[1]))
    for row, without_rules in unruled.items():
        candidates = constrained_best(
            sums[row],
            log_probs[row],
            without_rules,
            past[row],
            segments[row].phrases,
            slots=sums.shape[1] - int(beams.finished[row]),
            last=step + 1 >= beams.limits[row],
        )
        chosen.sums[row] = -np.inf
        for slot, (negative, token, beam) in enumerate(candidates):
            chosen.sums[row, slot] = -negative
            chosen.tokens[row, slot] = token
            chosen.parents[row, slot] = beam
    return chosen


def _sampled(
    sums: Floats, log_probs: Floats, chances: NDArray[np.float64], options: SearchOptions
) -> Continuations:
    """Sample one continuation of each beam; open beams come first.

    The sampled token is the one at which the cumulative probability exceeds the chance, [B, K].
    Top-p is nucleus sampling (Holtzman et al. 2020, https://arxiv.org/abs/1904.09751).
    """
    vocabulary = log_probs.shape[2]
    top_p = options.top_p or 1.0
    if options.top_k or top_p < 1:  # only these need the tokens in order
        candidates = top_candidates(log_probs, options.top_k or vocabulary)
        ids, scores = candidates.ids, candidates.scores.astype(np.float64)
    else:
        ids = np.broadcast_to(np.arange(vocabulary, dtype=np.int32), log_probs.shape)
        scores = log_probs.astype(np.float64)
    scores = np.where((ids == PAD_ID) | (ids == START_ID), -np.inf, scores)  # never text
    scores /= options.temperature or 1.0
    probabilities = np.exp(scores - scores.max(axis=2, keepdims=True))
    cumulative = probabilities.cumsum(axis=2)
    if top_p < 1:
        # The token that exceeds the threshold is the last that may be sampled.
        enough = cumulative - probabilities < top_p * cumulative[..., -1:]
        probabilities = np.where(enough, probabilities, 0)
        cumulative = probabilities.cumsum(axis=2)
    # The first sum above the chance belongs to a token with nonzero probability.
    ranks = (cumulative > chances[..., None] * cumulative[..., -1:]).argmax(axis=2)
    tokens = np.take_along_axis(ids, ranks[..., None], axis=2)
    added = np.take_along_axis(log_probs, tokens, axis=2)[..., 0]
    # Slots of finished samples come last, where the search expects them.
    parents = np.argsort(sums == -np.inf, axis=1, kind="stable")
    rows = np.arange(len(sums))[:, None]
    return Continuations(parents, tokens[rows, parents, 0], (sums + added)[rows, parents])
