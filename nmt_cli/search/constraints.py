"""Lexical constraints, phrases that a translation must contain, by dynamic beam allocation.

Post & Vilar 2018 (https://arxiv.org/abs/1804.06609). Hypotheses are grouped into banks by how many
tokens of their phrases they contain. Each bank gets a share of the beam, so that hypotheses
without a phrase do not displace those that paid for one, and the next tokens of the phrases are
always candidates. The fullest bank grows by a token per step, and no hypothesis ends before it
contains all phrases.
"""

from collections.abc import Sequence

import numpy as np

from nmt_cli.search.step_model import Floats, Ids
from nmt_cli.text.tokenizer import END_ID

Phrase = tuple[int, ...]
Candidate = tuple[float, int, int]  # -sum, token, beam: sorts as search ranks


def progress(past: Sequence[int], phrases: Sequence[Phrase]) -> tuple[int, set[int]]:
    """How many tokens of the phrases a text contains, and which tokens would add one.

    A partial phrase counts if the text ends with it; of several the longest.
    """
    missing = [each for each in phrases if not _contains(past, each)]
    had = sum(map(len, phrases)) - sum(map(len, missing))
    lengths = [_begun(past, each) for each in missing]
    begun = max(lengths, default=0)
    pairs = zip(missing, lengths, strict=True)
    return had + begun, {each[begun] for each, length in pairs if length == begun}


def _contains(past: Sequence[int], phrase: Phrase) -> bool:
    starts = range(len(past) - len(phrase) + 1)
    return any(tuple(past[at : at + len(phrase)]) == phrase for at in starts)


def _begun(past: Sequence[int], phrase: Phrase) -> int:
    """How many tokens of a phrase, but not all, a text ends with."""
    lengths = range(min(len(past), len(phrase) - 1), 0, -1)
    return next((each for each in lengths if tuple(past[-each:]) == phrase[:each]), 0)


def constrained_best(
    sums: Floats,
    log_probs: Floats,
    free: Floats,
    past: Ids,
    phrases: Sequence[Phrase],
    slots: int,
    last: bool,
) -> list[Candidate]:
    """The continuations of a sentence, at most ``slots``, best first.

    Args:
        sums: [K], -inf where a beam is closed.
        log_probs: [K, V], changed in place.
        free: [K, V], before processors, which must not forbid a phrase.
        past: [K, T].
        phrases: that the translation must contain; all different.
        slots: number of beams to fill.
        last: whether this is the last step.
    """
    wanted = sum(map(len, phrases))
    # The next tokens of each beam's phrases, the best token of each beam, and the best overall.
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
    best = np.argsort(-totals, axis=None, kind="stable")[:slots].tolist()
    pairs |= {divmod(place, log_probs.shape[1]) for place in best}
    banks: dict[int, list[Candidate]] = {}
    for beam, token in pairs:
        if totals[beam, token] == -np.inf:
            continue
        had, _ = progress([*past[beam].tolist(), token], phrases)
        candidate = (-float(sums[beam] + log_probs[beam, token]), token, beam)
        banks.setdefault(had, []).append(candidate)
    if last and banks:  # only the fullest bank can still be complete
        banks = {max(banks): banks[max(banks)]}
    # Equal shares; what is left over goes to the fullest banks that can use it.
    share = slots // (wanted + 1)
    left = slots - sum(min(len(each), share) for each in banks.values())
    chosen: list[Candidate] = []
    for had in sorted(banks, reverse=True):
        bank = banks[had]
        more = min(left, max(0, len(bank) - share))
        left -= more
        chosen += sorted(bank)[: share + more]
    return sorted(chosen)
