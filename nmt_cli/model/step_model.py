"""The step model of a Keras model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from nmt_cli.model import step_graph_of
from nmt_cli.model.step_graph import Tensors, free_axes
from nmt_cli.search.step_model import Candidates, Floats, Head, Ids, Mask


@dataclass(frozen=True)
class KerasState:
    """Encoder output, decoder caches and the number of steps so far."""

    encoder_output: Tensors
    caches: Tensors
    steps: int


class KerasStepModel:
    """Runs a training model's step graphs on the Keras backend, with its current weights."""

    alignment_heads: Sequence[Head] = ()

    def __init__(self, model: keras.Model) -> None:
        self.graph = step_graph_of(model)
        if keras.backend.backend() == "tensorflow":
            self._trace()
        else:
            self._compile()

    def _trace(self) -> None:
        """Let TensorFlow trace each function once, for all shapes."""
        import tensorflow as tf

        graph = self.graph
        ids = tf.TensorSpec([None, None], tf.int32)
        encoder_output, caches = (
            [tf.TensorSpec(free_axes(shape), tf.float32) for shape in shapes.values()]
            for shapes in (graph.encoder_output, graph.caches)
        )
        step = [
            ids,
            tf.TensorSpec([1], tf.int32),
            tf.TensorSpec([None, None, None], tf.bool),
            encoder_output,
            caches,
        ]
        self._encode = tf.function(graph.encode, input_signature=[ids], autograph=False)
        self._step = tf.function(graph.step, input_signature=step, autograph=False)
        self._attention = tf.function(graph.step_attention, input_signature=step, autograph=False)

    def _compile(self) -> None:
        """Let JAX, which has no free axes, compile each function for few shapes.

        Rows and cached columns are padded to powers of two; the state on the host is not.
        """
        encode, step = self._compiled(self.graph.encode), self._compiled(self.graph.step)

        def encode_filled(source: Any) -> Tensors:
            outputs = encode(_filled(np.asarray(source), 0))
            return [tensor[: len(source)] for tensor in outputs]

        def step_filled(
            tokens: Any, position: Any, ancestry: Any, encoder_output: Tensors, caches: Tensors
        ) -> tuple[Any, Any, Any, Tensors]:
            rows, columns = len(tokens), caches[0].shape[2]
            past, current = np.split(np.asarray(ancestry), [columns], axis=2)
            past = _filled(past, 2)  # no beam sees the padding
            width = past.shape[2]
            *ranked, grown = step(
                _filled(np.asarray(tokens), 0),
                np.asarray(position),
                _filled(np.concatenate([past, current], axis=2), 0),
                [_filled(np.asarray(tensor), 0) for tensor in encoder_output],
                [_filled(_filled(np.asarray(cache), 2), 0) for cache in caches],
            )
            scores, ids, log_probs = (tensor[:rows] for tensor in ranked)
            pairs = zip(caches, grown, strict=True)
            caches = [
                np.concatenate([np.asarray(cache), wider[:rows, :, width:]], axis=2)
                for cache, wider in pairs
            ]
            return scores, ids, log_probs, caches

        self._encode, self._step = encode_filled, step_filled
        self._attention = self.graph.step_attention

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Compile a function that uses the model's current weights and returns numpy arrays."""
        import jax

        variables = self.graph.model.variables

        @jax.jit
        def stateless(values: Tensors, inputs: tuple[Any, ...]) -> Any:
            with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
                return function(*inputs)

        def compiled(*inputs: Any) -> Any:
            return jax.device_get(stateless([variable.value for variable in variables], inputs))

        return compiled

    def encode(self, source: Ids) -> KerasState:
        """Read source ids [B, S]."""
        caches = [
            ops.convert_to_tensor(np.zeros((len(source), heads, 0, size), np.float32))
            for _, heads, _, size in self.graph.caches.values()
        ]
        return KerasState(list(self._encode(ops.convert_to_tensor(source))), caches, 0)

    def step(self, state: KerasState, tokens: Ids, ancestry: Mask) -> tuple[Candidates, KerasState]:
        """Read one token per beam; see search.step_model."""
        candidates, _, state = self._advance(state, tokens, ancestry)
        return candidates, state

    def log_probs(
        self, state: KerasState, tokens: Ids, ancestry: Mask
    ) -> tuple[Floats, KerasState]:
        """Like :meth:`step`, but return all log-probabilities, float32 [B, K, V]."""
        _, log_probs, state = self._advance(state, tokens, ancestry)
        return np.array(ops.convert_to_numpy(log_probs)), state  # a copy that the caller may change

    def attention(self, state: KerasState, tokens: Ids, ancestry: Mask) -> Floats:
        """Return the attention of the next step to the source; see search.step_model."""
        weights, _ = self._attention(*_inputs(state, tokens, ancestry))
        return ops.convert_to_numpy(weights)

    def self_attention(self, source: Ids, target: Ids) -> dict[str, Floats]:
        """Return the self-attention of both sides; see search.step_model."""
        sides = self.graph.config.self_attention()
        weights = self.graph.self_attention(source, target)
        return dict(zip(sides, map(ops.convert_to_numpy, weights), strict=True))

    def _advance(
        self, state: KerasState, tokens: Ids, ancestry: Mask
    ) -> tuple[Candidates, Any, KerasState]:
        scores, ids, log_probs, caches = self._step(*_inputs(state, tokens, ancestry))
        candidates = Candidates(ops.convert_to_numpy(scores), ops.convert_to_numpy(ids))
        after = KerasState(state.encoder_output, list(caches), state.steps + 1)
        return candidates, log_probs, after

    def select(self, state: KerasState, rows: NDArray[np.int64]) -> KerasState:
        """Return the state of some of the sentences."""

        def chosen(tensors: Tensors) -> Tensors:
            if keras.backend.backend() == "jax":  # ops.take would compile for every shape
                return [np.asarray(tensor)[rows] for tensor in tensors]
            return [ops.take(tensor, rows.astype(np.int32), axis=0) for tensor in tensors]

        return KerasState(chosen(state.encoder_output), chosen(state.caches), state.steps)


def _inputs(
    state: KerasState, tokens: Ids, ancestry: Mask
) -> tuple[Any, Any, Any, Tensors, Tensors]:
    """Return the arguments of :meth:`StepGraph.step`."""
    arrays = (tokens, np.array([state.steps], np.int32), ancestry)
    tokens, position, ancestry = map(ops.convert_to_tensor, arrays)
    return tokens, position, ancestry, state.encoder_output, state.caches


def _filled(array: NDArray[Any], axis: int) -> NDArray[Any]:
    """Pad an axis with zeros to the next power of two, at least 8."""
    length = array.shape[axis]
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, max(8, 1 << (length - 1).bit_length() if length else 0) - length)
    return np.pad(array, widths)
