"""The layers of a recurrent encoder-decoder with attention.

Bahdanau et al. 2015 (https://arxiv.org/abs/1409.0473): the decoder's state before a step attends,
and what it finds enters the step. Luong et al. 2015 (https://arxiv.org/abs/1508.04025): the
decoder's output attends, and joins what it finds. Either way the two become an attentional
vector, from which the next token is predicted (Luong, equation 5) and which, with input feeding,
enters the next step too (section 3.3).

Shapes: B sentences, S source positions, T target positions, K beams, d width.
"""

from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

from nmt_cli.model.configured import ConfiguredLayer
from nmt_cli.model.rnn import STATES, RecurrentConfig, cell_states

CELLS = {"lstm": keras.layers.LSTMCell, "gru": keras.layers.GRUCell}
_LAYERS = {"lstm": keras.layers.LSTM, "gru": keras.layers.GRU}


def encoder_layer(config: RecurrentConfig, name: str) -> keras.layers.Layer:
    """A layer of the encoder: [B, S, d] to [B, S, d] and the last states of its directions.

    Each direction has half the width. cuDNN would not do: it takes no row of padding alone, as
    batches have them, and leaves its operators in a SavedModel.
    """
    forward = _LAYERS[config.encoder_cell](
        config.d_model // 2,
        return_sequences=True,
        return_state=True,
        use_cudnn=False,
        name="recurrent",
    )
    return keras.layers.Bidirectional(forward, name=name)


