"""What a metric counts in each sentence, which gives the score of any set of sentences.

The counts of BLEU, chrF++ and TER add up over sentences. Counting takes time, TER most; done
once, it gives the scores of a whole text, its parts, single sentences and bootstrap samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric

# BLEU (Papineni et al. 2002), chrF++ (Popović 2017), TER (Snover et al. 2006; lower is better).
METRICS = ("BLEU", "chrF++", "TER")
# sacreBLEU keeps every n-gram of the references: some 30 KB per sentence.
_SENTENCES_AT_ONCE = 1000


@dataclass(frozen=True)
class Counts:
    """One metric's counts in one system's translations.

    Attributes:
        name: one of :data:`METRICS`.
        rows: [sentences, counts], in sacreBLEU's order.
        metric: turns sums of rows into a score.
    """

    name: str
    rows: NDArray[np.float64]
    metric: Metric

    def score(self, sums: NDArray[np.float64]) -> float:
        """Return the score of a sum of rows, [counts]: 0 to 100; TER may be higher."""
        return float(self.metric._compute_score_from_stats(sums.tolist()).score)

    def total(self) -> float:
        """Return the score of the whole text."""
        return self.score(self.rows.sum(axis=0))

    def score_of(self, rows: Sequence[int]) -> float:
        """Return the score of sentences, given their numbers from 0."""
        return self.score(self.rows[rows].sum(axis=0))


def count(
    translations: Sequence[str],
    references: Sequence[Sequence[str]],
    names: Sequence[str] = METRICS,
) -> list[Counts]:
    """Count for metrics, in the order of :data:`METRICS`.

    Args:
        translations: one or more sentences.
        references: one or more texts, each aligned with the translations.
        names: of the metrics.
    """
    # BLEU's force only silences a warning about tokenized text, which is_tokenized replaces.
    metrics = (BLEU(force=True), CHRF(word_order=2), TER())
    return [
        Counts(name, _rows(metric, translations, references), metric)
        for name, metric in zip(METRICS, metrics, strict=True)
        if name in names
    ]


def is_tokenized(translations: Sequence[str]) -> bool:
    """Whether a hundred lines or more end in " .", sacreBLEU's test for tokenized text."""
    return sum(line.endswith(" .") for line in translations) >= 100


def _rows(
    metric: Metric, translations: Sequence[str], references: Sequence[Sequence[str]]
) -> NDArray[np.float64]:
    parts = []
    for at in range(0, len(translations), _SENTENCES_AT_ONCE):
        some = slice(at, at + _SENTENCES_AT_ONCE)
        parts.append(
            metric._extract_corpus_statistics(
                translations[some], [text[some] for text in references]
            )
        )
    return np.concatenate([np.array(part, np.float64) for part in parts])
