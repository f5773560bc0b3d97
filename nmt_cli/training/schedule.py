"""Learning rates over steps."""

from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable("nmt")
class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """``factor * d^-0.5 * min(step^-0.5, step * warmup^-1.5)``.

    Vaswani et al. 2017, equation 3: a linear rise over the warm-up, then a fall with the
    inverse square root. The paper counts steps from 1, Keras from 0.

    Args:
        d_model: width of the model.
        warmup_steps: steps of the rise.
        factor: 1 in the paper.
    """

    def __init__(self, d_model: int, warmup_steps: int, factor: float = 1.0) -> None:
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.factor = factor

    def __call__(self, step: Any) -> Any:
        """Learning rate of the step (from 0), a float32 scalar."""
        number = ops.cast(step, "float32") + 1.0
        rate = ops.minimum(ops.rsqrt(number), number * self.warmup_steps**-1.5)
        return self.factor * self.d_model**-0.5 * rate

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {
            "d_model": self.d_model,
            "warmup_steps": self.warmup_steps,
            "factor": self.factor,
        }
