"""Learning rate schedules: linear warm-up, then one of three kinds of decay."""

import math
from typing import Any

import keras
from keras import ops

from nmt_cli.recipe.config import Recipe


class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to ``peak = factor * d^-0.5 * warmup^-0.5``, then decay.

    The peak is that of Vaswani et al. 2017, equation 3, for every kind of decay:

    - "inverse-sqrt": ``peak * (warmup / step)^0.5``, as in the paper;
    - "cosine": half a cosine to 0 at ``max_steps`` (Loshchilov and Hutter 2017, equation 5,
      without restarts);
    - "linear": a straight line to 0 at ``max_steps``.

    The paper counts steps from 1, Keras counts batches from 0.

    Args:
        d_model: width of the model.
        warmup_steps: steps of the warm-up.
        factor: 1 in the paper.
        kind: one of the three above.
        max_steps: end of the cosine and of the line.
        accumulate: batches per step.
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
        """Return the learning rate of a batch (from 0), a float32 scalar."""
        number = ops.cast(ops.floor_divide(step, self.accumulate), "float32") + 1.0
        peak = self.factor * (self.d_model * self.warmup_steps) ** -0.5
        return peak * ops.minimum(number / self.warmup_steps, self._decay(number))

    def _decay(self, number: Any) -> Any:
        """Return the share of the peak after the warm-up; at least 1 during it."""
        if self.kind == "inverse-sqrt":
            return ops.rsqrt(number / self.warmup_steps)
        done = (number - self.warmup_steps) / max(1, self.max_steps - self.warmup_steps)
        done = ops.clip(done, 0.0, 1.0)
        return 1.0 - done if self.kind == "linear" else 0.5 + 0.5 * ops.cos(math.pi * done)


def make_schedule(recipe: Recipe) -> WarmUp:
    """Make the schedule of a recipe."""
    config = recipe.training
    return WarmUp(
        recipe.model.d_model,
        config.warmup_steps,
        config.learning_rate,
        config.schedule,
        config.max_steps,
        config.accumulate,
    )
