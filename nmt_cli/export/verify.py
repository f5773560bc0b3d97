"""Comparing what was exported with the model it came from.

An export that does not pass is not put in place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nmt_cli.errors import NmtError
from nmt_cli.runtime.check import HARD_LINES, TIE
from nmt_cli.search.step_model import StepModel
from nmt_cli.search.translator import Translation, Translator
from nmt_cli.text.tokenizer import START_ID, TokenizerPair

FORCED_SENTENCES = 16
TRANSLATED_SENTENCES = 100
# Of log-probabilities (nats). Float32 through 2 x 6 layers stays near 1e-5; a wrong mask,
# scale or position shows as 1e-1 and more.
LOGIT_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Comparison:
    """How alike two runs of the same model are.

    Attributes:
        sentences: translated by both.
        ties: of them, translated differently, but with scores within TIE.
    """

    sentences: int
    ties: int


@dataclass(frozen=True)
class Distance:
    """How far the log-probabilities (nats) of two models lie apart.

    Attributes:
        largest, mean: of the absolute differences, over all steps and tokens.
        divergence: Kullback-Leibler, of the exported model from the original, mean of the
            steps. Unlike the other two it weighs tokens by their probability.
    """

    largest: float
    mean: float
    divergence: float


def compare_logits(
    original: StepModel,
    exported: StepModel,
    tokenizers: TokenizerPair,
    pairs: Sequence[tuple[str, str]],
    tolerance: float = LOGIT_TOLERANCE,
) -> Distance:
    """Force reference translations through both models, step by step.

    Raises:
        NmtError: a log-probability differs by more than the tolerance, or is not a number;
            names sentence, position and token.
    """
    steps: list[tuple[float, float, float]] = []
    for number, (source, target) in enumerate(pairs, start=1):
        for position, (expected, found) in enumerate(
            _forced(original, exported, tokenizers, source, target)
        ):
            difference = np.abs(expected - found)
            if not difference.max() <= tolerance:
                raise NmtError(
                    f"verification failed: held-out sentence {number}, position {position}: the "
                    f"log-probability of token {int(difference.argmax())} is off by "
                    f"{difference.max():.2g} (at most {tolerance:g} allowed)",
                    "please report this with the recipe",
                )
            divergence = (np.exp(expected) * (expected - found)).sum()
            steps.append((float(difference.max()), float(difference.mean()), float(divergence)))
    largest, means, divergences = np.array(steps).T
    return Distance(float(largest.max()), float(means.mean()), float(divergences.mean()))


def forced_pairs(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """FORCED_SENTENCES of the pairs; where there are fewer, lines onto themselves as well."""
    lines = [line for line in HARD_LINES if line.strip()]
    return [*pairs, *zip(lines, lines, strict=True)][:FORCED_SENTENCES]


def _forced(
    original: StepModel,
    exported: StepModel,
    tokenizers: TokenizerPair,
    source: str,
    target: str,
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Log-probabilities of both models at each step of a reference translation."""
    (source_ids,) = tokenizers.source.encode([source])
    (target_ids,) = tokenizers.target.encode([target])
    framed = np.array([tokenizers.source.frame_source(source_ids)], np.int32)
    states = [model.encode(framed) for model in (original, exported)]
    for position, token in enumerate([START_ID, *target_ids]):
        ancestry = np.ones((1, 1, position + 1), np.bool_)
        tokens = np.array([[token]], np.int32)
        expected, states[0] = original.log_probs(states[0], tokens, ancestry)
        found, states[1] = exported.log_probs(states[1], tokens, ancestry)
        yield expected, found


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
                "please report this with the recipe",
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
