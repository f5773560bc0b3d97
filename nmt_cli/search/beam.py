"""Beam search over a step model.

Semantics, the same for every model and for the exported SavedModel:

- A sentence has K slots. At each step the continuations of its open beams are ranked by
  their summed log-probability (ties: lower token id, then lower beam), and the best take
  the slots that no finished hypothesis holds. Those that end in END are finished: frozen,
  they keep their slot and are never extended.
- A finished hypothesis scores ``sum of log-probabilities / penalty(length)``, the penalty
  of Wu et al. 2016 (https://arxiv.org/abs/1609.08144, equation 14), the length with END.
- One finished hypothesis is kept, the best. A sentence is done when every slot is finished,
  when no open beam can still beat the kept hypothesis even if every further token were
  certain, or at its maximum length; only if nothing finished by then is the best open beam
  taken as it stands.
- Beam 1 is greedy search.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.recipe.config import DecodingConfig
from nmt_cli.search.step_model import Candidates, StepModel
from nmt_cli.text.tokenizer import END_ID, START_ID

# A batch is made smaller only when this share of its sentences is done: copying the caches
# costs about as much as one step of the sentences that leave.
DONE_SHARE = 0.25
# Steps for which room is made at first; it is doubled when it does not suffice.
_ROOM = 32


@dataclass(frozen=True)
class SearchOptions:
    """What search may do; the defaults stand in :class:`nmt_cli.recipe.config.DecodingConfig`.

    Attributes:
        beam_size: hypotheses followed at a time; 1 is greedy search.
        length_penalty: alpha; 0 compares plain sums, larger values favour longer output.
        max_length: tokens of a translation at most, END included.
        length_ratio, length_extra: and at most ``ceil(ratio * source tokens) + extra``.
    """

    beam_size: int
    length_penalty: float
    max_length: int
    length_ratio: float
    length_extra: int

    @classmethod
    def of(
        cls,
        config: DecodingConfig,
        beam_size: int | None = None,
        length_penalty: float | None = None,
    ) -> "SearchOptions":
        """A recipe's settings, with what the user asked for instead."""
        return cls(
            config.beam_size if beam_size is None else beam_size,
            config.length_penalty if length_penalty is None else length_penalty,
            config.max_length,
            config.length_ratio,
            config.length_extra,
        )

    def limit(self, source_tokens: int) -> int:
        """The most tokens that a translation of so many source tokens may have."""
        return min(
            self.max_length, math.ceil(self.length_ratio * source_tokens) + self.length_extra
        )


@dataclass(frozen=True)
class Hypothesis:
    """A translation as ids, END excluded, and its penalised log-probability."""

    ids: list[int]
    score: float


def penalty(lengths: int | NDArray[np.int64], alpha: float) -> NDArray[np.float64]:
    """``((5 + length) / 6) ** alpha``, Wu et al. 2016, equation 14."""
    return ((5.0 + np.asarray(lengths, np.float64)) / 6.0) ** alpha


def beam_search(
    model: StepModel, source: NDArray[np.int32], lengths: NDArray[np.int64], options: SearchOptions
) -> list[Hypothesis]:
    """Find the best hypothesis of each source sentence.

    Args:
        model: what gives the probabilities.
        source: [B, S], framed and padded.
        lengths: [B], tokens of each sentence without padding.
        options: beam size, penalty and limits.

    Returns:
        One hypothesis a sentence, in order.
    """
    beams = _Beams(len(source), lengths, options)
    state = model.encode(source)
    while beams.open:
        candidates, state = model.step(state, beams.last, beams.ancestry())
        beams.extend(candidates)
        keep = beams.worth_keeping()
        if keep is not None:
            beams.select(keep)
            state = model.select(state, keep)
    return beams.results()


