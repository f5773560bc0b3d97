"""Masks, embeddings, positions, normalization and feed-forward, written with keras.ops only.

Shapes: B batch, T positions, d model width, V vocabulary, S source positions.

Keras writes the arguments of simple layers to .keras files by itself, and their names only if the
further arguments are called ``kwargs``.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Self

import keras
from keras import ops

from nmt_cli.recipe.model import ARCHITECTURES, SUPPRESSED, ModelConfig
from nmt_cli.text.tokenizer import PAD_ID, START_ID

# Added to attention scores of hidden positions. Finite, so that a row of nothing but padding
# does not become NaN, and within the range of float16.
MASKED = -3e4


def padding_mask(ids: Any, dtype: str, pad_ids: Sequence[int] = (PAD_ID,)) -> Any:
    """Return the additive mask [B, 1, 1, S] of ids [B, S]: 0 at tokens, MASKED at pad symbols."""
    hidden = ops.equal(ids, pad_ids[0])
    for symbol in pad_ids[1:]:
        hidden = ops.logical_or(hidden, ops.equal(ids, symbol))
    return ops.expand_dims(ops.expand_dims(ops.cast(hidden, dtype) * MASKED, 1), 1)


def causal_mask(length: Any, dtype: str) -> Any:
    """Return the additive mask [1, 1, T, T]: 0 on and below the diagonal, MASKED above."""
    positions = ops.arange(length)
    later = ops.expand_dims(positions, 0) > ops.expand_dims(positions, 1)
    return ops.expand_dims(ops.expand_dims(ops.cast(later, dtype) * MASKED, 0), 0)


def target_mask(ids: Any, dtype: str, pad_ids: Sequence[int] = (PAD_ID,)) -> Any:
    """Return the additive mask [B, 1, T, T]: MASKED at later positions and at pad symbols."""
    later = causal_mask(ops.shape(ids)[1], dtype)
    return ops.minimum(later, padding_mask(ids, dtype, pad_ids))


class SameShape(keras.layers.Layer):
    """Base of layers whose output has the shape of their first input.

    Otherwise Keras traces each of them to find the shape: most of the time of building a model.
    """

    def compute_output_spec(self, inputs: Any, *others: Any, **options: Any) -> Any:
        """Return the shape and dtype of the output."""
        return keras.KerasTensor(inputs.shape, self.compute_dtype)


class Configured(SameShape):
    """Base of layers that the [model] table of a recipe describes."""

    def __init__(self, config: ModelConfig, **options: Any) -> None:
        super().__init__(**options)
        self.config: Any = config

    def get_config(self) -> dict[str, Any]:
        """Return what :meth:`from_config` needs, for .keras files."""
        return {**super().get_config(), "config": asdict(self.config)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Return the layer of a .keras file."""
        options = keras.saving.deserialize_keras_object(config)
        settings = options.pop("config")
        return cls(ARCHITECTURES[settings.pop("architecture")](**settings), **options)


