"""Scores of a text, always with the signature that makes them reproducible."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.errors import NmtError


@dataclass(frozen=True)
class Score:
    """One metric's value (0 to 100) and its sacreBLEU signature."""

    name: str
    value: float
    signature: str


def evaluate(hypotheses: Sequence[str], references: Sequence[str]) -> list[Score]:
    """Return BLEU (Papineni et al. 2002) and chrF (Popović 2015) of line-aligned texts.

    Raises:
        NmtError: there are no lines.
    """
    if not hypotheses:
        raise NmtError("nothing to evaluate: the files are empty")
    from sacrebleu.metrics import BLEU, CHRF

    return [
        Score(
            label,
            metric.corpus_score(list(hypotheses), [list(references)]).score,
            str(metric.get_signature()),
        )
        for label, metric in (("BLEU", BLEU()), ("chrF", CHRF()))
    ]


def sentence_chrf(hypothesis: str, reference: str) -> float:
    """Return chrF of one sentence, 0 to 100; BLEU is not meaningful for so short a text."""
    from sacrebleu.metrics import CHRF

    return float(CHRF().sentence_score(hypothesis, [reference]).score)
