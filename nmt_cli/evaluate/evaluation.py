"""Evaluate systems on texts: scores, significance, checks, scores of parts, worst sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.errors import Say, silent
from nmt_cli.evaluate.checks import OutputCheck, check_outputs
from nmt_cli.evaluate.systems import METRICS, Result, System, compare, count
from nmt_cli.evaluate.texts import EvaluationText, blank_lines, read_translation
from nmt_cli.search.translator import Translator
from nmt_cli.text.lines import is_blank

_SCORES = ("text", "metric", "score", "low", "high", "p", "system", "signature")
_CHECKS = ("text", "check", "count", "of", "reference", "system")
_BUCKETS = ("text", "by", "bucket", "sentences", *METRICS, "system")
_WORST = ("text", "system", "line", "chrF++", "what", "sentence")

# Buckets and their minimum number of words; blank lines have their own.
_LENGTHS = {"0": 0, "1-10": 1, "11-20": 11, "21-30": 21, "31-50": 31, "51+": 51}
_METRIC = "chrF++"  # for a single sentence better than BLEU, which needs matching 4-grams
_FEW = 100  # sentences; a rule of thumb


@dataclass(frozen=True)
class Candidate:
    """A system to evaluate: a model with its translator, or a file of translations without one."""

    name: str
    path: Path
    translator: Translator | None = None


@dataclass(frozen=True)
class Bucket:
    """A part of a text with its number of sentences; scores by system, then by metric."""

    label: str
    sentences: int
    scores: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Sentence:
    """One sentence as a system translated it: its line, from 1, and its chrF++, 0 to 100."""

    system: str
    line: int
    score: float
    source: str | None
    references: list[str]
    translation: str


@dataclass(frozen=True)
class Evaluation:
    """Systems on one text, with the numbers of its sentences and references.

    Attributes:
        results: none if there is no reference.
        checks: of the translations; none if there is no source.
        buckets: by "length" or "domain", as requested.
        worst: each system's worst sentences, as requested.
    """

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
    say: Say = silent,
    lowercase: bool = False,
) -> list[Evaluation]:
    """Translate texts and score the translations.

    Args:
        candidates: systems with different names; the first is the baseline.
        texts: with source if a candidate is a model; with domains for ``by`` domain.
        by: "length", "domain" or both; for texts with references.
        worst: the number of worst sentences of each system to return; likewise.
        say: receives progress, and warnings about scores that mean less than they seem to.
        lowercase: ignore case.

    Raises:
        NmtError: a file of translations cannot be read or is not aligned, or a model fails.
    """
    # Files are checked before a model takes its time.
    lines = {
        each.name: [read_translation(each.path, text) for text in texts]
        for each in candidates
        if each.translator is None
    }
    for each in candidates:
        if each.translator:
            lines[each.name] = []
            for text in texts:
                say(f"translating {len(text):,} lines of {text.name} with {each.path}")
                translations = each.translator.translate(text.source or [])
                lines[each.name].append([translation.text for translation in translations])
    found = []
    for place, text in enumerate(texts):
        of_text = {each.name: lines[each.name][place] for each in candidates}
        _warn(text, of_text, say)
        found.append(evaluate_systems(text, of_text, by, worst, lowercase))
    return found


def evaluate_systems(
    text: EvaluationText,
    translations: dict[str, list[str]],
    by: Sequence[str],
    worst: int,
    lowercase: bool = False,
) -> Evaluation:
    """Score each system's translations of a text; arguments as of evaluate_candidates."""
    references = text.references
    systems = [
        System(name, lines, count(lines, references, lowercase=lowercase) if references else [])
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
    labels = [[key for key, least in _LENGTHS.items() if words >= least][-1] for words in counts]
    return sorted(by_domain(labels, systems), key=lambda bucket: _LENGTHS[bucket.label])


def by_domain(domains: Sequence[str], systems: Sequence[System]) -> list[Bucket]:
    """Group sentences by domain, in order of first occurrence."""
    rows: dict[str, list[int]] = {}
    for row, domain in enumerate(domains):
        rows.setdefault(domain, []).append(row)
    buckets = []
    for domain, some in rows.items():
        scores = {
            system.name: {counts.name: counts.score_of(some) for counts in system.counts}
            for system in systems
        }
        buckets.append(Bucket(domain, len(some), scores))
    return buckets


def worst_sentences(text: EvaluationText, systems: Sequence[System], limit: int) -> list[Sentence]:
    """Return each system's sentences with the lowest chrF++, lowest first.

    Lines that are blank in the translation and in all references are skipped.
    """
    worst = []
    for system in systems:
        counts = next(each for each in system.counts if each.name == _METRIC)
        found = []
        for row, translation in enumerate(system.translations):
            references = [reference[row] for reference in text.references]
            if not all(map(is_blank, (translation, *references))):
                source = None if text.source is None else text.source[row]
                score = counts.score_of([row])
                found.append(Sentence(system.name, row + 1, score, source, references, translation))
        worst += sorted(found, key=lambda each: each.score)[:limit]
    return worst


def tables(found: Sequence[Evaluation]) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
    """Names of columns and rows of the tables: scores, checks, buckets, worst sentences, if any."""
    for columns, rows_of in (
        (_SCORES, _score_rows),
        (_CHECKS, _check_rows),
        (_BUCKETS, _bucket_rows),
        (_WORST, _worst_rows),
    ):
        if rows := [row for each in found for row in rows_of(each)]:
            yield columns, rows


def _score_rows(found: Evaluation) -> Iterator[list[str]]:
    for each in found.results:
        numbers = [f"{value:.2f}" for value in (each.score, each.low, each.high)]
        p = "-" if each.p is None else f"{each.p:.3f}"
        yield [found.text, each.metric, *numbers, p, each.system, each.signature]


def _check_rows(found: Evaluation) -> Iterator[list[str]]:
    for each in found.checks:
        reference = "-" if each.reference is None else str(each.reference)
        numbers = [str(each.count), str(each.total), reference]
        yield [found.text, each.name, *numbers, each.system]


def _bucket_rows(found: Evaluation) -> Iterator[list[str]]:
    for by, buckets in found.buckets.items():
        for bucket in buckets:
            for system, scores in bucket.scores.items():
                numbers = [f"{scores[metric]:.2f}" for metric in METRICS]
                yield [found.text, by, bucket.label, str(bucket.sentences), *numbers, system]


def _worst_rows(found: Evaluation) -> Iterator[list[str]]:
    """A row for each of a sentence's texts, so that they are aligned."""
    for each in found.worst:
        texts = [] if each.source is None else [("source", each.source)]
        texts += [("reference", reference) for reference in each.references]
        for what, text in [*texts, ("translation", each.translation)]:
            yield [found.text, each.system, str(each.line), f"{each.score:.2f}", what, text]


def _warn(text: EvaluationText, translations: dict[str, list[str]], say: Say) -> None:
    """Report why scores mean less than they seem to."""
    if not text.references:
        return
    if len(text) < _FEW:
        say(f"{text.name}: with only {len(text)} sentences, intervals and p are unreliable")
    # In files these are errors; published test sets are used as they are.
    blank = blank_lines(text.references[0], text.source) if text.source else []
    if blank:
        say(f"{text.name}: {len(blank)} references are blank, the first on line {blank[0]}")
    for name, lines in translations.items():
        if sum(line.endswith(" .") for line in lines) >= 100:  # as sacreBLEU recognizes it
            say(f'{name}: lines end in " .", as in tokenized text; BLEU expects plain text')
