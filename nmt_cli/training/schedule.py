"""Learning rates over steps: a linear warm-up, then one of three ways down."""

import math
from typing import Any

import keras
from keras import ops

from nmt_cli.recipe.config import Recipe


@keras.saving.register_keras_serializable("nmt")
class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """A linear rise to ``peak = factor * d^-0.5 * warmup^-0.5``, then a fall from it.

    The peak is that of Vaswani et al. 2017, equation 3, whatever the fall:

    - "inverse-sqrt": ``peak * (warmup / step)^0.5``, the paper's own;
    - "cosine": half a cosine to 0 at ``max_steps`` (Loshchilov and Hutter 2017, equation 5,
      without restarts);
    - "linear": a straight line to 0 at ``max_steps``.

    The paper counts steps from 1, Keras from 0.

    Args:
        d_model: width of the model.
        warmup_steps: steps of the rise.
        factor: 1 in the paper.
        kind: one of the three above.
        max_steps: where the cosine and the line end.
        accumulate: batches a step: Keras counts batches.
    """

    def __init__(
        self,
        d_model: int,
        warmup_steps: int,
        factor: float = 1.0,
        kind: str = "inverse-sqrt",
        max_steps: int = 0,
        accumulate: int = 1,
    ) -> None:
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.factor = factor
        self.kind = kind
        self.max_steps = max_steps
        self.accumulate = accumulate

    def __call__(self, step: Any) -> Any:
        """Learning rate of the batch (from 0), a float32 scalar."""
        number = ops.cast(ops.floor_divide(step, self.accumulate), "float32") + 1.0
        peak = self.factor * (self.d_model * self.warmup_steps) ** -0.5
        return peak * ops.minimum(number / self.warmup_steps, self._fall(number))

    def _fall(self, number: Any) -> Any:
        """Share of the peak behind the warm-up; at least 1 within it."""
        if self.kind == "inverse-sqrt":
            return ops.rsqrt(number / self.warmup_steps)
        done = (number - self.warmup_steps) / max(1, self.max_steps - self.warmup_steps)
        done = ops.clip(done, 0.0, 1.0)
        return 1.0 - done if self.kind == "linear" else 0.5 + 0.5 * ops.cos(math.pi * done)

    def get_config(self) -> dict[str, Any]:
        """Everything that __init__ takes."""
        return {
            "d_model": self.d_model,
            "warmup_steps": self.warmup_steps,
            "factor": self.factor,
            "kind": self.kind,
            "max_steps": self.max_steps,
            "accumulate": self.accumulate,
        }


def make_schedule(recipe: Recipe) -> WarmUp:
    """The learning rates that a recipe plans."""
    config = recipe.training
    return WarmUp(
        recipe.model.d_model,
        config.warmup_steps,
        config.learning_rate,
        config.schedule,
        config.max_steps,
        config.accumulate,
    )
