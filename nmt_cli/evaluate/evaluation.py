"""Evaluate systems on texts: scores, significance, checks, scores by part, worst sentences."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.evaluate.checks import OutputCheck, check_outputs
from nmt_cli.evaluate.scores import MAX_TER, METRICS, Result, System, compare, count
from nmt_cli.evaluate.texts import EvaluationText, blank_lines, read_translation
from nmt_cli.search.translator import Translator
from nmt_cli.text.lines import is_blank, plain_name

logger = logging.getLogger(__name__)

_SCORES = ("text", "metric", "score", "low", "high", "p", "system", "signature")
_CHECKS = ("text", "check", "count", "of", "reference", "system")
_BUCKETS = ("text", "by", "bucket", "sentences", *METRICS, "system")
_WORST = ("text", "system", "line", "chrF++", "what", "sentence")

# Buckets and their minimum number of words; blank lines have a bucket of their own.
_LENGTHS = {"0": 0, "1-10": 1, "11-20": 11, "21-30": 21, "31-50": 31, "51+": 51}
_METRIC = "chrF++"  # better for a single sentence than BLEU, which needs matching 4-grams
_MIN_SENTENCES = 100  # for reliable intervals; a rule of thumb
_MIN_TOKENIZED = 100  # lines; as in sacreBLEU


@dataclass(frozen=True)
class Candidate:
    """A system to evaluate: a model with its translator, or a file of translations without one."""

    name: str
    path: Path
    translator: Translator | None = None
    language: str = ""  # the target language of a model


@dataclass(frozen=True)
class Bucket:
    """A part of a text with its number of sentences, and scores by system, then by metric."""

    label: str
    sentences: int
    scores: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Sentence:
    """A sentence as a system translated it, with its line number, from 1, and its chrF++."""

    system: str
    line: int
    score: float
    source: str | None
    references: list[str]
    translation: str


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of systems on one text: scores if it has references, checks if it has a
    source, and, as requested, scores by "length" or "domain" and the worst sentences."""

    text: str
    sentences: int
    references: int
    results: list[Result]
    checks: list[OutputCheck]
    buckets: dict[str, list[Bucket]]
    worst: list[Sentence]


def evaluate_candidates(
    candidates: Sequence[Candidate],
    texts: Sequence[EvaluationText],
    by: Sequence[str] = (),
    worst: int = 0,
    lowercase: bool = False,
    language: str | None = None,
) -> list[Evaluation]:
    """Translate texts and score the translations.

    Args:
        candidates: systems with different names; the first is the baseline.
        texts: texts with a source if a candidate is a model, and with domains for ``by`` domain.
        by: "length", "domain" or both; for texts with references.
        worst: number of worst sentences to return for each system; for texts with references.
        lowercase: ignore case.
        language: target language. Default: the models', or the suffix of the first reference.
    """
    # Files are checked before a model spends time.
    lines = {
        candidate.name: [read_translation(candidate.path, text) for text in texts]
        for candidate in candidates
        if candidate.translator is None
    }
    for candidate in candidates:
        if candidate.translator:
            lines[candidate.name] = []
            for text in texts:
                logger.info(f"translating {len(text):,} lines of {text.name} with {candidate.path}")
                translations = candidate.translator.translate(text.source or [])
                lines[candidate.name].append([translation.text for translation in translations])
    evaluations = []
    for index, text in enumerate(texts):
        outputs = {candidate.name: lines[candidate.name][index] for candidate in candidates}
        _warn(text, outputs)
        known = [language, *(candidate.language for candidate in candidates)]
        suffix = plain_name(text.files[0]).suffix[1:] if text.files else ""
        target = next(filter(None, known), suffix)
        evaluations.append(evaluate_systems(text, outputs, by, worst, lowercase, target))
    return evaluations


def evaluate_systems(
    text: EvaluationText,
    translations: dict[str, list[str]],
    by: Sequence[str],
    worst: int,
    lowercase: bool = False,
    language: str = "",
) -> Evaluation:
    """Score each system's translations of a text; see :func:`evaluate_candidates`."""
    references = text.references
    metrics = METRICS if references else ()
    systems = [
        System(name, lines, count(lines, references, metrics, lowercase, language))
        for name, lines in translations.items()
    ]
    checks = []
    if text.source is not None:
        checks = check_outputs(text.source, translations, references[0] if references else None)
    buckets = {}
    if "length" in by:
        lines = references[0] if text.source is None else text.source
        buckets["length"] = by_length(lines, systems)
    if "domain" in by and text.domains:
        buckets["domain"] = by_domain(text.domains, systems)
    return Evaluation(
        text.name,
        len(text),
        len(references),
        compare(systems),
        checks,
        buckets,
        worst_sentences(text, systems, worst) if worst else [],
    )


