"""Feed numpy batches to Keras' fit on any backend, and keep a record of each."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmt_cli.data.batches import Batch, Position
from nmt_cli.text.tokenizer import PAD_ID
from nmt_cli.training.devices import ONE_DEVICE, Devices, on_tensorflow

PREFETCH = 4  # batches made ahead of the step that uses them


@dataclass(frozen=True)
class BatchRecord:
    """A batch that fit has received: its position and the next one, its real target tokens, and the
    seconds that it took to make."""

    position: Position
    next: Position
    tokens: int
    seconds: float


class BatchFeed:
    """Batches in the form that fit expects, and ``records`` of those that it has not finished.

    ``batches`` starts an iterator of (position, batch, next position): under a strategy, Keras
    reads the first batch and then starts again. ``group`` rows of a batch stay together.
    """

    def __init__(
        self,
        batches: Callable[[], Iterable[tuple[Position, Batch, Position]]],
        devices: Devices = ONE_DEVICE,
        group: int = 1,
    ) -> None:
        self._batches = batches
        self._devices, self._group = devices, group
        self.records: deque[BatchRecord] = deque()

    def arrays(self) -> Iterator[tuple[tuple[Any, Any], Any, Any]]:
        """Yield (source, target_in), target_out and weights of each batch.
        The weights, float32 [rows, width], are 1 / (real target tokens), and 0 at padding."""
        # An earlier iterator may still be making batches ahead, in its own thread.
        self.records = records = deque[BatchRecord]()
        began = time.perf_counter()
        for position, batch, following in self._batches():
            weights = (batch.target_out != PAD_ID).astype(np.float32)
            tokens = int(np.count_nonzero(weights))
            weights /= max(tokens, 1)
            seconds = time.perf_counter() - began
            records.append(BatchRecord(position, following, tokens, seconds))
            source, target_in, target_out, weights = (
                self._devices.share(array, self._group) for array in (*batch, weights)
            )
            yield (source, target_in), target_out, weights
            began = time.perf_counter()

    def dataset(self) -> Any:
        """Return the input of fit and evaluate; on TensorFlow, one trace serves all shapes."""
        if not on_tensorflow():
            return self.arrays()
        import tensorflow as tf

        ids, weights = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None])
        signature = ((ids, ids), ids, weights)
        dataset = tf.data.Dataset.from_generator(self.arrays, output_signature=signature)
        return dataset.prefetch(PREFETCH)
