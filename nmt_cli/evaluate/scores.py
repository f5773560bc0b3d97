"""Score a text, or several systems with confidence intervals and significance.

The counts of BLEU, chrF++ and TER in each sentence add up over sentences. Counting is slow, for TER
most of all. Done once, it gives the scores of a whole text, its parts, and bootstrap samples.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric

from nmt_cli.errors import InputError

logger = logging.getLogger(__name__)

# BLEU (Papineni et al. 2002), chrF++ (Popović 2017), TER (Snover et al. 2006; lower is better).
METRICS = ("BLEU", "chrF++", "TER")
_CHUNK = 1000  # sentences; sacreBLEU keeps every n-gram of the references, some 30 KB per sentence
# Characters of a line that TER compares: its memory grows with the square of their number, and its
# time faster.
MAX_TER = 5000
# The tokenizers of BLEU for languages that do not separate words by spaces, and for Korean. Those
# of FLORES, which would suit Thai, are downloads.
_TOKENIZERS = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn", "yue"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
    **dict.fromkeys(("th", "tha", "lo", "lao", "km", "khm", "my", "mya"), "char"),
}
# Bootstrap samples and seed: sacreBLEU's defaults, which its signatures contain.
DRAWS, SEED = 1000, 12345


@dataclass(frozen=True)
class Score:
    """One metric's value (0 to 100) and its sacreBLEU signature."""

    name: str
    value: float
    signature: str


@cache
def bleu_tokenizer(language: str) -> str:
    """Return sacreBLEU's tokenizer for a target language such as ``zh`` or ``zh-Hant``."""
    code = language.lower().replace("_", "-").partition("-")[0]
    name = _TOKENIZERS.get(code, BLEU.TOKENIZER_DEFAULT)
    try:
        BLEU(tokenize=name)
    except RuntimeError:  # its packages are missing
        extra = f"sacrebleu[{name.removesuffix('-mecab')}]"
        logger.warning(f"BLEU counts characters: {name} is not installed; pip install '{extra}'")
        return "char"
    return name


def evaluate(
    hypotheses: Sequence[str], references: Sequence[str], language: str = ""
) -> list[Score]:
    """Return BLEU (Papineni et al. 2002) and chrF (Popović 2015) of line-aligned texts.
    The target language decides how BLEU tokenizes."""
    if not hypotheses:
        raise InputError("nothing to evaluate: the files are empty")
    scores = []
    for name, metric in (("BLEU", BLEU(tokenize=bleu_tokenizer(language))), ("chrF", CHRF())):
        value = metric.corpus_score(list(hypotheses), [list(references)]).score
        scores.append(Score(name, value, str(metric.get_signature())))
    return scores


@dataclass(frozen=True)
class Counts:
    """One metric's counts in one system's translations, [sentences, counts]."""

    name: str
    rows: NDArray[np.float64]
    metric: Metric

    def score(self, sums: NDArray[np.float64]) -> float:
        """Return the score of a sum of rows, [counts]: 0 to 100; TER may be higher."""
        return float(self.metric._compute_score_from_stats(sums.tolist()).score)

    def score_of(self, rows: Sequence[int] | slice = slice(None)) -> float:
        """Return the score of sentences, given their numbers from 0, or of the whole text."""
        return self.score(self.rows[rows].sum(axis=0))


@dataclass(frozen=True)
class System:
    """A system's translations of one text, and the counts of every metric in them."""

    name: str
    translations: Sequence[str]
    counts: Sequence[Counts]


@dataclass(frozen=True)
class Result:
    """A system's score by one metric, 0 to 100 (TER: lower is better, may be above 100).

    ``low`` and ``high`` are its 95% bootstrap interval, ``p`` the p-value of the paired bootstrap
    test against the first system, which has none.
    """

    system: str
    metric: str
    score: float
    low: float
    high: float
    p: float | None
    signature: str


def count(
    translations: Sequence[str],
    references: Sequence[Sequence[str]],
    names: Sequence[str] = METRICS,
    lowercase: bool = False,
    language: str = "",
) -> list[Counts]:
    """Count for the metrics in ``names``, in the order of :data:`METRICS`.
    TER always ignores case, as is usual; with ``lowercase``, BLEU and chrF++ do, too. The target
    ``language`` decides how BLEU and TER tokenize."""
    tokenizer = bleu_tokenizer(language)
    is_asian = tokenizer != BLEU.TOKENIZER_DEFAULT
    metrics = (
        BLEU(lowercase, force=True, tokenize=tokenizer),  # force only silences a warning
        CHRF(word_order=2, lowercase=lowercase),
        TER(normalized=is_asian, asian_support=is_asian),
    )
    counts = []
    for name, metric in zip(METRICS, metrics, strict=True):
        if name in names:
            rows: list[Sequence[float]] = []
            for start in range(0, len(translations), _CHUNK):
                chunk = slice(start, start + _CHUNK)
                texts = [text[chunk] for text in (translations, *references)]
                if name == "TER":
                    texts = [[line[:MAX_TER] for line in text] for text in texts]
                rows += metric._extract_corpus_statistics(texts[0], texts[1:])
            counts.append(Counts(name, np.array(rows, np.float64), metric))
    return counts


def compare(systems: Sequence[System]) -> list[Result]:
    """Compare systems with the first, the baseline. Results are by metric, then by system.

    This is the paired bootstrap test of Koehn (2004), as in sacreBLEU's ``--paired-bs``: DRAWS
    samples of the text's sentences, with replacement, the same for all systems.
    """
    results = []
    for metric_counts in zip(*(system.counts for system in systems), strict=True):
        baseline, *_ = samples = sampled_scores(metric_counts)
        for system, counts, scores in zip(systems, metric_counts, samples, strict=True):
            score, low, high = counts.score_of(), *_interval(scores)
            difference = abs(score - metric_counts[0].score_of())
            p = None if system is systems[0] else p_value(scores, baseline, difference)
            signature = counts.metric.get_signature()
            signature.update("seed", SEED)
            signature.update("bs", DRAWS)
            results.append(Result(system.name, counts.name, score, low, high, p, str(signature)))
    return results


def sampled_scores(systems: Sequence[Counts]) -> list[NDArray[np.float64]]:
    """Return each system's scores in all bootstrap samples, each [DRAWS].
    Samples are generated one by one: sacreBLEU's need 1 GB for chrF++ of 10,000 sentences."""
    rng = np.random.default_rng(SEED)
    sentences = len(systems[0].rows)
    scores = np.zeros((len(systems), DRAWS))
    for draw in range(DRAWS):
        times = np.bincount(rng.choice(sentences, sentences), minlength=sentences).astype(float)
        scores[:, draw] = [counts.score(times @ counts.rows) for counts in systems]
    return list(scores)


def _interval(scores: NDArray[np.float64]) -> tuple[float, float]:
    ordered, cut = np.sort(scores), len(scores) // 40
    return float(ordered[cut]), float(ordered[-1 - cut])


def p_value(scores: NDArray[np.float64], baseline: NDArray[np.float64], difference: float) -> float:
    """Return how often differences exceed their mean by the real difference or more.

    sacreBLEU counts only those that exceed it by more: identical translations would then differ
    with p = 0.001.
    """
    differences = np.abs(scores - baseline)
    exceeding = int(np.sum(differences - differences.mean() >= difference))
    return (exceeding + 1) / (len(differences) + 1)