def by_length(lines: Sequence[str], systems: Sequence[System]) -> list[Bucket]:
    """Group sentences by the number of words, separated by white space; shortest first."""
    counts = [len(line.split()) for line in lines]
    labels = [
        [label for label, minimum in _LENGTHS.items() if words >= minimum][-1] for words in counts
    ]
    return sorted(by_domain(labels, systems), key=lambda bucket: _LENGTHS[bucket.label])


def by_domain(domains: Sequence[str], systems: Sequence[System]) -> list[Bucket]:
    """Group sentences by domain, in order of first occurrence."""
    rows: dict[str, list[int]] = {}
    for row, domain in enumerate(domains):
        rows.setdefault(domain, []).append(row)
    buckets = []
    for domain, sentences in rows.items():
        scores = {
            system.name: {counts.name: counts.score_of(sentences) for counts in system.counts}
            for system in systems
        }
        buckets.append(Bucket(domain, len(sentences), scores))
    return buckets


def worst_sentences(text: EvaluationText, systems: Sequence[System], limit: int) -> list[Sentence]:
    """Return each system's sentences with the lowest chrF++, lowest first.
    Lines that are blank in the translation and in all references are skipped."""
    worst = []
    for system in systems:
        counts = next(counts for counts in system.counts if counts.name == _METRIC)
        sentences = []
        for row, translation in enumerate(system.translations):
            references = [reference[row] for reference in text.references]
            if not all(map(is_blank, (translation, *references))):
                source = None if text.source is None else text.source[row]
                score = counts.score_of([row])
                sentence = Sentence(system.name, row + 1, score, source, references, translation)
                sentences.append(sentence)
        worst += sorted(sentences, key=lambda sentence: sentence.score)[:limit]
    return worst


def tables(evaluations: Sequence[Evaluation]) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
    """Yield column names and rows of the tables that have any: scores, checks, buckets, worst."""
    makers = (_score_rows, _check_rows, _bucket_rows, _worst_rows)
    for columns, rows_of in zip((_SCORES, _CHECKS, _BUCKETS, _WORST), makers, strict=True):
        if rows := [row for evaluation in evaluations for row in rows_of(evaluation)]:
            yield columns, rows


def _score_rows(evaluation: Evaluation) -> Iterator[list[str]]:
    for result in evaluation.results:
        numbers = [f"{value:.2f}" for value in (result.score, result.low, result.high)]
        p = "-" if result.p is None else f"{result.p:.3f}"
        yield [evaluation.text, result.metric, *numbers, p, result.system, result.signature]


def _check_rows(evaluation: Evaluation) -> Iterator[list[str]]:
    for check in evaluation.checks:
        reference = "-" if check.reference is None else str(check.reference)
        numbers = [str(check.count), str(check.total), reference]
        yield [evaluation.text, check.name, *numbers, check.system]


def _bucket_rows(evaluation: Evaluation) -> Iterator[list[str]]:
    for by, buckets in evaluation.buckets.items():
        for bucket in buckets:
            for system, scores in bucket.scores.items():
                numbers = [f"{scores[metric]:.2f}" for metric in METRICS]
                yield [evaluation.text, by, bucket.label, str(bucket.sentences), *numbers, system]


def _worst_rows(evaluation: Evaluation) -> Iterator[list[str]]:
    """Yield a row for each text of a sentence, so that the texts are aligned."""
    for sentence in evaluation.worst:
        texts = [] if sentence.source is None else [("source", sentence.source)]
        texts += [("reference", reference) for reference in sentence.references]
        score = f"{sentence.score:.2f}"
        for name, text in [*texts, ("translation", sentence.translation)]:
            yield [evaluation.text, sentence.system, str(sentence.line), score, name, text]


def _warn(text: EvaluationText, translations: dict[str, list[str]]) -> None:
    """Warn about scores that mean less than they seem to."""
    if not text.references:
        return
    if len(text) < _MIN_SENTENCES:
        logger.warning(
            f"{text.name}: with only {len(text)} sentences, intervals and p are unreliable"
        )
    for lines in (*translations.values(), *text.references):
        long = [number for number, line in enumerate(lines, start=1) if len(line) > MAX_TER]
        if long:
            reason = f"TER compares only the first {MAX_TER:,} characters of line {long[0]:,}"
            logger.warning(f"{text.name}: {reason}; split long lines to compare all")
            break
    # In files these are errors; published test sets are used as they are.
    blank = blank_lines(text.references[0], text.source) if text.source else []
    if blank:
        logger.warning(
            f"{text.name}: {len(blank)} references are blank, the first on line {blank[0]}"
        )
    for name, lines in translations.items():
        if sum(line.endswith(" .") for line in lines) >= _MIN_TOKENIZED:
            logger.warning(
                f'{name}: lines end in " .", as in tokenized text; BLEU expects plain text'
            )
