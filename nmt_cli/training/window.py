"""What the batches since the last log line tell."""

import math
import time
from typing import Any

import keras

from nmt_cli.training.feed import Handed


class Window:
    """The batches since the last log line. Losses stay on the device until asked for."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin anew."""
        self._began = time.monotonic()
        self._handed: list[Handed] = []
        self._logs: list[dict[str, Any]] = []

    def add(self, handed: Handed, logs: dict[str, Any]) -> None:
        """One more batch and Keras' running means with it."""
        self._handed.append(handed)
        self._logs.append(logs)

    def first_not_finite(self) -> tuple[float, Handed, int] | None:
        """The running mean when it first was infinite or NaN, the batch that made it so, and
        how many have come behind it."""
        # Once it is, it stays so: the last one tells whether to look.
        if not self._logs or math.isfinite(number(self._logs[-1]["loss"])):
            return None
        losses = [number(logs["loss"]) for logs in self._logs]
        first = next(at for at, loss in enumerate(losses) if not math.isfinite(loss))
        return losses[first], self._handed[first], len(losses) - first - 1

    def values(self) -> dict[str, float]:
        """Target tokens a second; share of the time that it took to make batches, which happens
        beside the steps."""
        seconds = max(time.monotonic() - self._began, 1e-9)
        return {
            "tokens_per_second": sum(each.tokens for each in self._handed) / seconds,
            "input_share": sum(each.seconds for each in self._handed) / seconds,
        }


def number(value: Any) -> float:
    """A value of the device as a float: waits until it is there."""
    return float(keras.ops.convert_to_numpy(value))
