"""Does the quality figure rank errors? Fit it on held-out text, and show how well it ranks others.

    python -m benchmarks.quality SETS BUNDLE [BUNDLE...]

SETS is a folder with NAME.dev.LANGUAGE and NAME.test.LANGUAGE. The quality is a logistic function
of the mean log-probability of a translation's tokens, fitted to the chrF of the sentences of all
dev sets. AUC is the probability that a sentence of the worst quarter by chrF has a lower quality
than another one; chance is 0.5.
"""

import sys
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sacrebleu
from numpy.typing import NDArray

from nmt_cli import models

NAMES = ("docs", "tatoeba")
SENTENCES = 600


class Scores(NamedTuple):
    """Of the sentences of a set: mean log-probability of a token, and chrF."""

    certainty: NDArray[np.float64]
    chrf: NDArray[np.float64]


def measured(model: models.TranslationModel, path: Path) -> Scores:
    """Translate a set and score its sentences."""
    source, target = (
        Path(f"{path}.{language}").read_text(encoding="utf-8").splitlines()[:SENTENCES]
        for language in model.languages
    )
    translations = list(model.translator().translate(source))
    rows = [
        (
            np.mean(translation.token_scores),
            sacrebleu.sentence_chrf(translation.text, [right]).score,
        )
        for translation, right in zip(translations, target, strict=True)
        if translation.token_scores
    ]
    return Scores(*np.array(rows).T)


def fitted(scores: Scores) -> tuple[float, float]:
    """Return intercept and slope of the log-odds, by least squares on a grid."""

    def error(values: tuple[float, float]) -> float:
        at_0, slope = values
        quality = 1 / (1 + np.exp(-(at_0 + slope * scores.certainty)))
        return float(((quality - scores.chrf / 100) ** 2).mean())

    return min(product(np.arange(0, 4, 0.1), np.arange(0.5, 12, 0.25)), key=error)


def ranking(scores: Scores) -> float:
    """Return the AUC of the certainty for the worst quarter by chrF."""
    is_bad = scores.chrf <= np.quantile(scores.chrf, 0.25)
    pairs = scores.certainty[is_bad][:, None] - scores.certainty[~is_bad][None]
    return float((pairs < 0).mean() + (pairs == 0).mean() / 2)


def main() -> None:
    """Print the fit, and the ranking on each test set."""
    sets, *bundles = sys.argv[1:]
    opened = {bundle: models.open(bundle) for bundle in bundles}
    dev = [
        measured(model, Path(sets) / f"{name}.dev") for model in opened.values() for name in NAMES
    ]
    at_0, slope = fitted(Scores(*map(np.concatenate, zip(*dev, strict=True))))
    print(f"quality = 100 / (1 + exp(-({at_0:.1f} + {slope:.2f} * mean log-probability)))")
    print("| bundle | set | sentences | chrF | AUC of the worst quarter | correlation |")
    print("|---|---|---|---|---|---|")
    for bundle, model in opened.items():
        for name in NAMES:
            scores = measured(model, Path(sets) / f"{name}.test")
            correlation = np.corrcoef(scores.certainty, scores.chrf)[0, 1]
            print(
                f"| {bundle} | {name}.test | {len(scores.chrf)} | {scores.chrf.mean():.1f} | "
                f"{ranking(scores):.2f} | {correlation:.2f} |"
            )


if __name__ == "__main__":
    main()
