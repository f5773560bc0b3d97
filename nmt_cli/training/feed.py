"""Feeding numpy batches to Keras' fit on any backend, and the account of what was fed."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from nmt_cli.data.batches import Batch, Position
from nmt_cli.text.tokenizer import PAD_ID
from nmt_cli.training.devices import ONE_DEVICE, Devices, on_tensorflow

PREFETCH = 4  # batches made ahead of the step that uses them

Fed = tuple[tuple[Any, Any], Any, Any]  # ((source, target_in), target_out, weights)


@dataclass(frozen=True)
class FedBatch:
    """One batch that was fed to fit.

    Attributes:
        at: its position.
        next: the position of the next batch.
        tokens: its real target tokens.
        seconds: the time it took to make.
    """

    at: Position
    next: Position
    tokens: int
    seconds: float


class Feed:
    """Batches in the form that fit expects, with a record of each.

    Args:
        batches: starts an iterator of (position, batch, next position). Under a strategy Keras
            reads the first batch and then starts again.
        devices: each process gets its share of a batch's rows.
        group: rows of a batch that stay together.
    """

    def __init__(
        self,
        batches: Callable[[], Iterable[tuple[Position, Batch, Position]]],
        devices: Devices = ONE_DEVICE,
        group: int = 1,
    ) -> None:
        self._batches = batches
        self._devices, self._group = devices, group
        self._fed: deque[FedBatch] = deque()

    def pop(self) -> FedBatch:
        """Return the oldest batch that fit has finished with."""
        return self._fed.popleft()

    def arrays(self) -> Iterator[Fed]:
        """Yield inputs, target and weights of each batch.

        The weights, float32 [rows, width], are 1 / (real target tokens), and 0 at padding.
        """
        # An earlier iterator may still be making batches ahead, in its own thread.
        self._fed = fed = deque[FedBatch]()
        began = time.perf_counter()
        for at, batch, following in self._batches():
            weights = (batch.target_out != PAD_ID).astype(np.float32)
            tokens = int(np.count_nonzero(weights))
            weights /= max(tokens, 1)
            fed.append(FedBatch(at, following, tokens, time.perf_counter() - began))
            source, target_in, target_out, weights = (
                self._devices.share(each, self._group)
                for each in (batch.source, batch.target_in, batch.target_out, weights)
            )
            yield (source, target_in), target_out, weights
            began = time.perf_counter()

    def dataset(self) -> Any:
        """Return what fit and evaluate take; on TensorFlow one trace serves all shapes."""
        if not on_tensorflow():
            return self.arrays()
        import tensorflow as tf

        ids, weights = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None])
        signature = ((ids, ids), ids, weights)
        dataset = tf.data.Dataset.from_generator(self.arrays, output_signature=signature)
        return dataset.prefetch(PREFETCH)


class LogInterval:
    """The batches since the last log line. Losses stay on the device until they are needed."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget the batches and restart the clock."""
        self._began = time.monotonic()
        self._fed: list[FedBatch] = []
        self._losses: list[Any] = []

    def add(self, fed: FedBatch, loss: Any) -> None:
        """Add a batch, and Keras' running mean of the loss after it."""
        self._fed.append(fed)
        self._losses.append(loss)

    def first_not_finite(self) -> tuple[float, FedBatch, int] | None:
        """Return the first loss that is infinite or NaN, its batch, and how many followed."""
        # A running mean stays infinite or NaN, so the last one shows whether any was.
        if not self._losses or math.isfinite(to_float(self._losses[-1])):
            return None
        losses = [to_float(loss) for loss in self._losses]
        first = next(at for at, loss in enumerate(losses) if not math.isfinite(loss))
        return losses[first], self._fed[first], len(losses) - first - 1

    def speed(self) -> dict[str, float]:
        """Return target tokens a second, and the share of time spent on making batches, which
        runs in parallel to the steps."""
        seconds = max(time.monotonic() - self._began, 1e-9)
        return {
            "tokens_per_second": sum(each.tokens for each in self._fed) / seconds,
            "input_share": sum(each.seconds for each in self._fed) / seconds,
        }


def to_float(value: Any) -> float:
    """Convert a value on the device to a float, waiting until it is computed."""
    return float(keras.ops.convert_to_numpy(value))
