"""Masked cross-entropy with label smoothing, and masked accuracy."""

from typing import Any

import keras
from keras import ops

from nmt_cli.text.tokenizer import PAD_ID


@keras.saving.register_keras_serializable("nmt")
class MaskedCrossEntropy(keras.losses.Loss):
    """Mean over the batch's real tokens of the smoothed cross-entropy, in nats.

    With smoothing e and vocabulary V the wanted distribution is ``(1 - e)`` on the
    reference and ``e / V`` on every token (Szegedy et al. 2016, section 7; Vaswani et al.
    2017, section 5.4).

    Args:
        label_smoothing: e, in [0, 1).
    """

    def __init__(self, label_smoothing: float = 0.0, name: str = "loss") -> None:
        # "sum" of the one number that call() gives is that number.
        super().__init__(name=name, reduction="sum", dtype="float32")
        self.label_smoothing = label_smoothing

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Ids [B, T] and logits [B, T, V] to a scalar."""
        ids = ops.cast(y_true, "int32")
        real = ops.cast(ops.not_equal(ids, PAD_ID), "float32")
        weights = real / ops.maximum(ops.sum(real), 1.0)
        return smoothed_cross_entropy(
            ops.cast(y_pred, "float32"), ids, weights, self.label_smoothing
        )

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {"label_smoothing": self.label_smoothing, "name": self.name}


def smoothed_cross_entropy(logits: Any, ids: Any, weights: Any, smoothing: float) -> Any:
    """Weighted sum over positions of the smoothed cross-entropy.

    The gradient is written out: ``weights * (softmax(logits) - wanted)``. Derived
    automatically it took twice as long (64 x 32 positions, V = 8,000, two cores), for the
    array is far larger than a processor's caches and each pass over it counts.

    Args:
        logits: float32 [B, T, V].
        ids: int32 [B, T], references.
        weights: float32 [B, T].
        smoothing: e, in [0, 1).

    Returns:
        A float32 scalar.
    """
    vocab = logits.shape[-1]

    @ops.custom_gradient
    def total(logits: Any) -> Any:
        top = ops.max(logits, axis=-1, keepdims=True)
        powers = ops.exp(logits - top)
        sums = ops.sum(powers, axis=-1, keepdims=True)
        chosen = ops.take_along_axis(logits, ops.expand_dims(ids, -1), axis=-1)
        wanted = (1.0 - smoothing) * chosen + smoothing * ops.mean(logits, -1, keepdims=True)
        losses = ops.squeeze(ops.log(sums) + top - wanted, -1)

        def gradient(*upstreams: Any, upstream: Any = None) -> Any:
            # TensorFlow and JAX hand the upstream gradient over in these two ways.
            scale = ops.expand_dims(weights * (upstreams[0] if upstreams else upstream), -1)
            soft = powers * (scale / sums) - scale * (smoothing / vocab)
            return soft - ops.one_hot(ids, vocab) * ((1.0 - smoothing) * scale)

        return ops.sum(losses * weights), gradient

    return total(logits)


@keras.saving.register_keras_serializable("nmt")
class MaskedAccuracy(keras.metrics.Metric):
    """Share of real target tokens that the model ranks first."""

    def __init__(self, name: str = "accuracy", dtype: str = "float32") -> None:
        super().__init__(name=name, dtype=dtype)
        self.right = self.add_variable((), "zeros", name="right")
        self.seen = self.add_variable((), "zeros", name="seen")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Count one batch: ids [B, T], logits [B, T, V]."""
        ids = ops.cast(y_true, "int32")
        real = ops.not_equal(ids, PAD_ID)
        hits = ops.logical_and(real, ops.equal(ops.cast(ops.argmax(y_pred, -1), "int32"), ids))
        self.right.assign_add(ops.sum(ops.cast(hits, "float32")))
        self.seen.assign_add(ops.sum(ops.cast(real, "float32")))

    def result(self) -> Any:
        """Share in [0, 1]; 0 before the first batch."""
        return self.right / ops.maximum(self.seen, 1.0)
