"""What a metric counts in each sentence, from which the score of any set of sentences follows.

The counts of BLEU, chrF++ and TER add up over sentences. Taken once, they give the scores of a
whole text, of its parts, of single sentences and of bootstrap draws; taking them is what costs
time, TER's above all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric, Signature

# BLEU (Papineni et al. 2002), chrF++ (Popović 2017), TER (Snover et al. 2006); less TER is better.
METRICS = ("BLEU", "chrF++", "TER")
# sacreBLEU keeps every n-gram of the references that it is given: some 30 KB a sentence.
_SENTENCES_AT_ONCE = 1000


@dataclass(frozen=True)
class Counts:
    """One system's translations as one metric sees them.

    Attributes:
        name: of :data:`METRICS`.
        rows: (sentences, counts) as sacreBLEU orders them.
        metric: turns sums of rows into a score.
    """

    name: str
    rows: NDArray[np.float64]
    metric: Metric

    def score(self, sums: NDArray[np.float64]) -> float:
        """The score of (counts,), the sum of some rows: 0 to 100, TER's also above."""
        return float(self.metric._compute_score_from_stats(sums.tolist()).score)

    def score_of(self, rows: Sequence[int]) -> float:
        """The score of some sentences by their numbers, from 0."""
        return self.score(self.rows[rows].sum(axis=0))

    def signature(self) -> Signature:
        """sacreBLEU's, which says how it was measured."""
        return self.metric.get_signature()


def count(translations: Sequence[str], references: Sequence[Sequence[str]]) -> list[Counts]:
    """The counts of every metric of :data:`METRICS`, in their order.

    Args:
        translations: one a sentence, at least one.
        references: one or several texts, each aligned with the translations.
    """
    # BLEU's force only silences a warning about text that looks tokenized: looks_tokenized tells.
    metrics = (BLEU(force=True), CHRF(word_order=2), TER())
    return [
        Counts(name, _rows(metric, translations, references), metric)
        for name, metric in zip(METRICS, metrics, strict=True)
    ]


def looks_tokenized(translations: Sequence[str]) -> bool:
    """Whether lines end in " ." (a hundred, as sacreBLEU has it), which BLEU is not meant for."""
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
