"""Phrases that must stand in a translation: dynamic beam allocation.

Post & Vilar 2018 (https://arxiv.org/abs/1804.06609). Hypotheses stand in banks by how many
tokens of their phrases they have. Each bank gets its share of the beam, so that those that are
still without a phrase do not crowd out those that have paid for one; and the next tokens of the
phrases are candidates whatever their probability. So the fullest bank fills by a token a step,
and no hypothesis ends before it has all.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_cli.text.tokenizer import END_ID

Phrase = tuple[int, ...]
Candidate = tuple[float, int, int]  # -sum, token, beam: sorts as search ranks


def progress(past: Sequence[int], phrases: Sequence[Phrase]) -> tuple[int, set[int]]:
    """How many tokens of the phrases a text has, and which tokens would add one.

    A phrase that has only begun counts as far as the end of the text spells it; of several the
    longest.
    """
    missing = [each for each in phrases if not _contains(past, each)]
    had = sum(map(len, phrases)) - sum(map(len, missing))
    begun = max((_begun(past, each) for each in missing), default=0)
    following = {each[begun] for each in missing if begun and _ends_with(past, each[:begun])}
    return had + begun, following or {each[0] for each in missing}


def _contains(past: Sequence[int], phrase: Phrase) -> bool:
    starts = range(len(past) - len(phrase) + 1)
    return any(tuple(past[at : at + len(phrase)]) == phrase for at in starts)


def _begun(past: Sequence[int], phrase: Phrase) -> int:
    lengths = range(min(len(past), len(phrase) - 1), 0, -1)
    return next((each for each in lengths if _ends_with(past, phrase[:each])), 0)


def _ends_with(past: Sequence[int], tokens: Phrase) -> bool:
    return tuple(past[len(past) - len(tokens) :]) == tokens


def constrained_best(
    sums: NDArray[np.float32],
    log_probs: NDArray[np.float32],
    free: NDArray[np.float32],
    past: NDArray[np.int32],
    phrases: Sequence[Phrase],
    slots: int,
    last: bool,
) -> list[Candidate]:
    """The continuations that a sentence takes, at most ``slots``, best first.

    Args:
        sums: [K], -inf where a beam is closed.
        log_probs: [K, V], written over.
        free: [K, V], as the model gave them: no rule keeps a phrase out.
        past: [K, T].
        phrases: that must stand in the translation; no two the same.
        slots: how many beams go on.
        last: whether no step follows.
    """
    wanted = sum(map(len, phrases))
    banks: dict[int, list[Candidate]] = {}
    for beam, token in _candidates(sums, log_probs, free, past, phrases, slots):
        had, _ = progress([*past[beam].tolist(), token], phrases)
        candidate = (-float(sums[beam] + log_probs[beam, token]), token, beam)
        banks.setdefault(had, []).append(candidate)
    if last and banks:  # what lacks a phrase now will never have it
        banks = {max(banks): banks[max(banks)]}
    chosen: list[Candidate] = []
    for had, share in _shares({had: len(each) for had, each in banks.items()}, wanted, slots):
        chosen += sorted(banks[had])[:share]
    return sorted(chosen)


def _candidates(
    sums: NDArray[np.float32],
    log_probs: NDArray[np.float32],
    free: NDArray[np.float32],
    past: NDArray[np.int32],
    phrases: Sequence[Phrase],
    slots: int,
) -> set[tuple[int, int]]:
    """Beams and tokens to choose among: the best of all, the best of each beam, and those that
    a beam's phrases lack."""
    wanted = sum(map(len, phrases))
    pairs: set[tuple[int, int]] = set()
    for beam in np.flatnonzero(sums > -np.inf).tolist():
        had, following = progress(past[beam].tolist(), phrases)
        if had < wanted:
            log_probs[beam, END_ID] = -np.inf
        for token in following:
            log_probs[beam, token] = free[beam, token]
            pairs.add((beam, token))
        pairs.add((beam, int(log_probs[beam].argmax())))
    totals = sums[:, None] + log_probs
    vocabulary = log_probs.shape[1]
    best = np.argsort(-totals, axis=None, kind="stable")[:slots].tolist()
    pairs |= {divmod(place, vocabulary) for place in best}
    return {(beam, token) for beam, token in pairs if totals[beam, token] > -np.inf}


def _shares(counts: dict[int, int], wanted: int, slots: int) -> Iterator[tuple[int, int]]:
    """How many slots each bank gets: alike, what is left over to the fullest, and what a bank
    cannot use to the fullest that can."""
    shares = {had: min(count, slots // (wanted + 1)) for had, count in counts.items()}
    free = slots - sum(shares.values())
    for had in sorted(counts, reverse=True):
        more = min(free, counts[had] - shares[had])
        shares[had] += more
        free -= more
    yield from shares.items()
