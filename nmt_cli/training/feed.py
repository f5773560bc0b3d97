"""Handing numpy batches to Keras' fit on any backend."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np

from nmt_cli.data.batches import Batch
from nmt_cli.text.tokenizer import PAD_ID

PREFETCH = 4  # batches made ahead of the step that uses them

Fed = tuple[tuple[Any, Any], Any]  # ((source, target_in), target_out)


class Feed:
    """Batches as fit wants them, with a count of what each holds.

    Attributes:
        tokens: target tokens of each batch handed out and not yet :meth:`taken`.
    """

    def __init__(self, batches: Iterable[Batch]) -> None:
        self._batches = batches
        self.tokens: deque[int] = deque()

    def taken(self) -> int:
        """Target tokens of the oldest batch that fit has finished with."""
        return self.tokens.popleft()

    def _pairs(self) -> Iterator[Fed]:
        for batch in self._batches:
            self.tokens.append(int(np.count_nonzero(batch.target_out != PAD_ID)))
            yield (batch.source, batch.target_in), batch.target_out

    def dataset(self) -> Any:
        """What to give to fit or evaluate: one trace serves all shapes on TensorFlow."""
        if keras.backend.backend() != "tensorflow":
            return self._pairs()
        import tensorflow as tf

        ids = tf.TensorSpec([None, None], tf.int32)
        dataset = tf.data.Dataset.from_generator(self._pairs, output_signature=((ids, ids), ids))
        return dataset.prefetch(PREFETCH)
