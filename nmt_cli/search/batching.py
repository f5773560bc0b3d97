"""Batches of sentences of similar length, run in parallel and made smaller if memory runs out."""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TypeVar

import numpy as np

from nmt_cli.errors import ResourceError
from nmt_cli.search.step_model import BatchTooLarge, Ids
from nmt_cli.text.tokenizer import PAD_ID

# Widths of batches are multiples of this. Matrix products sum in groups of four: a sentence's last
# tokens must fall into the same group, however far the sentence is padded.
WIDTH_STEP = 4

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
Rows = list[int]


def padded(pieces: Sequence[Sequence[int]]) -> Ids:
    """Pad sentences into one batch, [B, S]."""
    width = -(-max(map(len, pieces)) // WIDTH_STEP) * WIDTH_STEP
    source = np.full((len(pieces), width), PAD_ID, np.int32)
    for row, piece in zip(source, pieces, strict=True):
        row[: len(piece)] = piece
    return source


def in_batches(
    sizes: Sequence[int],
    budget: int,
    workers: int,
    work: Callable[[Rows], Sequence[Result]],
) -> list[Result]:
    """Apply ``work`` to all rows in batches and return the results in order.

    A batch for which ``work`` raises BatchTooLarge is halved, with a warning.

    Args:
        sizes: tokens of each row.
        budget: tokens of a batch, padding included.
        workers: batches run in parallel, each in its own thread.

    Raises:
        ResourceError: there is not enough memory for a single row.
    """

    def run(rows: Rows) -> Sequence[Result]:
        try:
            return work(rows)
        except BatchTooLarge:
            if len(rows) == 1:
                raise ResourceError(
                    f"not enough memory for one sentence of {sizes[rows[0]]:,} tokens",
                    "use a smaller `beam_size`",
                ) from None
        half = len(rows) // 2
        logger.warning(f"not enough memory for {len(rows)} sentences at a time; trying {half}")
        return [*run(rows[:half]), *run(rows[half:])]

    batches = list(batches_of(sizes, budget, workers))
    if workers == 1 or len(batches) == 1:
        found = [run(rows) for rows in batches]
    else:
        with ThreadPoolExecutor(workers) as pool:
            found = list(pool.map(run, batches))
    results = dict(zip(chain(*batches), chain(*found), strict=True))
    return [results[row] for row in range(len(sizes))]


def batches_of(sizes: Sequence[int], budget: int, workers: int) -> Iterator[Rows]:
    """Row numbers of batches with similar lengths, longest first, within the budget.

    Batches are smaller if that gives each worker one.
    """
    share = -(-len(sizes) // workers)
    batch: Rows = []
    for row in sorted(range(len(sizes)), key=lambda row: -sizes[row]):
        if batch and (len(batch) == share or (len(batch) + 1) * sizes[batch[0]] > budget):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
