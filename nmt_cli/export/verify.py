"""Comparing what was exported with the model it came from.

An export that does not pass is not put in place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.search.translator import Translation, Translator
from nmt_cli.text.tokenizer import START_ID, TokenizerPair

FORCED_SENTENCES = 16
TRANSLATED_SENTENCES = 100
# Of log-probabilities (nats). Float32 through 2 x 6 layers stays near 1e-5; a wrong mask,
# scale or position shows as 1e-1 and more.
LOGIT_TOLERANCE = 1e-3
# Two hypotheses that the original itself scores this alike are one tie, not a mismatch.
TIE = 1e-4

# Beside real sentences: what tokenizers and line handling stumble over.
HARD_LINES = (
    "",
    " ",
    "\t",
    "a",
    "Ação, coração e pão: ç ã õ é.",
    "naïve café — “quoted” … 100 % €5",
    "e\u0301 combining",
    "日本語 and 🙂👍🏽",
    "x" * 200,
    "1234567890 (a) [b] {c} <d> & | \\ / ~ ^ `",
)


class ForcedModel(Protocol):
    """A step model that also gives full log-probabilities."""

    def encode(self, source: NDArray[np.int32]) -> Any:
        """As search.step_model.StepModel."""

    def log_probs(
        self, state: Any, tokens: NDArray[np.int32], ancestry: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], Any]:
        """Log-probabilities [B, K, V] after one more token a beam, and the new state."""


@dataclass(frozen=True)
class Comparison:
    """How alike two runs of the same model are.

    Attributes:
        sentences: translated by both.
        ties: of them, translated differently, but with scores within TIE.
    """

    sentences: int
    ties: int


def compare_logits(
    original: ForcedModel,
    exported: ForcedModel,
    tokenizers: TokenizerPair,
    pairs: Sequence[tuple[str, str]],
) -> float:
    """Force reference translations through both models, step by step.

    Returns:
        The largest difference of two log-probabilities.

    Raises:
        NmtError: it is beyond the tolerance; names sentence, position and token.
    """
    largest = 0.0
    for number, (source, target) in enumerate(pairs, start=1):
        (source_ids,), (target_ids,) = (
            tokenizers.source.encode([source]),
            tokenizers.target.encode([target]),
        )
        framed = np.array([tokenizers.source.frame_source(source_ids)], np.int32)
        states = [model.encode(framed) for model in (original, exported)]
        for position, token in enumerate([START_ID, *target_ids]):
            ancestry = np.ones((1, 1, position + 1), np.bool_)
            tokens = np.array([[token]], np.int32)
            expected, states[0] = original.log_probs(states[0], tokens, ancestry)
            found, states[1] = exported.log_probs(states[1], tokens, ancestry)
            difference = np.abs(expected - found)
            largest = max(largest, float(difference.max()))
            if not difference.max() <= LOGIT_TOLERANCE:
                raise NmtError(
                    f"verification failed: held-out sentence {number}, position {position}: the "
                    f"log-probability of token {int(difference.argmax())} is off by "
                    f"{difference.max():.2g} (at most {LOGIT_TOLERANCE:g} allowed)",
                    "please report this with the recipe; nothing was exported",
                )
    return largest


def compare_translations(
    lines: Sequence[str],
    expected: Sequence[Translation],
    found: Sequence[tuple[str, float]],
    what: str,
) -> Comparison:
    """Compare texts line by line, allowing for ties.

    Args:
        lines: the source.
        expected: the original model's translations.
        found: (text, score) of the exported one's.
        what: names the export in errors.

    Raises:
        NmtError: a translation differs; names the line and shows both.
    """
    ties = 0
    for number, (line, ours, (text, score)) in enumerate(
        zip(lines, expected, found, strict=True), start=1
    ):
        if ours.text == text:
            continue
        if abs(ours.score - score) > TIE:
            raise NmtError(
                f"verification failed: {what} translates held-out line {number} ({line[:80]!r}) "
                f"as {text[:80]!r} (score {score:.4f}), the trained model as "
                f"{ours.text[:80]!r} ({ours.score:.4f})",
                "please report this with the recipe; nothing was exported",
            )
        ties += 1
    return Comparison(len(lines), ties)


def compare_translators(
    lines: Sequence[str], original: Translator, exported: Translator, what: str
) -> tuple[Comparison, list[Translation]]:
    """Translate with both and compare; also gives the exported one's translations.

    Raises:
        NmtError: as :func:`compare_translations`.
    """
    found = list(exported.translate(lines))
    expected = list(original.translate(lines))
    pairs = [(each.text, each.score) for each in found]
    return compare_translations(lines, expected, pairs, what), found
