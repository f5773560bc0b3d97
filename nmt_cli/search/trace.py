"""A record of a beam search: what each beam could become, what was chosen, and why it stopped."""

from dataclasses import dataclass, field

import numpy as np

from nmt_cli.search.beam import Beams
from nmt_cli.search.hypotheses import Continuations, coverage_penalty, penalty
from nmt_cli.search.step_model import Candidates, Ids
from nmt_cli.text.tokenizer import END_ID, PAD_ID, TokenizerPair


@dataclass(frozen=True)
class Candidate:
    """A token that may follow a beam, and the number of the beam that it becomes, if any.
    ``total`` is the log-probability of the beam's tokens and this one."""

    token: str
    log_prob: float
    total: float
    beam: int | None


@dataclass(frozen=True)
class Beam:
    """An open beam before a step; beams are numbered from 1."""

    number: int
    tokens: list[str]
    total: float
    candidates: list[Candidate]


@dataclass(frozen=True)
class Finished:
    """A beam that ended; its score is ``total / length_penalty``, plus a coverage penalty."""

    beam: int
    tokens: list[str]
    total: float
    length_penalty: float
    score: float


@dataclass(frozen=True)
class Step:
    """The open beams before a step, and those that it finished."""

    beams: list[Beam]
    finished: list[Finished]


@dataclass
class Search:
    """The source's tokens, the steps of its search, and why there were no more."""

    source: list[str]
    steps: list[Step] = field(default_factory=list)
    stopped: str = ""


class Trace:
    """Records searches of one sentence each."""

    def __init__(self, tokenizers: TokenizerPair) -> None:
        self.searches: list[Search] = []
        self._tokenizers = tokenizers

    def begin(self, source: Ids) -> None:
        """Record the source, [1, S], of a search that begins."""
        ids = source[source != PAD_ID].tolist()
        self.searches.append(Search(self._tokenizers.source.tokens(ids)))

    def step(self, beams: Beams, candidates: Candidates, chosen: Continuations) -> None:
        """Record a step before the beams make it; finished beams keep the last slots."""
        free = chosen.sums.shape[1] - int(beams.finished[0])
        parents, tokens = chosen.parents[0, :free].tolist(), chosen.tokens[0, :free].tolist()
        numbers = {
            continuation: number
            for number, continuation in enumerate(zip(parents, tokens, strict=True), start=1)
            if chosen.sums[0, number - 1] > -np.inf
        }
        names = self._tokenizers.target.tokens
        histories = [names(ids) for ids in beams.history()[0].tolist()]
        before = []
        for slot, total in enumerate(beams.sums[0].tolist()):
            if total == -np.inf:
                continue
            ids, log_probs = candidates.ids[0, slot].tolist(), candidates.scores[0, slot].tolist()
            following = [
                Candidate(name, log_prob, total + log_prob, numbers.get((slot, token)))
                for name, token, log_prob in zip(names(ids), ids, log_probs, strict=True)
            ]
            before.append(Beam(slot + 1, histories[slot], total, following))
        finished = []
        divisor = float(penalty(beams.steps + 1, beams.options.length_penalty))
        for (parent, token), number in numbers.items():
            if token == END_ID:
                total = float(chosen.sums[0, number - 1])
                score = total / divisor
                if beams.coverage is not None:
                    covered = beams.coverage[0, parent]
                    score += coverage_penalty(covered, beams.options.coverage_penalty)
                finished.append(Finished(number, histories[parent], total, divisor, score))
        self.searches[-1].steps.append(Step(before, finished))

    def end(self, beams: Beams) -> None:
        """Record why the search stopped, after its last step."""
        last = self.searches[-1].steps[-1]
        ended = {None, *(finished.beam for finished in last.finished)}
        candidates = [candidate for beam in last.beams for candidate in beam.candidates]
        open_totals = [candidate.total for candidate in candidates if candidate.beam not in ended]
        threshold, max_penalty = float(beams.thresholds[0]), float(beams.max_penalty[0])
        if not open_totals:
            reason = "every beam has finished"
        elif (best := max(open_totals) / max_penalty) <= threshold:
            reason = (
                f"no open beam can score better than {threshold:.3f}: with certain tokens up to "
                f"the maximum length, the best would reach {best:.3f}"
            )
        else:
            reason = f"the maximum length, {beams.limits[0]} tokens, is reached"
        self.searches[-1].stopped = reason
