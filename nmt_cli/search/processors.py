"""What changes log-probabilities before tokens are ranked.

A processor gets the log-probabilities of what may follow, float32 [B, K, V], writes into them,
and is told what each beam has so far, int32 [B, K, T] without START. What must not follow gets
-inf. B sentences, K beams, V vocabulary, T tokens so far.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from nmt_cli.search.options import SearchOptions
from nmt_cli.text.tokenizer import END_ID, UNK_ID, Tokenizer

LogProbs = NDArray[np.float32]
Past = NDArray[np.int32]
Processor = Callable[[LogProbs, Past], None]


def processors_of(
    options: SearchOptions, suppressed: Sequence[str], target: Tokenizer
) -> tuple[Processor, ...]:
    """The processors that options and words to suppress ask for, in the order they act."""
    found: list[Processor] = []
    if options.repetition_penalty != 1:
        found.append(repetition_penalty(options.repetition_penalty))
    if options.without_unknown:
        found.append(without(UNK_ID))
    if options.no_repeat_ngram:
        found.append(no_repeat(options.no_repeat_ngram))
    if suppressed:
        found.append(Suppress(suppressed, target.surfaces()))
    if options.min_length:
        found.append(min_length(options.min_length))
    return tuple(found)


def without(token: int) -> Processor:
    """Never take a token."""

    def process(log_probs: LogProbs, past: Past) -> None:
        log_probs[..., token] = -np.inf

    return process


def min_length(tokens: int) -> Processor:
    """No END before so many tokens."""

    def process(log_probs: LogProbs, past: Past) -> None:
        if past.shape[2] < tokens:
            log_probs[..., END_ID] = -np.inf

    return process


def repetition_penalty(penalty: float) -> Processor:
    """Multiply the log-probabilities of tokens that a beam has already.

    Keskar et al. 2019, equation after 1, on log-probabilities, none of which is positive.
    """

    def process(log_probs: LogProbs, past: Past) -> None:
        there = np.take_along_axis(log_probs, past, axis=2)
        np.put_along_axis(log_probs, past, there * np.float32(penalty), axis=2)

    return process


def no_repeat(size: int) -> Processor:
    """No ``size`` tokens twice in the same order."""

    def process(log_probs: LogProbs, past: Past) -> None:
        length = past.shape[2]
        if length < size:
            return
        # Windows of size - 1 tokens that something follows, and what follows them.
        windows = np.lib.stride_tricks.sliding_window_view(past, size, axis=2)
        last = past[:, :, None, length - size + 1 :]
        repeated = (windows[..., :-1] == last).all(axis=3)  # [B, K, windows]
        sentences, beams, at = np.nonzero(repeated)
        log_probs[sentences, beams, windows[sentences, beams, at, -1]] = -np.inf

    return process


class Suppress:
    """No translation has one of some phrases, however they are split into tokens.

    A phrase begins where a word begins. The token that would complete it is never taken, also
    where a longer word would have begun with it.

    Args:
        phrases: as they are written; case counts.
        surfaces: of all tokens, see nmt_cli.text.tokenizer.Tokenizer.surfaces.
    """

    def __init__(self, phrases: Sequence[str], surfaces: Sequence[bytes]) -> None:
        self._surfaces = surfaces
        self._phrases = [b" " + " ".join(each.split()).encode() for each in phrases]
        self._longest = max(map(len, self._phrases))
        by_surface: dict[bytes, list[int]] = {}
        for token, surface in enumerate(surfaces):
            by_surface.setdefault(surface, []).append(token)
        # What a text may end with, and which tokens would then complete a phrase.
        self._ends: dict[bytes, list[int]] = {}
        for phrase in self._phrases:
            for cut in range(len(phrase)):
                tokens = by_surface.get(phrase[cut:])
                if tokens:
                    self._ends.setdefault(phrase[:cut], []).extend(tokens)

    def __call__(self, log_probs: LogProbs, past: Past) -> None:
        """See the module."""
        for sentence, beams in enumerate(past):
            for beam, tokens in enumerate(beams):
                text = self._tail(tokens)
                for end, completing in self._ends.items():
                    if text.endswith(end):
                        log_probs[sentence, beam, completing] = -np.inf

    def _tail(self, tokens: NDArray[np.int32]) -> bytes:
        """The end of a text, as far as a phrase reaches."""
        parts: list[bytes] = []
        length = 0
        for token in reversed(tokens.tolist()):
            if length >= self._longest:
                break
            parts.append(self._surfaces[token])
            length += len(parts[-1])
        return b"".join(reversed(parts))