def summary_of(states: Sequence[Any]) -> Any:
    """Last hidden states of both directions, side by side, [B, d]; of an encoder layer's
    ``states``, a direction's behind the other's."""
    return ops.concatenate([states[0], states[len(states) // 2]], axis=-1)


def seen_tokens(mask: Any) -> Any:
    """Keras' own kind of mask, bool [B, S], of an additive one [B, 1, 1, S]."""
    return ops.equal(ops.squeeze(mask, (1, 2)), 0.0)


@keras.saving.register_keras_serializable("nmt")
class RecurrentDecoder(ConfiguredLayer):
    """The decoder between embeddings and softmax."""

    config: RecurrentConfig

    def __init__(self, config: RecurrentConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.additive = config.attention in ("luong-concat", "bahdanau")
        self.attends_before = config.attention == "bahdanau"

    def build(self, *inputs_shape: Any) -> None:
        """Make cells, attention and the dense layers between them."""
        width, config = self.config.d_model, self.config
        entering = width * (1 + config.input_feeding + self.attends_before)
        self.cells = []
        for layer in range(config.decoder_layers):
            cell = CELLS[config.decoder_cell](width, dtype=self.dtype_policy, name=f"cell_{layer}")
            cell.build((None, width if layer else entering))
            self.cells.append(cell)
        self.bridges = [
            self._dense(width, f"first_{name}", activation="tanh", bias=True)
            for name in cell_states(config)
        ]
        self.keys = None
        if config.attention != "luong-dot":
            self.keys = self._dense(width, "keys")
        if self.additive:
            self.query = self._dense(width, "query")
            self.energy = self._dense(width, "energy", outputs=1)
        self.combine = self._dense(2 * width, "combine", activation="tanh")

    def _dense(
        self,
        inputs: int,
        name: str,
        outputs: int | None = None,
        activation: str | None = None,
        bias: bool = False,
    ) -> keras.layers.Dense:
        layer = keras.layers.Dense(
            outputs or self.config.d_model,
            activation=activation,
            use_bias=bias,
            dtype=self.dtype_policy,
            name=name,
        )
        layer.build((None, inputs))
        return layer

    def call(
        self, x: Any, encoder_output: Any, summary: Any, mask: Any, training: bool = False
    ) -> Any:
        """Embedded targets [B, T, d] to attentional vectors [B, T, d].

        Args:
            x: the token before each position.
            encoder_output: the encoder's output [B, S, d].
            summary: its last states, [B, d].
            mask: additive [B, 1, 1, S].
            training: whether to drop.
        """
        keys, values = self.project(encoder_output)

        def attend(query: Any) -> Any:
            return self.attend(query, 1, keys, values, mask)

        # One tensor: Keras' scan on TensorFlow takes no several of unknown length.
        inputs = [x, *self._gaps(x, training)]
        over_time = ops.transpose(ops.concatenate(inputs, axis=-1), (1, 0, 2))

        def step(before: list[Any], joined: Any) -> tuple[list[Any], list[Any]]:
            embedded, *gaps = ops.split(joined, len(inputs), axis=-1)
            attended, states = self.advance(embedded, before[:-1], before[-1], attend, gaps)
            return [*states, attended], [*states, attended]

        start = [*self.first(summary), ops.zeros_like(summary)]
        _, states = ops.scan(step, start, over_time)  # each [T, B, d]
        return ops.transpose(states[-1], (1, 0, 2))

    def _gaps(self, x: Any, training: bool) -> list[Any]:
        """What to multiply the input of each cell but the first with, [B, T, d]; none if there
        is nothing to drop. Drawn ahead: random states do not go through a scan."""
        if not (training and self.config.dropout):
            return []
        return [self.drop(ops.ones_like(x), training=True) for _ in self.cells[1:]]

    def project(self, encoder_output: Any) -> tuple[Any, Any]:
        """Keys and values [B, 1, S, d] of encoder_output [B, S, d]: once a sentence."""
        keys = self.keys(encoder_output) if self.keys else encoder_output
        return ops.expand_dims(keys, 1), ops.expand_dims(encoder_output, 1)

    def first(self, summary: Any) -> list[Any]:
        """The cells' states before the first step, each [B, d]."""
        return [bridge(summary) for bridge in self.bridges]

    def advance(
        self,
        x: Any,
        states: list[Any],
        attended: Any,
        attend: Callable[[Any], Any],
        gaps: Sequence[Any] = (),
    ) -> tuple[Any, list[Any]]:
        """One step of N rows.

        Args:
            x: embedded tokens [N, d].
            states: of the cells, each [N, d].
            attended: the attentional vectors of the step before [N, d]; read with input
                feeding alone.
            attend: maps queries [N, d] to weighted sums of the encoder's output, [N, d].
            gaps: what the input of each cell but the first is multiplied with.

        Returns:
            New attentional vectors and states.
        """
        size = len(STATES[self.config.decoder_cell])
        entering = [x, attended] if self.config.input_feeding else [x]
        found = None
        if self.attends_before:
            found = attend(states[-size])  # the topmost hidden state
            entering.append(found)
        x = ops.concatenate(entering, axis=-1)
        after: list[Any] = []
        for layer, cell in enumerate(self.cells):
            if layer and gaps:
                x = x * gaps[layer - 1]
            x, own = cell(x, states[layer * size : (layer + 1) * size])
            after.extend(own)
        if found is None:
            found = attend(x)
        return self.combine(ops.concatenate([found, x], axis=-1)), after

    def attend(self, rows: Any, beams: Any, keys: Any, values: Any, mask: Any) -> Any:
        """Rows [B * K, d] over projected encoder_output to [B * K, d]; ``mask`` broadcasts to
        [B, 1, K, S]."""
        weights = ops.cast(self.weights_of(rows, beams, keys, mask), values.dtype)
        return ops.reshape(ops.matmul(weights, values), (-1, self.config.d_model))

    def weights_of(self, rows: Any, beams: Any, keys: Any, mask: Any) -> Any:
        """Attention weights of rows [B * K, d] over keys [B, 1, S, d]: float32 [B, 1, K, S].

        Scores are Luong's dot, general and concat (section 3.1), Bahdanau's additive one
        (section A.1.2). What they multiply encoder_output with is in the keys already.
        """
        query = self.query(rows) if self.additive else rows
        query = ops.reshape(query, (-1, 1, beams, self.config.d_model))
        if self.additive:
            sums = ops.expand_dims(query, 3) + ops.expand_dims(keys, 2)  # [B, 1, K, S, d]
            scores = ops.squeeze(self.energy(ops.tanh(sums)), -1)
        else:
            scores = ops.matmul(query, ops.transpose(keys, (0, 1, 3, 2)))
        return ops.softmax(ops.cast(scores + mask, "float32"), axis=-1)
