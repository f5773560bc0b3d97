"""Batches of sentences of similar length, run in parallel and made smaller if memory runs out."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.search.step_model import BatchTooLarge
from nmt_cli.text.tokenizer import PAD_ID

# Widths of batches are multiples of this. Matrix products sum in groups of four: a sentence's last
# tokens must fall into the same group, however far the sentence is padded.
WIDTH_STEP = 4

Result = TypeVar("Result")
Rows = list[int]


def padded(pieces: Sequence[Sequence[int]]) -> NDArray[np.int32]:
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
    warn: Callable[[str], None],
) -> list[Result]:
    """Apply ``work`` to all rows in batches and return the results in order.

    Args:
        sizes: tokens of each row.
        budget: tokens of a batch, padding included.
        workers: batches run in parallel, each in its own thread.
        work: returns the results of some rows; may raise BatchTooLarge.
        warn: receives a message when there is not enough memory for a batch, which is then halved.

    Raises:
        NmtError: there is not enough memory for a single row.
    """

    def run(rows: Rows) -> Sequence[Result]:
        try:
            return work(rows)
        except BatchTooLarge:
            if len(rows) == 1:
                raise NmtError(
                    f"not enough memory for one sentence of {sizes[rows[0]]:,} tokens",
                    "use a smaller --beam-size",
                ) from None
        half = len(rows) // 2
        warn(f"not enough memory for {len(rows)} sentences at a time; trying {half}")
        return [*run(rows[:half]), *run(rows[half:])]

    batches = list(batches_of(sizes, budget, workers))
    if workers == 1 or len(batches) == 1:
        found = [run(rows) for rows in batches]
    else:
        with ThreadPoolExecutor(workers) as pool:
            found = list(pool.map(run, batches))
    results = {
        row: result
        for rows, of_batch in zip(batches, found, strict=True)
        for row, result in zip(rows, of_batch, strict=True)
    }
    return [results[row] for row in range(len(sizes))]


def batches_of(sizes: Sequence[int], budget: int, workers: int) -> Iterator[Rows]:
    """Row numbers of batches with similar lengths, longest first, within the budget.

    Batches are smaller if that gives each worker one.
    """
    share = -(-len(sizes) // workers)
    batch: Rows = []
    for row in sorted(range(len(sizes)), key=lambda row: -sizes[row]):
        full = (len(batch) + 1) * sizes[batch[0]] > budget if batch else False
        if full or len(batch) == share:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
