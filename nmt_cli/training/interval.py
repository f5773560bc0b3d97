"""What happened since the last log line."""

import math
import time
from typing import Any

import keras

from nmt_cli.training.feed import FedBatch


class LogInterval:
    """The batches since the last log line. Losses stay on the device until they are needed."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget the batches and restart the clock."""
        self._began = time.monotonic()
        self._fed: list[FedBatch] = []
        self._logs: list[dict[str, Any]] = []

    def add(self, fed: FedBatch, logs: dict[str, Any]) -> None:
        """Add a batch and Keras' running means after it."""
        self._fed.append(fed)
        self._logs.append(logs)

    def first_not_finite(self) -> tuple[float, FedBatch, int] | None:
        """Return the first running mean that is infinite or NaN, the batch that caused it, and
        the number of batches after it."""
        # A running mean stays infinite or NaN, so the last one shows whether any was.
        if not self._logs or math.isfinite(to_float(self._logs[-1]["loss"])):
            return None
        losses = [to_float(logs["loss"]) for logs in self._logs]
        first = next(at for at, loss in enumerate(losses) if not math.isfinite(loss))
        return losses[first], self._fed[first], len(losses) - first - 1

    def speed(self) -> dict[str, float]:
        """Return target tokens a second, and the share of the time spent on making batches,
        which runs in parallel to the steps."""
        seconds = max(time.monotonic() - self._began, 1e-9)
        return {
            "tokens_per_second": sum(each.tokens for each in self._fed) / seconds,
            "input_share": sum(each.seconds for each in self._fed) / seconds,
        }


def to_float(value: Any) -> float:
    """Convert a value on the device to a float, waiting until it is computed."""
    return float(keras.ops.convert_to_numpy(value))
