"""Logits processors: rules that change log-probabilities before tokens are ranked.

A processor gets the log-probabilities of the next token, float32 [B, K, V], and the tokens of each
beam so far, int32 [B, K, T] without START. It changes the log-probabilities in place: -inf for a
token that must not follow. B sentences, K beams, V vocabulary, T tokens so far.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.options import SearchOptions
from nmt_cli.text.tokenizer import END_ID, UNK_ID, Tokenizer

LogProbs = NDArray[np.float32]
Past = NDArray[np.int32]
Processor = Callable[[LogProbs, Past], None]


def processors_of(options: SearchOptions, target: Tokenizer) -> tuple[Processor, ...]:
    """The processors that the options ask for, in the order in which they apply."""
    found: list[Processor] = []
    if options.repetition_penalty != 1:
        found.append(partial(penalize_repetition, options.repetition_penalty))
    if options.unk == "avoid":
        found.append(avoid_unknown)
    if options.no_repeat_ngram:
        found.append(partial(forbid_repeats, options.no_repeat_ngram))
    if options.suppress:
        found.append(Suppress(options.suppress, target.surfaces()))
    if options.min_length:
        found.append(partial(require_length, options.min_length))
    return tuple(found)


def avoid_unknown(log_probs: LogProbs, past: Past) -> None:
    """Never choose the unknown token."""
    log_probs[..., UNK_ID] = -np.inf


def require_length(tokens: int, log_probs: LogProbs, past: Past) -> None:
    """Allow END only after this many tokens."""
    if past.shape[2] < tokens:
        log_probs[..., END_ID] = -np.inf


def penalize_repetition(penalty: float, log_probs: LogProbs, past: Past) -> None:
    """Multiply the log-probabilities of tokens that a beam already contains.

    Keskar et al. 2019, equation after 1, applied to log-probabilities, which are never positive.
    """
    there = np.take_along_axis(log_probs, past, axis=2)
    np.put_along_axis(log_probs, past, there * np.float32(penalty), axis=2)


def forbid_repeats(size: int, log_probs: LogProbs, past: Past) -> None:
    """Allow no sequence of ``size`` tokens to occur twice."""
    length = past.shape[2]
    if length < size:
        return
    # All n-grams so far: size - 1 tokens and the token that followed them.
    windows = np.lib.stride_tricks.sliding_window_view(past, size, axis=2)
    last = past[:, :, None, length - size + 1 :]
    repeated = (windows[..., :-1] == last).all(axis=3)  # [B, K, windows]
    sentences, beams, at = np.nonzero(repeated)
    log_probs[sentences, beams, windows[sentences, beams, at, -1]] = -np.inf


class Suppress:
    """Keep phrases out of translations, however they are split into tokens.

    A phrase starts at the start of a word. The token that would complete it is never chosen, even
    if it could start a longer word. Case matters. ``surfaces`` are those of all tokens.
    """

    def __init__(self, phrases: Sequence[str], surfaces: Sequence[bytes]) -> None:
        self._surfaces = surfaces
        encoded = [b" " + " ".join(each.split()).encode() for each in phrases]
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

    def __call__(self, log_probs: LogProbs, past: Past) -> None:
        """Forbid the tokens that would complete a phrase."""
        for place in np.ndindex(past.shape[:2]):
            text = self._tail(past[place].tolist())
            for end, completing in self._ends.items():
                if text.endswith(end):
                    log_probs[(*place, completing)] = -np.inf

    def _tail(self, tokens: Sequence[int]) -> bytes:
        """The last bytes of a text, at least as many as the longest phrase has."""
        text = b""
        for token in reversed(tokens):
            if len(text) >= self._longest:
                break
            text = self._surfaces[token] + text
        return text
