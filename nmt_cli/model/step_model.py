"""The step contract over a Keras model."""

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from nmt_cli.model.step_graph import StepGraph
from nmt_cli.search.step_model import Candidates


@dataclass(frozen=True)
class KerasState:
    """Encoder output, decoder caches and the number of steps taken."""

    encoded: list[Any]
    caches: list[Any]
    steps: int


class KerasStepModel:
    """Runs a model's step graphs on the Keras backend (search.step_model.StepModel).

    Args:
        model: a training model; its weights are used as they are at each call.
    """

    def __init__(self, model: keras.Model) -> None:
        self.graph = StepGraph(model)
        self._encode = self.graph.encode
        self._step = self.graph.step
        if keras.backend.backend() == "tensorflow":
            self._trace()

    def _trace(self) -> None:
        """Let TensorFlow trace each function once, for every shape."""
        import tensorflow as tf

        graph = self.graph
        ids = tf.TensorSpec([None, None], tf.int32)
        cache = tf.TensorSpec([None, graph.heads, None, graph.key_size], tf.float32)
        mask = tf.TensorSpec([None, 1, 1, None], tf.float32)
        caches = [cache] * (2 * graph.depth)
        self._encode = tf.function(graph.encode, input_signature=[ids], autograph=False)
        self._step = tf.function(
            graph.step,
            autograph=False,
            input_signature=[
                ids,
                tf.TensorSpec([1], tf.int32),
                tf.TensorSpec([None, None, None], tf.bool),
                [mask, *caches],
                caches,
            ],
        )

    def encode(self, source: NDArray[np.int32]) -> KerasState:
        """Read source ids [B, S]."""
        empty = np.zeros((len(source), self.graph.heads, 0, self.graph.key_size), np.float32)
        caches = [ops.convert_to_tensor(empty)] * (2 * self.graph.depth)
        return KerasState(list(self._encode(ops.convert_to_tensor(source))), caches, 0)

    def step(
        self, state: KerasState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> tuple[Candidates, KerasState]:
        """Read one token a beam; see search.step_model."""
        candidates, _, state = self._advance(state, tokens, ancestry)
        return candidates, state

    def log_probs(
        self, state: KerasState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], KerasState]:
        """As :meth:`step`, but all log-probabilities, float32 [B, K, V]."""
        _, log_probs, state = self._advance(state, tokens, ancestry)
        return ops.convert_to_numpy(log_probs), state

    def _advance(
        self, state: KerasState, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> tuple[Candidates, Any, KerasState]:
        scores, ids, log_probs, caches = self._step(
            ops.convert_to_tensor(tokens),
            ops.convert_to_tensor(np.array([state.steps], np.int32)),
            ops.convert_to_tensor(ancestry),
            state.encoded,
            state.caches,
        )
        candidates = Candidates(ops.convert_to_numpy(scores), ops.convert_to_numpy(ids))
        return candidates, log_probs, KerasState(state.encoded, list(caches), state.steps + 1)

    def select(self, state: KerasState, rows: NDArray[np.int64]) -> KerasState:
        """The state of some sentences alone."""
        chosen = ops.convert_to_tensor(rows.astype(np.int32))
        return KerasState(
            [ops.take(each, chosen, axis=0) for each in state.encoded],
            [ops.take(each, chosen, axis=0) for each in state.caches],
            state.steps,
        )
