"""Beam search over a step model.

Semantics, the same for every model and for the exported SavedModel:

- A sentence has K slots. At each step the continuations of its open beams are ranked by
  their summed log-probability (ties: lower token id, then lower beam), and the best fill
  the slots that no finished hypothesis holds. Hypotheses that end in END are finished: they
  keep their slot and are never extended.
- A finished hypothesis scores ``sum of log-probabilities / penalty(length)``, the penalty
  of Wu et al. 2016 (https://arxiv.org/abs/1609.08144, equation 14), with END counted in the
  length, plus their coverage penalty if requested.
- The N best finished hypotheses are kept (N is 1 by default). A sentence is done when every slot
  is finished, when no open beam can beat the worst of N kept hypotheses even if every further
  token were certain, or at its maximum length; if fewer have finished by then, the best open
  beams follow them, unfinished.
- Beam 1 is greedy search.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.attention import aligning_layer
from nmt_cli.search.hypothesis import Hypothesis, coverage_penalty, penalty
from nmt_cli.search.options import Request, SearchOptions
from nmt_cli.search.processors import Processor
from nmt_cli.search.ranking import Continuations, best
from nmt_cli.search.step_model import StepModel
from nmt_cli.text.tokenizer import END_ID, PAD_ID, START_ID

# Finished sentences leave the batch once they are this share of it: copying the caches costs
# about as much as one step of the sentences that leave.
DONE_SHARE = 0.25
# Steps allocated at first; doubled when needed.
_ROOM = 32


def beam_search(
    model: StepModel,
    source: NDArray[np.int32],
    lengths: NDArray[np.int64],
    options: SearchOptions,
    requests: Sequence[Request] | None = None,
    processors: Sequence[Processor] = (),
) -> list[list[Hypothesis]]:
    """Find the best hypotheses of each source sentence.

    Args:
        model: what gives the probabilities.
        source: [B, S], framed and padded.
        lengths: [B], tokens of each sentence without padding.
        options: beam size, penalties and limits.
        requests: what each translation must contain; None for nothing.
        processors: change log-probabilities before tokens are ranked.

    Returns:
        For each sentence, in order, ``options.n_best`` hypotheses, best first; fewer only if
        the vocabulary has no more.
    """
    requests = requests or [Request()] * len(source)
    beams = _Beams(source, lengths, options, requests)
    chooser = None
    if processors or options.sample or any(each.prefix or each.phrases for each in requests):
        from nmt_cli.search.choosing import Chooser  # rarely needed

        chooser = Chooser(options, requests, processors)
    state = model.encode(source)
    while beams.open:
        if beams.coverage is not None:
            beams.coverage += aligning_layer(model.attention(state, beams.last, beams.ancestry()))
        if chooser:
            log_probs, state = model.log_probs(state, beams.last, beams.ancestry())
            beams.extend(
                chooser.choose(beams.sums, log_probs, beams.past, beams.finished, beams.limits)
            )
        else:
            candidates, state = model.step(state, beams.last, beams.ancestry())
            beams.extend(best(beams.sums, candidates))
        keep = beams.worth_keeping()
        if keep is not None:
            beams.select(keep)
            if chooser:
                chooser.select(keep)
            state = model.select(state, keep)
    return beams.best


class _Beams:
    """The bookkeeping of one batch. B counts the sentences still in it, K the slots.

    A step of one sentence takes half a millisecond: what is needed only when a beam ends is
    computed only then.

    Attributes:
        open: number of sentences that are not done.
        rows: [B], index of each sentence's result.
        sums: float32 [B, K], summed log-probabilities of open beams, -inf where closed.
        last: int32 [B, K], last token of each beam.
        history: int32 [B, K, T], tokens so far, and space for more.
        lineage: bool [B, K, T * K], cache columns that belong to each beam's past, likewise.
        finished: [B], number of slots held by finished hypotheses.
        done: bool [B].
        reach: float64 [B], length penalty at each sentence's maximum length.
        trail: float32 [B, K, T], summed log-probabilities after each token so far, likewise.
        bounds: float64 [B], the score that a hypothesis must beat to be kept; -inf while fewer
            than ``n_best`` are kept.
        best: kept hypotheses of each sentence, best first.
        coverage: float32 [B, K, S], total attention to each source token so far; None if there
            is no coverage penalty.
    """

    def __init__(
        self,
        source: NDArray[np.int32],
        lengths: NDArray[np.int64],
        options: SearchOptions,
        requests: Sequence[Request],
    ) -> None:
        count, beams = len(source), options.beam_size
        self.options = options
        self.open = count
        self.steps = 0
        self.rows = np.arange(count)
        self.limits = np.array(
            [
                min(
                    options.max_length,
                    max(options.limit(int(length)), options.min_length + 1) + each.required,
                )
                for length, each in zip(lengths, requests, strict=True)
            ],
            np.int64,
        )
        self.reach = penalty(self.limits, options.length_penalty)
        self.sums = np.full((count, beams), -np.inf, np.float32)
        # All beams start out equal: the search needs only one of them, sampling all.
        self.sums[:, : None if options.sample else 1] = 0.0
        self.last = np.full((count, beams), START_ID, np.int32)
        self.history = np.zeros((count, beams, 0), np.int32)
        self.lineage = np.zeros((count, beams, 0), np.bool_)
        self.trail = np.zeros((count, beams, 0), np.float32)
        self.finished = np.zeros(count, np.int64)
        self.done = np.zeros(count, np.bool_)
        self.bounds = np.full(count, -np.inf)
        self.best: list[list[Hypothesis]] = [[] for _ in range(count)]
        self.coverage: NDArray[np.float32] | None = None
        if options.coverage_penalty:
            # Padding counts as covered: its logarithm is 0.
            self.coverage = np.repeat((source == PAD_ID).astype(np.float32)[:, None], beams, 1)
        self._own = np.eye(beams, dtype=np.bool_)

    def ancestry(self) -> NDArray[np.bool_]:
        """The lineage with the column of the next token to read, [B, K, (t + 1) * K]."""
        beams = self.sums.shape[1]
        if self.steps == self.history.shape[2]:
            more = max(_ROOM, self.steps)
            self.history = np.pad(self.history, ((0, 0), (0, 0), (0, more)))
            self.trail = np.pad(self.trail, ((0, 0), (0, 0), (0, more)))
            self.lineage = np.pad(self.lineage, ((0, 0), (0, 0), (0, more * beams)))
        used = self.steps * beams
        self.lineage[..., used : used + beams] = self._own
        return self.lineage[..., : used + beams]

    @property
    def past(self) -> NDArray[np.int32]:
        """The tokens so far, [B, K, steps]."""
        return self.history[..., : self.steps]

    def extend(self, chosen: Continuations) -> None:
        """Fill the free slots with the best continuations and close finished hypotheses."""
        tokens, sums = chosen.tokens, chosen.sums
        beams = sums.shape[1]
        if self.finished.any():
            # Finished hypotheses hold slots: only the best (K - finished) candidates count.
            sums[np.arange(beams) >= (beams - self.finished)[:, None]] = -np.inf
        self._follow(chosen.parents)
        self.history[..., self.steps] = tokens
        self.trail[..., self.steps] = sums
        self.steps += 1
        ends = tokens == END_ID
        if ends.any():
            ends &= sums > -np.inf
            ends[self.done] = False
            self._finish(np.argwhere(ends), sums)
            self.finished += ends.sum(axis=1)
            sums[ends] = -np.inf
        self.last, self.sums = tokens, sums
        self._close()

    def _follow(self, parents: NDArray[np.int64]) -> None:
        """Give each slot the history of its parent."""
        beams = parents.shape[1]
        if (parents == np.arange(beams)).all():
            return
        pick = np.arange(len(parents))[:, None]
        past, used = self.steps, (self.steps + 1) * beams
        self.history[..., :past] = self.history[pick, parents, :past]
        self.lineage[..., :used] = self.lineage[pick, parents, :used]
        self.trail[..., :past] = self.trail[pick, parents, :past]
        if self.coverage is not None:
            self.coverage = self.coverage[pick, parents]

    def _finish(self, ends: NDArray[np.int64], sums: NDArray[np.float32]) -> None:
        """Keep each newly finished hypothesis that is among its sentence's best.

        They are ordered by score; the first found of equal scores comes first.
        """
        for sentence, slot in ends:
            score = self._score(sentence, slot, float(sums[sentence, slot]))
            if score <= self.bounds[sentence]:
                continue
            kept = self.best[self.rows[sentence]]
            place = sum(each.score >= score for each in kept)
            kept.insert(place, self._hypothesis(sentence, slot, self.steps - 1, score))
            del kept[self.options.n_best :]
            if len(kept) == self.options.n_best:
                self.bounds[sentence] = kept[-1].score

    def _close(self) -> None:
        """Mark sentences that cannot improve, and complete those at their maximum length."""
        open_best = self.sums.max(axis=1)  # [B]
        at_limit = self.steps >= self.limits
        # A coverage penalty only lowers scores, so the bound still holds.
        settled = at_limit | (open_best / self.reach <= self.bounds)
        settled &= ~self.done
        if not settled.any():
            return
        for sentence in np.flatnonzero(settled):
            self._fill_up(sentence)
        self.done |= settled
        self.sums[settled] = -np.inf
        self.open = len(self.done) - int(self.done.sum())

    def _fill_up(self, sentence: np.integer[Any]) -> None:
        """Fill up a sentence's n-best list with open beams."""
        kept = self.best[self.rows[sentence]]
        unfinished: list[Hypothesis] = []
        for slot in np.argsort(-self.sums[sentence], kind="stable"):
            total = float(self.sums[sentence, slot])
            missing = self.options.n_best - len(kept) - len(unfinished)
            if missing <= 0 or (total == -np.inf and (kept or unfinished)):
                break
            score = self._score(sentence, slot, total)
            unfinished.append(self._hypothesis(sentence, slot, self.steps, score))
        kept += unfinished

    def _score(self, sentence: np.integer[Any], slot: np.integer[Any], total: float) -> float:
        score = total / float(penalty(self.steps, self.options.length_penalty))
        if self.coverage is not None:
            covered = self.coverage[sentence, slot]
            score += coverage_penalty(covered, self.options.coverage_penalty)
        return score

    def _hypothesis(
        self, sentence: np.integer[Any], slot: np.integer[Any], length: int, score: float
    ) -> Hypothesis:
        sums = self.trail[sentence, slot, : self.steps].tolist()
        scores = [now - before for before, now in zip([0.0, *sums], sums, strict=False)]
        return Hypothesis(self.history[sentence, slot, :length].tolist(), score, scores)

    def worth_keeping(self) -> NDArray[np.int64] | None:
        """The sentences that are not done, if enough of the batch is; else None."""
        count = len(self.done)
        if not 0 < self.open <= count - max(1, math.ceil(DONE_SHARE * count)):
            return None
        return np.flatnonzero(~self.done)

    def select(self, keep: NDArray[np.int64]) -> None:
        """Keep only these sentences."""
        self.rows, self.limits, self.reach = self.rows[keep], self.limits[keep], self.reach[keep]
        self.sums, self.last = self.sums[keep], self.last[keep]
        self.history, self.lineage = self.history[keep], self.lineage[keep]
        self.finished, self.done = self.finished[keep], self.done[keep]
        self.bounds, self.trail = self.bounds[keep], self.trail[keep]
        if self.coverage is not None:
            self.coverage = self.coverage[keep]
