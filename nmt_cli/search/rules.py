"""Rules of a search: logits processors and lexical constraints.

A processor gets the log-probabilities of the next token, float32 [B, K, V], and the tokens of each
beam so far, int32 [B, K, T] without START. It changes the log-probabilities in place: -inf for a
token that must not follow. B sentences, K beams, V vocabulary, T tokens so far.

Phrases that a translation must contain are placed by dynamic beam allocation (Post & Vilar 2018,
https://arxiv.org/abs/1804.06609). Hypotheses are grouped into banks by how many tokens of their
phrases they contain. Each bank gets a share of the beam, so that hypotheses without a phrase do
not displace those that paid for one, and the next tokens of the phrases are always candidates. The
fullest bank grows by a token per step, and no hypothesis ends before it contains all phrases.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from nmt_cli.search.options import SearchOptions
from nmt_cli.search.step_model import Floats, Ids
from nmt_cli.text.tokenizer import END_ID, UNK_ID, Tokenizer

Processor = Callable[[Floats, Ids], None]
Phrase = tuple[int, ...]
Candidate = tuple[float, int, int]  # -sum, token, beam: sorts as search ranks


def processors_of(options: SearchOptions, target: Tokenizer) -> tuple[Processor, ...]:
    """Return the processors that the options request, in the order in which they apply."""
    processors: list[Processor] = []
    if options.repetition_penalty != 1:
        processors.append(partial(penalize_repetition, options.repetition_penalty))
    if options.unk == "avoid":
        processors.append(avoid_unknown)
    if options.no_repeat_ngram:
        processors.append(partial(forbid_repeats, options.no_repeat_ngram))
    if options.suppress:
        processors.append(Suppress(options.suppress, target.surfaces()))
    if options.min_length:
        processors.append(partial(require_length, options.min_length))
    return tuple(processors)


def avoid_unknown(log_probs: Floats, past: Ids) -> None:
    """Never choose the unknown token."""
    log_probs[..., UNK_ID] = -np.inf


def require_length(tokens: int, log_probs: Floats, past: Ids) -> None:
    """Allow END only after this many tokens."""
    if past.shape[2] < tokens:
        log_probs[..., END_ID] = -np.inf


def penalize_repetition(penalty: float, log_probs: Floats, past: Ids) -> None:
    """Multiply the log-probabilities of tokens that a beam already contains.
    Keskar et al. 2019, equation after 1, applied to log-probabilities, which are never positive."""
    there = np.take_along_axis(log_probs, past, axis=2)
    np.put_along_axis(log_probs, past, there * np.float32(penalty), axis=2)


def forbid_repeats(size: int, log_probs: Floats, past: Ids) -> None:
    """Allow no sequence of ``size`` tokens to occur twice."""
    length = past.shape[2]
    if length < size:
        return
    # All n-grams so far: size - 1 tokens and the token that followed them.
    windows = np.lib.stride_tricks.sliding_window_view(past, size, axis=2)
    last = past[:, :, None, length - size + 1 :]
    repeated = (windows[..., :-1] == last).all(axis=3)  # [B, K, windows]
    sentences, beams, starts = np.nonzero(repeated)
    log_probs[sentences, beams, windows[sentences, beams, starts, -1]] = -np.inf


class Suppress:
    """Keep phrases out of translations, however they are split into tokens.

    A phrase starts at the start of a word. The token that would complete it is never chosen, even
    if it could start a longer word. Case matters. ``surfaces`` are the bytes of all tokens.
    """

    def __init__(self, phrases: Sequence[str], surfaces: Sequence[bytes]) -> None:
        self._surfaces = surfaces
        encoded = [b" " + " ".join(phrase.split()).encode() for phrase in phrases]
        self._longest = max(map(len, encoded))
        by_surface: dict[bytes, list[int]] = {}
        for token, surface in enumerate(surfaces):
            by_surface.setdefault(surface, []).append(token)
        # Text so far -> tokens that would complete a phrase after it.
        self._ends: dict[bytes, list[int]] = {}
        for phrase in encoded:
            for cut in range(len(phrase)):
                if tokens := by_surface.get(phrase[cut:]):
                    self._ends.setdefault(phrase[:cut], []).extend(tokens)

    def __call__(self, log_probs: Floats, past: Ids) -> None:
        """Forbid the tokens that would complete a phrase."""
        for sentence, beam in np.ndindex(past.shape[:2]):
            text = b""  # the last bytes of the text, as many as the longest phrase has, or more
            for token in reversed(past[sentence, beam].tolist()):
                if len(text) >= self._longest:
                    break
                text = self._surfaces[token] + text
            for end, completing in self._ends.items():
                if text.endswith(end):
                    log_probs[sentence, beam, completing] = -np.inf


def progress(past: Sequence[int], phrases: Sequence[Phrase]) -> tuple[int, set[int]]:
    """Return how many tokens of the phrases a text contains, and which tokens would add one.
    A partial phrase counts if the text ends with it; of several the longest."""
    missing = [phrase for phrase in phrases if not _contains(past, phrase)]
    contained = sum(map(len, phrases)) - sum(map(len, missing))
    lengths = [_begun(past, phrase) for phrase in missing]
    begun = max(lengths, default=0)
    pairs = zip(missing, lengths, strict=True)
    return contained + begun, {phrase[begun] for phrase, length in pairs if length == begun}


def _contains(past: Sequence[int], phrase: Phrase) -> bool:
    starts = range(len(past) - len(phrase) + 1)
    return any(tuple(past[start : start + len(phrase)]) == phrase for start in starts)


def _begun(past: Sequence[int], phrase: Phrase) -> int:
    """How many tokens of a phrase, but not all, a text ends with."""
    lengths = range(min(len(past), len(phrase) - 1), 0, -1)
    return next((length for length in lengths if tuple(past[-length:]) == phrase[:length]), 0)


def constrained_best(
    sums: Floats,
    log_probs: Floats,
    unruled: Floats,
    past: Ids,
    phrases: Sequence[Phrase],
    slots: int,
    last: bool,
) -> list[Candidate]:
    """Return the continuations of a sentence, at most ``slots``, best first.

    Args:
        sums: [K], -inf where a beam is closed.
        log_probs: [K, V], changed in place.
        unruled: [K, V], before processors, which must not forbid a phrase.
        past: [K, T].
        last: whether this is the last step.
    """
    required = sum(map(len, phrases))
    # The next tokens of each beam's phrases, the best token of each beam, and the best overall.
    pairs: set[tuple[int, int]] = set()
    for beam in np.flatnonzero(sums > -np.inf).tolist():
        contained, following = progress(past[beam].tolist(), phrases)
        if contained < required:
            log_probs[beam, END_ID] = -np.inf
        for token in following:
            log_probs[beam, token] = unruled[beam, token]
            pairs.add((beam, token))
        pairs.add((beam, int(log_probs[beam].argmax())))
    totals = sums[:, None] + log_probs
    best = np.argsort(-totals, axis=None, kind="stable")[:slots].tolist()
    pairs |= {divmod(index, log_probs.shape[1]) for index in best}
    banks: dict[int, list[Candidate]] = {}
    for beam, token in pairs:
        if totals[beam, token] == -np.inf:
            continue
        contained, _ = progress([*past[beam].tolist(), token], phrases)
        candidate = (-float(sums[beam] + log_probs[beam, token]), token, beam)
        banks.setdefault(contained, []).append(candidate)
    if last and banks:  # only the fullest bank can still be complete
        banks = {max(banks): banks[max(banks)]}
    # Equal shares; what is left over goes to the fullest banks that can use it.
    share = slots // (required + 1)
    left = slots - sum(min(len(bank), share) for bank in banks.values())
    chosen: list[Candidate] = []
    for contained in sorted(banks, reverse=True):
        bank = banks[contained]
        more = min(left, max(0, len(bank) - share))
        left -= more
        chosen += sorted(bank)[: share + more]
    return sorted(chosen)
