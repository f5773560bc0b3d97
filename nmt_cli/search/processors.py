"""Logits processors: rules that change log-probabilities before tokens are ranked.

A processor gets the log-probabilities of the next token, float32 [B, K, V], and the tokens of each
beam so far, int32 [B, K, T] without START. It changes the log-probabilities in place: -inf for a
token that must not follow. B sentences, K beams, V vocabulary, T tokens so far.
"""

from collections.abc import Callable, Sequence

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
        found.append(repetition_penalty(options.repetition_penalty))
    if options.unk == "avoid":
        found.append(without(UNK_ID))
    if options.no_repeat_ngram:
        found.append(no_repeat(options.no_repeat_ngram))
    if options.suppress:
        found.append(Suppress(options.suppress, target.surfaces()))
    if options.min_length:
        found.append(min_length(options.min_length))
    return tuple(found)


def without(token: int) -> Processor:
    """Never choose a token."""

    def process(log_probs: LogProbs, past: Past) -> None:
        log_probs[..., token] = -np.inf

    return process


def min_length(tokens: int) -> Processor:
    """Allow END only after this many tokens."""

    def process(log_probs: LogProbs, past: Past) -> None:
        if past.shape[2] < tokens:
            log_probs[..., END_ID] = -np.inf

    return process


def repetition_penalty(penalty: float) -> Processor:
    """Multiply the log-probabilities of tokens that a beam already contains.

    Keskar et al. 2019, equation after 1, applied to log-probabilities, which are never positive.
    """

    def process(log_probs: LogProbs, past: Past) -> None:
        there = np.take_along_axis(log_probs, past, axis=2)
        np.put_along_axis(log_probs, past, there * np.float32(penalty), axis=2)

    return process


def no_repeat(size: int) -> Processor:
    """Allow no sequence of ``size`` tokens to occur twice."""

    def process(log_probs: LogProbs, past: Past) -> None:
        length = past.shape[2]
        if length < size:
            return
        # All n-grams so far: size - 1 tokens and the token that followed them.
        windows = np.lib.stride_tricks.sliding_window_view(past, size, axis=2)
        last = past[:, :, None, length - size + 1 :]
        repeated = (windows[..., :-1] == last).all(axis=3)  # [B, K, windows]
        sentences, beams, at = np.nonzero(repeated)
        log_probs[sentences, beams, windows[sentences, beams, at, -1]] = -np.inf

    return process


class Suppress:
    """Keep phrases out of translations, however they are split into tokens.

    A phrase starts at the start of a word. The token that would complete it is never chosen, even
    if it could start a longer word.

    Args:
        phrases: as written; case matters.
        surfaces: of all tokens, see nmt_cli.text.tokenizer.Tokenizer.surfaces.
    """

    def __init__(self, phrases: Sequence[str], surfaces: Sequence[bytes]) -> None:
        self._surfaces = surfaces
        self._phrases = [b" " + " ".join(each.split()).encode() for each in phrases]
        self._longest = max(map(len, self._phrases))
        by_surface: dict[bytes, list[int]] = {}
        for token, surface in enumerate(surfaces):
            by_surface.setdefault(surface, []).append(token)
        # Text so far -> tokens that would complete a phrase after it.
        self._ends: dict[bytes, list[int]] = {}
        for phrase in self._phrases:
            for cut in range(len(phrase)):
                tokens = by_surface.get(phrase[cut:])
                if tokens:
                    self._ends.setdefault(phrase[:cut], []).extend(tokens)

    def __call__(self, log_probs: LogProbs, past: Past) -> None:
        """Forbid the tokens that would complete a phrase."""
        for sentence, beams in enumerate(past):
            for beam, tokens in enumerate(beams):
                text = self._tail(tokens)
                for end, completing in self._ends.items():
                    if text.endswith(end):
                        log_probs[sentence, beam, completing] = -np.inf

    def _tail(self, tokens: NDArray[np.int32]) -> bytes:
        """The last bytes of a text, as many as the longest phrase has."""
        parts: list[bytes] = []
        length = 0
        for token in reversed(tokens.tolist()):
            if length >= self._longest:
                break
            parts.append(self._surfaces[token])
            length += len(parts[-1])
        return b"".join(reversed(parts))
