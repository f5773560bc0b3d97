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

import numpy as np
from numpy.typing import NDArray

from nmt_cli.recipe import DecodingConfig
from nmt_cli.search.step_model import Candidates, StepModel
from nmt_cli.text.tokenizer import END_ID, START_ID

# A batch is made smaller only when this share of its sentences is done: copying the caches
# costs about as much as one step of the sentences that leave.
DONE_SHARE = 0.25


@dataclass(frozen=True)
class SearchOptions:
    """What search may do; the defaults stand in :class:`nmt_cli.recipe.DecodingConfig`.

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
    while not beams.all_done():
        candidates, state = model.step(state, beams.last, beams.ancestry())
        beams.extend(candidates)
        keep = beams.worth_keeping()
        if keep is not None:
            beams.select(keep)
            state = model.select(state, keep)
    return beams.results()


class _Beams:
    """The bookkeeping of one batch. B counts the sentences still in it, K the slots.

    Attributes:
        rows: [B], which result each sentence is.
        sums: float32 [B, K], summed log-probabilities of open beams, -inf where closed.
        last: int32 [B, K], last token of each beam.
        history: int32 [B, K, t], tokens so far.
        lineage: bool [B, K, t * K], cache columns that belong to each beam's past.
        finished: [B], how many slots finished hypotheses hold.
        done: bool [B].
    """

    def __init__(self, count: int, lengths: NDArray[np.int64], options: SearchOptions) -> None:
        beams = options.beam_size
        self.options = options
        self.steps = 0
        self.rows = np.arange(count)
        self.limits = np.array([options.limit(int(length)) for length in lengths], np.int64)
        self.sums = np.full((count, beams), -np.inf, np.float32)
        self.sums[:, 0] = 0.0
        self.last = np.full((count, beams), START_ID, np.int32)
        self.history = np.zeros((count, beams, 0), np.int32)
        self.lineage = np.zeros((count, beams, 0), np.bool_)
        self.finished = np.zeros(count, np.int64)
        self.done = np.zeros(count, np.bool_)
        self.best: list[Hypothesis | None] = [None] * count

    def all_done(self) -> bool:
        return bool(self.done.all())

    def ancestry(self) -> NDArray[np.bool_]:
        """The lineage with the column of the token about to be read, [B, K, (t + 1) * K]."""
        count, beams = self.sums.shape
        own = np.broadcast_to(np.eye(beams, dtype=np.bool_), (count, beams, beams))
        self.lineage = np.concatenate([self.lineage, own], axis=2)
        return self.lineage

    def extend(self, candidates: Candidates) -> None:
        """Fill the free slots with the best candidates and close what is finished."""
        self.steps += 1
        parents, tokens, sums = _rank(self.sums, candidates)
        count, beams = sums.shape
        # Finished hypotheses hold slots, so only the best (K - finished) candidates count.
        sums[np.arange(beams)[None, :] >= (beams - self.finished)[:, None]] = -np.inf
        ends = (tokens == END_ID) & (sums > -np.inf)
        ends[self.done] = False
        self._finish(np.argwhere(ends), parents, sums)
        self.finished += ends.sum(axis=1)
        sums[ends] = -np.inf

        pick = np.arange(count)[:, None]
        self.history = np.concatenate([self.history[pick, parents], tokens[..., None]], axis=2)
        self.lineage = self.lineage[pick, parents]
        self.last, self.sums = tokens, sums
        self._close()

    def _finish(
        self, ends: NDArray[np.int64], parents: NDArray[np.int64], sums: NDArray[np.float32]
    ) -> None:
        """Remember each newly finished hypothesis that beats its sentence's best."""
        for sentence, slot in ends:
            score = float(sums[sentence, slot]) / float(
                penalty(self.steps, self.options.length_penalty)
            )
            best = self.best[self.rows[sentence]]
            if best is None or score > best.score:
                ids = self.history[sentence, parents[sentence, slot]].tolist()
                self.best[self.rows[sentence]] = Hypothesis(ids, score)

    def _close(self) -> None:
        """Mark the sentences that nothing can improve, and take what is there at the limit."""
        open_best = self.sums.max(axis=1)
        alpha = self.options.length_penalty
        reachable = open_best / penalty(self.limits, alpha)
        for sentence in np.flatnonzero(~self.done):
            best = self.best[self.rows[sentence]]
            at_limit = self.steps >= self.limits[sentence]
            if best is None and (at_limit or open_best[sentence] == -np.inf):
                slot = int(self.sums[sentence].argmax())
                score = float(open_best[sentence]) / float(penalty(self.steps, alpha))
                best = Hypothesis(self.history[sentence, slot].tolist(), score)
                self.best[self.rows[sentence]] = best
            if best is not None and (at_limit or reachable[sentence] <= best.score):
                self.done[sentence] = True
                self.sums[sentence] = -np.inf

    def worth_keeping(self) -> NDArray[np.int64] | None:
        """The sentences to go on with, when enough of the batch is done; else None."""
        done = int(self.done.sum())
        if done < max(1, math.ceil(DONE_SHARE * len(self.done))) or self.all_done():
            return None
        return np.flatnonzero(~self.done)

    def select(self, keep: NDArray[np.int64]) -> None:
        """Go on with these sentences alone."""
        for name in ("rows", "limits", "sums", "last", "history", "lineage", "finished", "done"):
            setattr(self, name, getattr(self, name)[keep])

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
    # lexsort's last key is the first to decide; it is stable, so that equal tokens of
    # equal score keep the order of their beams.
    order = np.lexsort((ids, -totals), axis=-1)[:, :beams]
    parents = order // candidates.ids.shape[2]
    rows = np.arange(count)[:, None]
    return parents, ids[rows, order], totals[rows, order]
