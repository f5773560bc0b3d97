"""The simpler simple recurrent unit (SSRU), a decoder's replacement for self-attention.

Kim et al. 2019, "From Research to Production and Back: Ludicrously Fast Neural Machine Translation"
(https://aclanthology.org/D19-5632):

    f_t = sigmoid(W_f x_t + b_f)
    c_t = f_t * c_{t-1} + (1 - f_t) * W x_t
    h_t = max(0, c_t)

All products with matrices are of inputs, so they are computed for a whole sequence at once, and a
step costs the same at any position. As in Marian, no projection of the output follows.

Shapes: B sentences, T positions, K beams, P columns cached so far, d width.
"""

import math
from typing import Any

import keras
from keras import ops

from nmt_cli.model.step_graph import Parents


class SSRU(keras.layers.Layer):
    """Maps a sequence to its states; both matrices are one, the forget gate's columns first."""

    def build(self, inputs_shape: Any) -> None:
        """Create the matrices [d, 2d], each with Glorot's limit, and the gate's bias [d]."""
        width = inputs_shape[-1]
        limit = math.sqrt(3.0 / width)
        self.matrices = keras.layers.Dense(
            2 * width,
            kernel_initializer=keras.initializers.RandomUniform(-limit, limit),
            use_bias=False,
            dtype=self.dtype_policy,
            name="forget_input",
        )
        self.matrices.build(inputs_shape)
        self.bias = self.add_weight(name="forget_bias", shape=(width,), initializer="zeros")

    def call(self, inputs: Any, mask: Any = None, training: bool = False) -> Any:
        """Map [B, T, d] to [B, T, d]; no mask is needed, since a state knows no later token."""
        forget, added = self._forget_and_added(inputs)
        # In float32: a state sums changes of a whole sequence. One tensor: on TensorFlow, Keras'
        # scan does not accept several of unknown length, and its associative_scan none.
        both = ops.cast(ops.concatenate([forget, (1.0 - forget) * added], axis=-1), "float32")
        over_time = ops.transpose(both, (1, 0, 2))  # [T, B, 2d]

        def step(state: Any, changes: Any) -> tuple[Any, Any]:
            kept, new = ops.split(changes, 2, axis=-1)
            state = kept * state + new
            return state, state

        start = ops.zeros_like(both[:, 0, : inputs.shape[-1]])
        _, states = ops.scan(step, start, over_time)
        return ops.relu(ops.cast(ops.transpose(states, (1, 0, 2)), self.compute_dtype))

    def step(self, rows: Any, beams: Any, states: Any, parents: Parents) -> tuple[Any, Any]:
        """Process one step of K beams, rows [B * K, d]; also return the cache of states,
        [B, 1, P, d], with K more columns. ``parents`` finds each beam's last state."""
        forget, added = self._forget_and_added(rows)
        width = rows.shape[-1]
        state = added + forget * (parents.rows(states) - added)
        columns = ops.reshape(state, (-1, 1, beams, width))
        return ops.relu(state), ops.concatenate([states, columns], axis=2)

    def _forget_and_added(self, inputs: Any) -> list[Any]:
        """Return the forget gate and ``W x``, of the inputs' shape."""
        # A bias for both, so that exports fuse it with the product.
        bias = ops.pad(ops.cast(self.bias, self.compute_dtype), ((0, inputs.shape[-1]),))
        forget, added = ops.split(self.matrices(inputs) + bias, 2, axis=-1)
        return [ops.sigmoid(forget), added]
