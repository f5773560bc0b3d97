"""Handing numpy batches to Keras' fit on any backend."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from nmt_cli.data.batches import Batch, Position
from nmt_cli.text.tokenizer import PAD_ID
from nmt_cli.training.devices import ALONE, Devices

PREFETCH = 4  # batches made ahead of the step that uses them

Fed = tuple[tuple[Any, Any], Any, Any]  # ((source, target_in), target_out, weights)


@dataclass(frozen=True)
class Handed:
    """What a batch held.

    Attributes:
        at: its position.
        next: the position of the batch behind it.
        tokens: real target tokens in it.
        seconds: that it took to make.
    """

    at: Position
    next: Position
    tokens: int
    seconds: float


class Feed:
    """Batches as fit wants them, with an account of what each held.

    The weights, float32 [rows, width], are one over the number of the batch's real target
    tokens, and 0 at padding.

    Args:
        batches: begins to give (position, batch, next position) of each. Under a strategy Keras
            looks at the first one and then begins anew.
        devices: of which each process gets its share of a batch's rows.
        group: rows of a batch that stay together.
    """

    def __init__(
        self,
        batches: Callable[[], Iterable[tuple[Position, Batch, Position]]],
        devices: Devices = ALONE,
        group: int = 1,
    ) -> None:
        self._batches = batches
        self._devices, self._group = devices, group
        self._handed: deque[Handed] = deque()

    def taken(self) -> Handed:
        """The oldest batch that fit has finished with."""
        return self._handed.popleft()

    def _fed(self) -> Iterator[Fed]:
        # One that was begun before may still be making batches ahead, in its own thread.
        self._handed = handed = deque[Handed]()
        began = time.perf_counter()
        for at, batch, following in self._batches():
            weights = (batch.target_out != PAD_ID).astype(np.float32)
            tokens = int(np.count_nonzero(weights))
            weights /= max(tokens, 1)
            handed.append(Handed(at, following, tokens, time.perf_counter() - began))
            source, target_in, target_out, weights = (
                self._devices.share(each, self._group)
                for each in (batch.source, batch.target_in, batch.target_out, weights)
            )
            yield (source, target_in), target_out, weights
            began = time.perf_counter()

    def dataset(self) -> Any:
        """What to give to fit or evaluate: one trace serves all shapes on TensorFlow."""
        if keras.backend.backend() != "tensorflow":
            return self._fed()
        import tensorflow as tf

        ids, weights = tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None])
        signature = ((ids, ids), ids, weights)
        dataset = tf.data.Dataset.from_generator(self._fed, output_signature=signature)
        return dataset.prefetch(PREFETCH)
