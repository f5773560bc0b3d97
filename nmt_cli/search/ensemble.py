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
        """The state of each model."""
        return [model.encode(source) for model in self._models]

    def step(self, state: list[Any], tokens: Ids, ancestry: Mask) -> tuple[Candidates, list[Any]]:
        """The best continuations by the averaged probabilities."""
        log_probs, state = self.log_probs(state, tokens, ancestry)
        return top_candidates(log_probs, tokens.shape[1]), state

    def log_probs(self, state: list[Any], tokens: Ids, ancestry: Mask) -> tuple[Floats, list[Any]]:
        """Logarithms of the mean probabilities."""
        pairs = zip(self._models, state, strict=True)
        found = [model.log_probs(each, tokens, ancestry) for model, each in pairs]
        log_probs, states = zip(*found, strict=True)
        return reduce(np.logaddexp, log_probs) - np.float32(np.log(len(found))), list(states)

    def attention(self, state: list[Any], tokens: Ids, ancestry: Mask) -> Floats:
        """The mean of the models' aligning layers, as one layer of one head."""
        pairs = zip(self._models, state, strict=True)
        found = [aligning_layer(model.attention(each, tokens, ancestry)) for model, each in pairs]
        return np.mean(found, axis=0)[:, None, None]

    def self_attention(self, source: Ids, target: Ids) -> dict[str, Floats]:
        """None: the models' layers have nothing in common."""
        return {}

    def select(self, state: list[Any], rows: NDArray[np.int64]) -> list[Any]:
        """The state of these sentences only."""
        pairs = zip(self._models, state, strict=True)
        return [model.select(each, rows) for model, each in pairs]
