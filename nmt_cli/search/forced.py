"""Given translations, token by token: what a model thinks of them, and what it looks at.

B sentences, S source positions, T tokens of a translation, END included.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.step_model import StepModel
from nmt_cli.text.tokenizer import END_ID, START_ID


@dataclass(frozen=True)
class Forced:
    """One translation.

    Attributes:
        token_scores: log-probabilities of its tokens and of END, [T].
        attention: what each token owes to the source, [T, S]; None where it was not asked for.
    """

    token_scores: list[float]
    attention: NDArray[np.float32] | None = None

    @property
    def total(self) -> float:
        """Their sum, added up as search does: in float32, from the first on."""
        return float(np.add.accumulate(np.array(self.token_scores, np.float32))[-1])


def force(
    model: StepModel,
    source: NDArray[np.int32],
    targets: Sequence[Sequence[int]],
    attention: bool = False,
) -> list[Forced]:
    """Lead each translation through the decoder.

    Args:
        model: what gives the probabilities.
        source: [B, S], framed and padded.
        targets: ids of the translations, without END.
        attention: also tell what the decoder looks at.

    Raises:
        NmtError: the model does not tell.
    """
    ends = [[*ids, END_ID] for ids in targets]
    longest = max(map(len, ends), default=0)
    table = np.full((len(ends), longest), END_ID, np.int32)
    for row, ids in zip(table, ends, strict=True):
        row[: len(ids)] = ids
    scores = np.zeros(table.shape, np.float32)
    looks: list[NDArray[np.float32]] = []
    state, last = model.encode(source), np.full(len(ends), START_ID, np.int32)
    rows = np.arange(len(ends))
    for step in range(longest):
        ancestry = np.ones((len(ends), 1, step + 1), np.bool_)
        if attention:
            looks.append(model.attention(state, last[:, None], ancestry)[:, 0])
        log_probs, state = model.log_probs(state, last[:, None], ancestry)
        last = table[:, step]
        scores[:, step] = log_probs[rows, 0, last]
    weights = np.stack(looks, axis=1) if looks else None  # [B, T, S]
    return [
        Forced(
            scores[row, : len(ids)].tolist(),
            weights[row, : len(ids)] if weights is not None else None,
        )
        for row, ids in enumerate(ends)
    ]