@keras.saving.register_keras_serializable("nmt_cli")
class PaddingMask(keras.layers.Layer):
    """Computes the additive mask [B, 1, 1, S] of ids [B, S]; attention does not see pad_ids."""

    def __init__(self, pad_ids: Sequence[int] = (PAD_ID,), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pad_ids = tuple(pad_ids)

    def call(self, ids: Any) -> Any:
        """:func:`padding_mask`."""
        return padding_mask(ids, self.compute_dtype, self.pad_ids)


@keras.saving.register_keras_serializable("nmt_cli")
class TargetMask(PaddingMask):
    """Computes the additive mask [1 or B, 1, T, T] of target ids [B, T].

    The causal mask hides PAD, which follows a translation, from all tokens. Other pad symbols are
    masked, too.
    """

    def call(self, ids: Any) -> Any:
        """Return :func:`causal_mask`, or :func:`target_mask` if there are other pad symbols."""
        if self.pad_ids == (PAD_ID,):
            return causal_mask(ops.shape(ids)[1], self.compute_dtype)
        return target_mask(ids, self.compute_dtype, self.pad_ids)


@keras.saving.register_keras_serializable("nmt_cli")
class SpecialRows(keras.constraints.Constraint):
    """Sets the rows of PAD and START to a number after each step of training.

    Marian has neither token: its decoder starts from zeros, and no probability is theirs.
    """

    def __init__(self, number: float) -> None:
        self.number = number

    def __call__(self, weight: Any) -> Any:
        """Return the weight with its special rows."""
        ids = ops.reshape(ops.arange(weight.shape[0]), (-1,) + (1,) * (len(weight.shape) - 1))
        special = ops.logical_or(ops.equal(ids, PAD_ID), ops.equal(ids, START_ID))
        number = ops.cast(self.number, weight.dtype)
        return ops.where(special, number, ops.convert_to_tensor(weight))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments, for .keras files."""
        return {"number": self.number}


@keras.saving.register_keras_serializable("nmt_cli")
class TokenEmbedding(keras.layers.Layer):
    """Embeds tokens, by default scaled by sqrt(d) (Vaswani et al. 2017, section 3.4).

    With ``reverse=True`` it is the softmax layer with the same matrix: vectors [B, T, d] or
    [N, d] to logits [B, T, V] or [N, V], with a bias if ``biased``. With ``zero_start``, the
    embedding of START is zero, and neither START nor PAD has a probability.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        scaled: bool = True,
        biased: bool = False,
        zero_start: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.d_model = d_model
        self.scaled = scaled
        self.biased = biased
        self.zero_start = zero_start

    def build(self, inputs_shape: Any) -> None:
        """Create the matrix [V, d], initialized so that scaled vectors have unit variance, and the
        logits' bias [V]."""
        self.matrix = self.add_weight(
            name="matrix",
            shape=(self.vocab_size, self.d_model),
            initializer=keras.initializers.RandomNormal(stddev=self.d_model**-0.5),
            constraint=SpecialRows(0.0) if self.zero_start else None,
        )
        self.bias = None
        if self.biased:
            self.bias = self.add_weight(
                name="bias",
                shape=(self.vocab_size,),
                initializer="zeros",
                constraint=SpecialRows(SUPPRESSED) if self.zero_start else None,
            )

    def call(self, inputs: Any, reverse: bool = False) -> Any:
        """Map ids [...] to vectors [..., d]; in reverse, vectors to logits."""
        matrix = ops.cast(self.matrix, self.compute_dtype)
        if reverse:
            # One product of two axes: with three, TensorFlow takes 1.5 times as long.
            flat = inputs
            if len(inputs.shape) == 3:
                flat = ops.reshape(inputs, (-1, self.d_model))
            logits = ops.matmul(flat, ops.transpose(matrix))
            if self.bias is not None:
                logits = logits + ops.cast(self.bias, self.compute_dtype)
            if len(inputs.shape) == 2:
                return logits
            return ops.reshape(logits, (-1, ops.shape(inputs)[1], self.vocab_size))
        vectors = ops.cast(ops.take(self.matrix, inputs, axis=0), self.compute_dtype)
        return vectors * math.sqrt(self.d_model) if self.scaled else vectors


def sinusoids(positions: Any, d_model: int, interleaved: bool = True, marian: bool = False) -> Any:
    """Return sinusoidal vectors, float32 [T, d], for positions [T].

    ``PE(pos, 2i) = sin(pos / 10000^(2i/d))``, ``PE(pos, 2i+1) = cos(...)`` of the same angle
    (Vaswani et al. 2017, section 3.5); not interleaved, all sines come before all cosines.
    Marian's and tensor2tensor's exponent is ``2i / (d-2)``, so that the last is 1.
    """
    top = max(1, d_model - 2) if marian else d_model
    rates = [10000.0 ** (-2 * i / top) for i in range(d_model // 2)]
    angles = ops.expand_dims(ops.cast(positions, "float32"), 1) * ops.convert_to_tensor([rates])
    if not interleaved:
        return ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=1)
    waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=2)  # [T, d/2, 2]
    return ops.reshape(waves, (-1, d_model))


class _Positions(SameShape, ABC):
    """Adds a vector for each position."""

    def call(self, vectors: Any) -> Any:
        """Add the vectors of positions 0 .. T - 1 to [B, T, d]."""
        table = self.at(ops.arange(ops.shape(vectors)[1]), vectors.shape[-1])
        return vectors + ops.cast(table, vectors.dtype)

    @abstractmethod
    def at(self, positions: Any, d_model: int) -> Any:
        """Return float32 [T, d] for positions [T]."""


@keras.saving.register_keras_serializable("nmt_cli")
class PositionalEncoding(_Positions):
    """Adds :func:`sinusoids`."""

    def __init__(self, interleaved: bool = True, marian: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.interleaved, self.marian = interleaved, marian

    def at(self, positions: Any, d_model: int) -> Any:
        """Return sinusoids."""
        return sinusoids(positions, d_model, self.interleaved, self.marian)


@keras.saving.register_keras_serializable("nmt_cli")
class LearnedPositions(_Positions):
    """Adds a learned vector for each position (Gehring et al. 2017, section 3.1,
    https://arxiv.org/abs/1705.03122). Padding beyond ``length`` shares the last vector."""

    def __init__(self, length: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.length = length

    def build(self, inputs_shape: Any) -> None:
        """Create the table [length, d], initialized like an unscaled embedding."""
        width = inputs_shape[-1]
        self.table = self.add_weight(
            name="table",
            shape=(self.length, width),
            initializer=keras.initializers.RandomNormal(stddev=width**-0.5),
        )

    def at(self, positions: Any, d_model: int) -> Any:
        """Return rows of the table."""
        return ops.take(self.table, ops.minimum(positions, self.length - 1), axis=0)


@keras.saving.register_keras_serializable("nmt_cli")
class LayerNorm(SameShape):
    """Normalizes the last axis (Ba et al. 2016), always in float32.

    Not Keras' layer, because ONNX Runtime recognizes and fuses exactly these operations.
    """

    def __init__(self, epsilon: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def build(self, inputs_shape: Any) -> None:
        """Create scale and offset, [d]."""
        width = inputs_shape[-1]
        self.scale = self.add_weight(name="scale", shape=(width,), initializer="ones")
        self.offset = self.add_weight(name="offset", shape=(width,), initializer="zeros")

    def call(self, inputs: Any) -> Any:
        """Normalize [..., d]."""
        x = ops.cast(inputs, "float32")
        centred = x - ops.mean(x, axis=-1, keepdims=True)
        variance = ops.mean(ops.square(centred), axis=-1, keepdims=True)
        normal = centred / ops.sqrt(variance + self.epsilon)
        scale, offset = ops.cast(self.scale, "float32"), ops.cast(self.offset, "float32")
        return ops.cast(normal * scale + offset, self.compute_dtype)


def gelu(x: Any) -> Any:
    """Return ``x P(X <= x)`` for a standard normal X, by erf: Keras uses erfc, which ONNX lacks."""
    return 0.5 * x * (1.0 + ops.erf(x * math.sqrt(0.5)))


# SwiGLU's activation is its gate's.
ACTIVATIONS = {"relu": ops.relu, "gelu": gelu, "swish": ops.silu, "swiglu": ops.silu}


class FeedForward(keras.layers.Layer):
    """``f(x W1 + b1) W2 + b2`` (Vaswani et al. 2017, equation 2).

    f is max(0, .), GELU (Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415), or Swish,
    ``x sigmoid(x)`` (Ramachandran et al. 2017, https://arxiv.org/abs/1710.05941). SwiGLU is
    ``(silu(x W + b) * (x V + c)) W2 + b2`` (Shazeer 2020, https://arxiv.org/abs/2002.05202,
    equation 6, here with biases); W and V are one matrix.

    Dropout applies to the hidden units in training.
    """

    def __init__(
        self, width: int, dropout: float = 0.0, activation: str = "relu", **options: Any
    ) -> None:
        super().__init__(**options)
        self.width = width
        self.activation = activation
        self.drop = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, inputs_shape: Any) -> None:
        """Create the two projections."""
        d_model = inputs_shape[-1]
        inner = 2 * self.width if self.activation == "swiglu" else self.width
        self.inner = keras.layers.Dense(inner, dtype=self.dtype_policy, name="inner")
        self.outer = keras.layers.Dense(d_model, dtype=self.dtype_policy, name="outer")
        self.inner.build(inputs_shape)
        self.outer.build((*inputs_shape[:-1], self.width))

    def call(self, inputs: Any, training: bool = False) -> Any:
        """Map [B, T, d] to [B, T, d]."""
        # With rows of 1,024 float32 numbers, the elements of a column share one set of the L1
        # cache, so that the gradients of W1 and W2, which read columns, take twice as long.
        widen = self.compute_dtype == "float32" and self.width % 1024 == 0
        if training and widen and self.activation != "swiglu":
            return self._widened(inputs)
        return self.outer(self.drop(self._activate(self.inner(inputs)), training=training))

    def _activate(self, inner: Any) -> Any:
        function = ACTIVATIONS[self.activation]
        if self.activation == "swiglu":
            gate, values = ops.split(inner, 2, axis=-1)
            return function(gate) * values
        return function(inner)

    def _widened(self, inputs: Any) -> Any:
        """Compute the same in training, with extra hidden units that are always 0."""
        extra = (0, 16)
        inner = ops.pad(ops.convert_to_tensor(self.inner.kernel), ((0, 0), extra))
        bias = ops.pad(ops.convert_to_tensor(self.inner.bias), (extra,))
        outer = ops.pad(ops.convert_to_tensor(self.outer.kernel), (extra, (0, 0)))
        hidden = self.drop(self._activate(ops.matmul(inputs, inner) + bias), training=True)
        return ops.matmul(hidden, outer) + ops.convert_to_tensor(self.outer.bias)


def embeddings(
    config: ModelConfig, source_vocab: int, target_vocab: int
) -> tuple[TokenEmbedding, TokenEmbedding]:
    """Return the layers of source and target; the same one if the recipe shares them."""
    width, scaled = config.d_model, config.scale_embeddings
    biased = config.ties_softmax and config.output_bias
    zero_start = config.start == "zero"
    target = TokenEmbedding(
        target_vocab, width, scaled, biased, zero_start, name="target_embedding"
    )
    if config.embeddings in ("all", "source-target"):
        return target, target
    return TokenEmbedding(source_vocab, width, scaled, name="source_embedding"), target


def word_dropout(x: Any, side: str, config: ModelConfig) -> Any:
    """Drop whole tokens of [B, T, d] in training, at the rate of the recipe (Sennrich et al. 2016,
    section 3.2, https://arxiv.org/abs/1606.02891)."""
    if not config.word_dropout:
        return x
    tokens = (None, None, 1)
    return keras.layers.Dropout(config.word_dropout, tokens, name=f"{side}_word_dropout")(x)


def float32_logits(
    x: Any, config: ModelConfig, embedding: TokenEmbedding, target_vocab: int
) -> Any:
    """Map [B, T, d] to logits [B, T, V], with the target embedding's matrix or a separate one."""
    if config.ties_softmax:
        logits = embedding(x, reverse=True)
    else:
        suppressed = SpecialRows(SUPPRESSED) if config.start == "zero" else None
        logits = keras.layers.Dense(target_vocab, name="logits", bias_constraint=suppressed)(x)
    # In half precision the loss would lose small differences.
    return keras.layers.Activation("linear", dtype="float32", name="float32_logits")(logits)
