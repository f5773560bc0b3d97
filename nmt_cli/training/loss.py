"""Cross-entropy with label smoothing, R-Drop, and the metrics of training and validation.

Every loss is one number per position. The weights of a batch (nmt_cli.training.devices) turn them
into the mean over its real tokens, however many devices share it.
"""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from nmt_cli.text.tokenizer import PAD_ID
from nmt_cli.training.devices import on_tensorflow


class SmoothedCrossEntropy(keras.losses.Loss):
    """Weighted sum over positions of the smoothed cross-entropy, in nats.

    With label smoothing e and vocabulary size V the target distribution is ``(1 - e)`` on the
    reference plus ``e / V`` on every token (Szegedy et al. 2016, section 7; Vaswani et al. 2017,
    section 5.4).

    With R-Drop (Liang et al. 2021, https://arxiv.org/abs/2106.14448, equations 1 to 4) the rows
    2i and 2i + 1 of a batch are two passes over one pair, with distributions p and q. Each row
    adds ``r_drop / 4 * (KL(p || q) + KL(q || p))``: half the paper's loss, as the mean here is
    over the tokens of both rows. ``r_drop`` is the paper's alpha; 0: no R-Drop.
    """

    def __init__(self, label_smoothing: float = 0.0, r_drop: float = 0.0) -> None:
        super().__init__(name="loss", reduction="sum", dtype="float32")
        self.label_smoothing = label_smoothing
        self.r_drop = r_drop

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return float32 [B, T] for ids [B, T] and logits [B, T, V]."""
        ids = ops.cast(y_true, "int32")
        logits = ops.cast(y_pred, "float32")
        losses = smoothed_cross_entropy(ids, logits, self.label_smoothing)
        if self.r_drop:
            losses = losses + self.r_drop / 4 * divergence(logits)
        return losses


def smoothed_cross_entropy(ids: Any, logits: Any, smoothing: float) -> Any:
    """Return the smoothed cross-entropy, [B, T], of float32 logits [B, T, V] to ids [B, T].

    The gradient is explicit: ``softmax(logits) - target distribution``. The automatic gradient took
    twice as long (64 x 32 positions, V = 8,000, two cores): the array is far larger than a
    processor's caches, so every pass over it counts.
    """
    vocab = logits.shape[-1]

    def forward(logits: Any) -> Any:
        top = ops.max(logits, axis=-1, keepdims=True)
        powers = ops.exp(logits - top)
        sums = ops.sum(powers, axis=-1, keepdims=True)
        chosen = ops.take_along_axis(logits, ops.expand_dims(ids, -1), axis=-1)
        expected = (1.0 - smoothing) * chosen + smoothing * ops.mean(logits, -1, keepdims=True)
        return ops.squeeze(ops.log(sums) + top - expected, -1), powers, sums

    def backward(powers: Any, sums: Any, scale: Any) -> Any:
        soft = powers * (scale / sums) - scale * (smoothing / vocab)
        return soft - ops.one_hot(ids, vocab) * ((1.0 - smoothing) * scale)

    @ops.custom_gradient
    def per_position(logits: Any) -> Any:
        losses, powers, sums = _fused(forward)(logits)

        def gradient(*upstreams: Any, upstream: Any = None) -> Any:
            # TensorFlow and JAX pass the upstream gradient in different ways.
            scale = ops.expand_dims(upstreams[0] if upstreams else upstream, -1)
            return _fused(backward)(powers, sums, scale)

        return losses, gradient

    return per_position(logits)


def _fused(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let XLA compile a function of a training in half precision: one pass over the array, not one
    for each operation. Steps take 0.87 times as long; those of a small model in float32, longer."""
    if not on_tensorflow() or keras.config.dtype_policy().compute_dtype == "float32":
        return function
    import tensorflow as tf

    return tf.function(function, jit_compile=True, autograph=False)


def divergence(logits: Any) -> Any:
    """Return ``KL(p || q) + KL(q || p)`` of rows 2i and 2i + 1, for both rows.

    Its gradient with respect to p's logits is ``p * (log p - log q - KL(p || q)) + p - q``.
    Maps float32 [2B, T, V] to [2B, T].
    """
    width, vocab = ops.shape(logits)[1], logits.shape[-1]

    @ops.custom_gradient
    def per_position(logits: Any) -> Any:
        pairs = ops.reshape(logits, (-1, 2, width, vocab))
        # log p - log q is the difference of the logits, less that of the two log sums, which
        # cancels out since p - q sums to zero.
        difference = pairs[:, 0] - pairs[:, 1]  # [B, T, V]
        p, q = ops.softmax(pairs[:, 0]), ops.softmax(pairs[:, 1])
        both = ops.sum((p - q) * difference, axis=-1)  # [B, T]
        losses = ops.reshape(ops.stack([both, both], axis=1), (-1, width))

        def gradient(*upstreams: Any, upstream: Any = None) -> Any:
            scale = upstreams[0] if upstreams else upstream
            scale = ops.sum(ops.reshape(scale, (-1, 2, width)), axis=1)[..., None]  # [B, T, 1]
            to_p = p * (difference - ops.sum(p * difference, -1, keepdims=True)) + p - q
            to_q = q * (ops.sum(q * difference, -1, keepdims=True) - difference) + q - p
            return ops.reshape(ops.stack([scale * to_p, scale * to_q], axis=1), (-1, width, vocab))

        return losses, gradient

    return per_position(logits)


class TokenMean(keras.metrics.Mean):
    """Mean over real target tokens; ``values`` maps ids [B, T] and logits [B, T, V] to [B, T]."""

    def __init__(self, name: str, values: Callable[[Any, Any], Any]) -> None:
        super().__init__(name, dtype="float32")
        self._values = values

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Add a batch: ids [B, T], logits [B, T, V]."""
        ids = ops.cast(y_true, "int32")
        values, real = self._values(ids, y_pred), ops.not_equal(ids, PAD_ID)
        super().update_state(ops.reshape(values, (-1,)), ops.reshape(real, (-1,)))


def are_first(ids: Any, logits: Any) -> Any:
    """Whether the model ranks each token first, ties included."""
    # On TensorFlow, Keras' argmax makes several passes over the logits: 7% of a step.
    chosen = ops.take_along_axis(logits, ops.expand_dims(ids, -1), axis=-1)
    return ops.greater_equal(chosen, ops.max(logits, axis=-1, keepdims=True))