class _Beams:
    """The bookkeeping of one batch. B counts the sentences still in it, K the slots.

    A step of one sentence is over in half a millisecond: what most steps do not need, as no
    beam ends in them, is not computed.

    Attributes:
        open: how many sentences are not done.
        rows: [B], which result each sentence is.
        sums: float32 [B, K], summed log-probabilities of open beams, -inf where closed.
        last: int32 [B, K], last token of each beam.
        history: int32 [B, K, T], tokens so far and room for more.
        lineage: bool [B, K, T * K], cache columns that belong to each beam's past, likewise.
        finished: [B], how many slots finished hypotheses hold.
        done: bool [B].
        reach: float64 [B], penalty of the longest translation that each sentence may have.
        best_scores: float64 [B], of the kept hypotheses; -inf where there is none yet.
    """

    def __init__(self, count: int, lengths: NDArray[np.int64], options: SearchOptions) -> None:
        beams = options.beam_size
        self.options = options
        self.open = count
        self.steps = 0
        self.rows = np.arange(count)
        self.limits = np.array([options.limit(int(length)) for length in lengths], np.int64)
        self.reach = penalty(self.limits, options.length_penalty)
        self.sums = np.full((count, beams), -np.inf, np.float32)
        self.sums[:, 0] = 0.0
        self.last = np.full((count, beams), START_ID, np.int32)
        self.history = np.zeros((count, beams, 0), np.int32)
        self.lineage = np.zeros((count, beams, 0), np.bool_)
        self.finished = np.zeros(count, np.int64)
        self.done = np.zeros(count, np.bool_)
        self.best_scores = np.full(count, -np.inf)
        self.best: list[Hypothesis | None] = [None] * count
        self._own = np.eye(beams, dtype=np.bool_)

    def ancestry(self) -> NDArray[np.bool_]:
        """The lineage with the column of the token about to be read, [B, K, (t + 1) * K]."""
        beams = self.sums.shape[1]
        if self.steps == self.history.shape[2]:
            more = max(_ROOM, self.steps)
            self.history = np.pad(self.history, ((0, 0), (0, 0), (0, more)))
            self.lineage = np.pad(self.lineage, ((0, 0), (0, 0), (0, more * beams)))
        used = self.steps * beams
        self.lineage[..., used : used + beams] = self._own
        return self.lineage[..., : used + beams]

    def extend(self, candidates: Candidates) -> None:
        """Fill the free slots with the best candidates and close what is finished."""
        parents, tokens, sums = _rank(self.sums, candidates)
        beams = sums.shape[1]
        if self.finished.any():
            # They hold slots, so that only the best (K - finished) candidates count.
            sums[np.arange(beams) >= (beams - self.finished)[:, None]] = -np.inf
        self._follow(parents)
        self.history[..., self.steps] = tokens
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
        """Let each slot go on from its parent's past."""
        beams = parents.shape[1]
        if (parents == np.arange(beams)).all():
            return
        pick = np.arange(len(parents))[:, None]
        past, used = self.steps, (self.steps + 1) * beams
        self.history[..., :past] = self.history[pick, parents, :past]
        self.lineage[..., :used] = self.lineage[pick, parents, :used]

    def _finish(self, ends: NDArray[np.int64], sums: NDArray[np.float32]) -> None:
        """Remember each newly finished hypothesis that beats its sentence's best."""
        by_length = float(penalty(self.steps, self.options.length_penalty))
        for sentence, slot in ends:
            score = float(sums[sentence, slot]) / by_length
            if score > self.best_scores[sentence]:
                self._keep(sentence, self.history[sentence, slot, : self.steps - 1], score)

    def _close(self) -> None:
        """Mark the sentences that nothing can improve, and take what is there at the limit."""
        open_best = self.sums.max(axis=1)  # [B]
        at_limit = self.steps >= self.limits
        settled = at_limit | (open_best / self.reach <= self.best_scores)
        settled &= ~self.done
        if not settled.any():
            return
        by_length = float(penalty(self.steps, self.options.length_penalty))
        for sentence in np.flatnonzero(settled):
            if self.best[self.rows[sentence]] is None:
                slot = int(self.sums[sentence].argmax())
                score = float(open_best[sentence]) / by_length
                self._keep(sentence, self.history[sentence, slot, : self.steps], score)
        self.done |= settled
        self.sums[settled] = -np.inf
        self.open = len(self.done) - int(self.done.sum())

    def _keep(self, sentence: np.integer[Any], ids: NDArray[np.int32], score: float) -> None:
        self.best[self.rows[sentence]] = Hypothesis(ids.tolist(), score)
        self.best_scores[sentence] = score

    def worth_keeping(self) -> NDArray[np.int64] | None:
        """The sentences to go on with, when enough of the batch is done; else None."""
        count = len(self.done)
        if not 0 < self.open <= count - max(1, math.ceil(DONE_SHARE * count)):
            return None
        return np.flatnonzero(~self.done)

    def select(self, keep: NDArray[np.int64]) -> None:
        """Go on with these sentences alone."""
        self.rows, self.limits, self.reach = self.rows[keep], self.limits[keep], self.reach[keep]
        self.sums, self.last = self.sums[keep], self.last[keep]
        self.history, self.lineage = self.history[keep], self.lineage[keep]
        self.finished, self.done = self.finished[keep], self.done[keep]
        self.best_scores = self.best_scores[keep]

    def results(self) -> list[Hypothesis]:
        assert all(self.best), "a sentence was closed without a hypothesis"
        return [best for best in self.best if best is not None]


def _rank(
    sums: NDArray[np.float32], candidates: Candidates
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """The K best continuations of each sentence: parent beam, token, sum; each [B, K]."""
    count, beams = sums.shape
    totals = (sums[..., None] + candidates.scores).reshape(count, -1)  # [B, K * C]
    ids = candidates.ids.reshape(count, -1)
    if beams == 1:  # greedy: the best of one beam is the first of its candidates
        return np.zeros((count, 1), np.int64), ids[:, :1].copy(), totals[:, :1]
    # lexsort's last key is the first to decide; it is stable, so that equal tokens of
    # equal score keep the order of their beams.
    order = np.lexsort((ids, -totals), axis=-1)[:, :beams]
    parents = order // candidates.ids.shape[2]
    rows = np.arange(count)[:, None]
    return parents, ids[rows, order], totals[rows, order]
