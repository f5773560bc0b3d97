"""Choose the attention heads that align words best, without aligned text.

A good alignment links the same tokens again and again. Attention weights, taken as links, give Dice
coefficients of source and target tokens (Och and Ney 2003, https://aclanthology.org/J03-1002): the
share of the links of both that are between them. The best heads are those whose weights link the
tokens of held-out pairs with large coefficients, according to the links of other pairs.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.hypotheses import Pairs, forced_steps
from nmt_cli.search.segments import padded
from nmt_cli.search.step_model import Head, StepModel, aligning_weights
from nmt_cli.text.tokenizer import END_ID

MAX_HEADS = 3
MAX_PAIRS, MAX_TOKENS = 500, 48
_BATCH = 32
_SMOOTHING = 0.01


def alignment_heads(model: StepModel, pairs: Pairs) -> tuple[Head, ...]:
    """Return the heads whose mean aligns the tokens of held-out pairs best; none without pairs."""
    usable = [pair for pair in pairs if pair[1] and _words(pair[0]).size]
    usable = [pair for pair in usable if max(map(len, pair)) <= MAX_TOKENS][:MAX_PAIRS]
    pairs, logs = sorted(usable, key=lambda pair: len(pair[1])), dict[Head, list[NDArray]]()
    for start in range(0, len(pairs), _BATCH):
        batch = pairs[start : start + _BATCH]
        target = padded([[*ids, END_ID] for _, ids in batch])
        steps = forced_steps(model, padded([ids for ids, _ in batch]), target, attention=True)
        maps = np.stack([weights for _, weights in steps if weights is not None], axis=3)
        for (source, ids), own in zip(batch, maps, strict=True):
            for head in product(range(own.shape[0]), range(own.shape[1]), (0, 1)):
                weights = aligning_weights(own[None, :, :, : len(ids) + 1], [head])[0, :-1]
                links = np.log(np.maximum(weights[:, _words(source)], 1e-9)).ravel()
                logs.setdefault(head, []).append(links)
    left = {head: np.concatenate(links) for head, links in logs.items()}
    association, chosen, best, total = _Association(pairs), list[Head](), -np.inf, np.zeros(1)
    while left and len(chosen) < MAX_HEADS:
        scores = {
            association.of(np.exp((total + links) / (len(chosen) + 1))): head
            for head, links in left.items()
        }
        if max(scores) <= best:
            break
        best = max(scores)
        chosen.append(scores[best])
        total = total + left.pop(scores[best])
    return tuple(chosen)


def _words(source: list[int]) -> NDArray[np.int64]:
    """Return the positions of tokens that are not special."""
    return np.flatnonzero(np.array(source) > END_ID)


class _Association:
    """Measures how strongly links associate the tokens of pairs."""

    def __init__(self, pairs: Pairs) -> None:
        links = [
            (number, position, token, source[column])
            for number, (source, target) in enumerate(pairs)
            for position, token in enumerate(target)
            for column in _words(source)
        ]
        numbers, positions, targets, sources = np.array(links, np.int64).reshape(-1, 4).T
        self._rows = np.unique(numbers * MAX_TOKENS + positions, return_inverse=True)[1]
        # Equal links, source tokens and target tokens have equal numbers; also within a pair.
        self._groups = [
            [np.unique(ids, return_inverse=True)[1] for ids in (keys, keys * len(pairs) + numbers)]
            for keys in (sources * (targets.max(initial=0) + 1) + targets, sources, targets)
        ]

    def of(self, weights: NDArray[np.float64]) -> float:
        """Return the mean logarithm of the Dice coefficients of links with these weights."""
        weights = weights / np.bincount(self._rows, weights)[self._rows]
        links, sources, targets = (
            np.bincount(ids, weights)[ids] - np.bincount(own, weights)[own]
            for ids, own in self._groups
        )
        dice = (2 * np.maximum(links, 0) + _SMOOTHING) / (sources + targets + 1)
        return float(np.log(np.bincount(self._rows, weights * dice)).mean())
