"""Several models as one, with averaged probabilities."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.forced import aligning_layer
from nmt_cli.search.hypotheses import top_candidates
from nmt_cli.search.step_model import Candidates, Floats, Ids, Mask, StepModel


class EnsembleStepModel:
    """A StepModel of two or more with the same vocabularies."""

    def __init__(self, models: Sequence[StepModel]) -> None:
        self._models = list(models)

    def encode(self, source: Ids) -> list[Any]:
        """Return the state of each model."""
        return [model.encode(source) for model in self._models]

    def step(self, states: list[Any], tokens: Ids, ancestry: Mask) -> tuple[Candidates, list[Any]]:
        """Rank continuations by the averaged probabilities."""
        log_probs, states = self.log_probs(states, tokens, ancestry)
        return top_candidates(log_probs, tokens.shape[1]), states

    def log_probs(self, states: list[Any], tokens: Ids, ancestry: Mask) -> tuple[Floats, list[Any]]:
        """Return logarithms of the mean probabilities."""
        pairs = zip(self._models, states, strict=True)
        outputs = [model.log_probs(state, tokens, ancestry) for model, state in pairs]
        log_probs, new_states = zip(*outputs, strict=True)
        mean = reduce(np.logaddexp, log_probs) - np.float32(np.log(len(outputs)))
        return mean, list(new_states)

    def attention(self, states: list[Any], tokens: Ids, ancestry: Mask) -> Floats:
        """Return the mean of the models' aligning layers, as one layer of one head."""
        pairs = zip(self._models, states, strict=True)
        layers = [
            aligning_layer(model.attention(state, tokens, ancestry)) for model, state in pairs
        ]
        return np.mean(layers, axis=0)[:, None, None]

    def self_attention(self, source: Ids, target: Ids) -> dict[str, Floats]:
        """Return nothing: the models' layers have nothing in common."""
        return {}

    def select(self, states: list[Any], rows: NDArray[np.int64]) -> list[Any]:
        """Return the state of these sentences only."""
        pairs = zip(self._models, states, strict=True)
        return [model.select(state, rows) for model, state in pairs]
