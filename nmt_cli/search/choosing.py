"""Choose continuations under processors, constraints and sampling.

B sentences still in the batch, K beams, V vocabulary, T tokens so far.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.constraints import constrained_best
from nmt_cli.search.options import Request, SearchOptions
from nmt_cli.search.processors import Processor
from nmt_cli.search.ranking import Continuations, best, sampled, top_candidates


class Chooser:
    """Chooses the continuations of a batch.

    Args:
        options: of the search.
        requests: of each sentence, [B].
        processors: see search.processors.
    """

    def __init__(
        self,
        options: SearchOptions,
        requests: Sequence[Request],
        processors: Sequence[Processor],
    ) -> None:
        self._options = options
        self._requests = list(requests)
        self._processors = processors
        self._generators: list[np.random.Generator] = []  # of each sentence, for sampling
        if options.sample:
            seed = options.seed or 0
            self._generators = [np.random.default_rng((seed, each.number)) for each in requests]

    def select(self, rows: NDArray[np.int64]) -> None:
        """Keep only these sentences."""
        self._requests = [self._requests[row] for row in rows]
        if self._generators:
            self._generators = [self._generators[row] for row in rows]

    def choose(
        self,
        sums: NDArray[np.float32],
        log_probs: NDArray[np.float32],
        past: NDArray[np.int32],
        finished: NDArray[np.int64],
        limits: NDArray[np.int64],
    ) -> Continuations:
        """Choose the continuation of each slot.

        Args:
            sums: [B, K], -inf where a beam is closed.
            log_probs: [B, K, V], changed in place.
            past: [B, K, T], without START.
            finished: [B], slots held by finished hypotheses.
            limits: [B], the most tokens of each translation.
        """
        step = past.shape[2]
        # Processors must not forbid what a sentence must contain.
        free = {
            row: log_probs[row].copy()
            for row, each in enumerate(self._requests)
            if each.phrases or step < len(each.prefix)
        }
        for process in self._processors:
            process(log_probs, past)
        for row, each in enumerate(self._requests):
            if step < len(each.prefix):
                token = each.prefix[step]
                log_probs[row] = -np.inf
                log_probs[row, :, token] = free.pop(row)[:, token]
        if self._options.sample:
            return sampled(sums, log_probs, self._generators, self._options)
        chosen = best(sums, top_candidates(log_probs, sums.shape[1]))
        for row, unruled in free.items():
            found = constrained_best(
                sums[row],
                log_probs[row],
                unruled,
                past[row],
                self._requests[row].phrases,
                slots=sums.shape[1] - int(finished[row]),
                last=step + 1 >= limits[row],
            )
            chosen.sums[row] = -np.inf
            for slot, (negative, token, beam) in enumerate(found):
                chosen.sums[row, slot] = -negative
                chosen.tokens[row, slot] = token
                chosen.parents[row, slot] = beam
        return chosen
