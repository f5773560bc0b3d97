"""The optimizer of a recipe; accumulation, clipping and the moving average are Keras' own."""

from typing import Any

import keras

from nmt_cli.recipe.config import Recipe
from nmt_cli.training.schedule import make_schedule

# Biases and norms are left out of weight decay, as is usual since BERT (Devlin et al. 2019).
UNDECAYED = ("bias", "scale", "offset")


class _Dense:
    """An optimizer that adds up the gradients of one row before it squares them.

    A look-up's gradient on TensorFlow is a list of rows, one as often as its token stands in the
    batch. Keras squares each by itself: another second moment than the papers', and a first step
    that is the longer the more often the token stands there.
    """

    def apply(self, grads: list[Any], trainable_variables: list[Any] | None = None) -> None:
        import tensorflow as tf

        dense = [each if each is None else tf.convert_to_tensor(each) for each in grads]
        super().apply(dense, trainable_variables)  # type: ignore[misc]


class _AddedFirst(_Dense):
    """An optimizer of MirroredStrategy that adds up the devices' gradients before it clips them.

    Keras clips each device's own, and adds up what is left: on two devices, another step than
    on one.
    """

    def _clip_gradients(self, gradients: list[Any]) -> list[Any]:
        import tensorflow as tf

        replica = tf.distribute.get_replica_context()
        added = replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        return super()._clip_gradients(added)  # type: ignore[misc]

    def _all_reduce_sum_gradients(self, pairs: list[Any]) -> list[Any]:
        return pairs


class _Scaled(_Dense, keras.optimizers.LossScaleOptimizer):
    """Adds rows up before it looks for what overflowed."""


class _ScaledAlike(_Scaled):
    """Of MirroredStrategy: what overflows on one device is no step on any.

    Keras asks the first device alone, and takes its word for gradients that are added up.
    """

    def check_finite(self, grads: list[Any]) -> Any:
        import tensorflow as tf

        replica = tf.distribute.get_replica_context()
        finite = tf.cast(super().check_finite(grads), tf.int32)
        count = replica.all_reduce(tf.distribute.ReduceOp.SUM, finite)
        return tf.equal(count, replica.num_replicas_in_sync)


def make_optimizer(recipe: Recipe, mirrored: bool = False) -> keras.optimizers.Optimizer:
    """Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019) or Nadam (Dozat 2016).

    Args:
        recipe: whose optimizer.
        mirrored: made in the scope of a MirroredStrategy.
    """
    config = recipe.training
    kind = {
        "adam": keras.optimizers.Adam,
        "adamw": keras.optimizers.AdamW,
        "nadam": keras.optimizers.Nadam,
    }[config.optimizer]
    on_tensorflow = keras.backend.backend() == "tensorflow"
    if on_tensorflow:
        kind = type(kind.__name__, (_AddedFirst if mirrored else _Dense, kind), {})
    decay = {"weight_decay": config.weight_decay} if config.optimizer == "adamw" else {}
    optimizer = kind(
        make_schedule(recipe),
        beta_1=config.beta_1,
        beta_2=config.beta_2,
        epsilon=config.adam_epsilon,
        global_clipnorm=config.clip_norm or None,
        use_ema=config.ema > 0,
        # Keras takes the average anew at each batch, moved or not.
        ema_momentum=config.ema ** (1 / config.accumulate),
        gradient_accumulation_steps=config.accumulate if config.accumulate > 1 else None,
        **decay,
    )
    if decay:
        optimizer.exclude_from_weight_decay(var_names=list(UNDECAYED))
    # Half-precision gradients underflow without scaling; bfloat16 has float32's range.
    if config.precision == "mixed_float16":
        scaled = keras.optimizers.LossScaleOptimizer
        if on_tensorflow:
            scaled = _ScaledAlike if mirrored else _Scaled
        optimizer = scaled(optimizer)
    return optimizer
