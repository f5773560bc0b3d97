"""The optimizer and its learning rates; accumulation, clipping and averages are Keras' own."""

import math
from typing import Any

import keras
from keras import ops
from keras.optimizers import Adam, AdamW, Muon, Nadam

from nmt_cli.recipe.config import Recipe
from nmt_cli.training.devices import on_tensorflow

# Weights without decay, as usual since BERT (Devlin et al. 2019).
UNDECAYED = ("bias", "scale", "offset")
# Muon is for matrices between hidden vectors: not for these layers, nor for embeddings.
NOT_HIDDEN = ["positions", "^logits"]


class _Averages:
    """An optimizer whose moving averages forget the first weights and respect constraints.

    At batch n, from 0, the decay is at most n / (n + 9), as in TensorFlow's averages and Marian's:
    with a constant one of 0.999, the average of 1,000 steps is a third the weights of the first.
    Keras updates the averages before it applies the constraints.
    """

    def _update_model_variables_moving_average(self: Any, weights: list[Any]) -> None:
        batches = ops.cast(self._iterations, "float32")
        decay = ops.minimum(self.ema_momentum, batches / (batches + 9.0))
        for weight, average in zip(weights, self._model_variables_moving_average, strict=True):
            value = decay * average + (1.0 - decay) * weight
            average.assign(value if weight.constraint is None else weight.constraint(value))


class _Dense:
    """An optimizer that sums the gradients of an embedding's row before it squares them.

    On TensorFlow, the gradient of an embedding is a list of rows, one per occurrence of a token.
    Keras squares each separately, so the second moment differs from the papers', and the first step
    grows with the number of occurrences.
    """

    def apply(self, grads: list[Any], trainable_variables: list[Any] | None = None) -> None:
        import tensorflow as tf

        dense = [grad if grad is None else tf.convert_to_tensor(grad) for grad in grads]
        super().apply(dense, trainable_variables)  # type: ignore[misc]


class _SummedFirst(_Dense):
    """An optimizer for MirroredStrategy that sums the devices' gradients before it clips them.

    Keras clips the gradients of each device and then sums them, so that a step would depend on
    the number of devices.
    """

    def _clip_gradients(self, gradients: list[Any]) -> list[Any]:
        import tensorflow as tf

        replica = tf.distribute.get_replica_context()
        total = replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        return super()._clip_gradients(total)  # type: ignore[misc]

    def _all_reduce_sum_gradients(self, pairs: list[Any]) -> list[Any]:
        return pairs


class _Scaled(_Dense, keras.optimizers.LossScaleOptimizer):
    """A loss-scaling optimizer that sums rows before it checks them for overflow."""


class _MirroredScaled(_Scaled):
    """A loss-scaling optimizer for MirroredStrategy: an overflow on any device skips the step.
    Keras checks only the first device, although the gradients of all are summed."""

    def check_finite(self, grads: list[Any]) -> Any:
        import tensorflow as tf

        replica = tf.distribute.get_replica_context()
        finite = tf.cast(super().check_finite(grads), tf.int32)
        count = replica.all_reduce(tf.distribute.ReduceOp.SUM, finite)
        return tf.equal(count, replica.num_replicas_in_sync)


def make_optimizer(recipe: Recipe, mirrored: bool = False) -> keras.optimizers.Optimizer:
    """Make Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019), Nadam (Dozat 2016) or
    Muon (Liu et al. 2025, https://arxiv.org/abs/2502.16982: AdamW for all but hidden matrices).

    ``mirrored`` is for the scope of a MirroredStrategy.
    """
    config = recipe.training
    optimizer_class = {"adam": Adam, "adamw": AdamW, "nadam": Nadam, "muon": Muon}[config.optimizer]
    bases: tuple[type, ...] = (_Averages, optimizer_class)
    if on_tensorflow():
        bases = (_SummedFirst if mirrored else _Dense, *bases)
    optimizer_class = type(optimizer_class.__name__, bases, {})
    settings: dict[str, Any] = {"beta_1": config.beta_1, "beta_2": config.beta_2}
    has_decay = config.optimizer in ("adamw", "muon")
    if has_decay:
        settings["weight_decay"] = config.weight_decay
    if config.optimizer == "muon":
        settings = {f"adam_{key}": value for key, value in settings.items()}
        settings |= {"weight_decay": config.weight_decay, "exclude_layers": NOT_HIDDEN}
    optimizer = optimizer_class(
        WarmUp(recipe),
        epsilon=config.adam_epsilon,
        global_clipnorm=config.clip_norm or None,
        use_ema=config.ema > 0,
        # Keras updates the average at every batch, also between two steps.
        ema_momentum=config.ema ** (1 / config.accumulate),
        gradient_accumulation_steps=config.accumulate if config.accumulate > 1 else None,
        **settings,
    )
    if has_decay:
        optimizer.exclude_from_weight_decay(var_names=list(UNDECAYED))
    # Half-precision gradients underflow without scaling; bfloat16 has float32's range.
    if config.precision == "mixed_float16":
        scaling = keras.optimizers.LossScaleOptimizer
        if on_tensorflow():
            scaling = _MirroredScaled if mirrored else _Scaled
        optimizer = scaling(optimizer)
    return optimizer


class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to ``peak = learning_rate * d_model^-0.5 * warmup_steps^-0.5``, then decay.

    The peak is from Vaswani et al. 2017, equation 3. "inverse-sqrt" is the paper's decay,
    ``peak * (warmup_steps / step)^0.5``; "cosine" is half a cosine to 0 at ``max_steps``
    (Loshchilov and Hutter 2017, equation 5, without restarts); "linear" is a line to 0 there;
    "constant" has no decay. The paper counts steps from 1, Keras counts batches from 0.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._config = config = recipe.training
        self._peak = config.learning_rate * (recipe.model.d_model * config.warmup_steps) ** -0.5

    def __call__(self, step: Any) -> Any:
        """Return the learning rate of a batch (from 0), a float32 scalar."""
        config, warmup = self._config, self._config.warmup_steps
        number = ops.cast(ops.floor_divide(step, config.accumulate), "float32") + 1.0
        # The share of the peak after the warm-up; at least 1 during it.
        if config.schedule == "constant":
            decay = ops.ones_like(number)
        elif config.schedule == "inverse-sqrt":
            decay = ops.rsqrt(number / warmup)
        else:
            done = ops.clip((number - warmup) / max(1, config.max_steps - warmup), 0.0, 1.0)
            cosine = config.schedule == "cosine"
            decay = 0.5 + 0.5 * ops.cos(math.pi * done) if cosine else 1.0 - done
        return self._peak * ops.minimum(number / warmup, decay)
