"""Evaluate systems on texts: scores, significance, scores of parts, worst sentences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmt_cli.evaluate.parts import Bucket, Sentence, by_domain, by_length, worst_sentences
from nmt_cli.evaluate.systems import METRICS, Result, System, compare, count
from nmt_cli.evaluate.texts import EvaluationText, blank_lines, read_translation
from nmt_cli.search.translator import Translator

_SCORES = ("text", "metric", "score", "low", "high", "p", "system", "signature")
_BUCKETS = ("text", "by", "bucket", "sentences", *METRICS, "system")
_WORST = ("text", "system", "line", "chrF++", "what", "sentence")

_FEW = 100  # sentences; a rule of thumb


@dataclass(frozen=True)
class Candidate:
    """A system to evaluate: a model with its translator, or a file of translations without one."""

    name: str
    path: Path
    translator: Translator | None = None


@dataclass(frozen=True)
class Evaluation:
    """Systems on one text, with the numbers of its sentences and references.

    Attributes:
        buckets: by "length" or "domain", as requested.
        worst: each system's worst sentences, as requested.
    """

    text: str
    sentences: int
    references: int
    results: list[Result]
    buckets: dict[str, list[Bucket]]
    worst: list[Sentence]


def evaluate_candidates(
    candidates: Sequence[Candidate],
    texts: Sequence[EvaluationText],
    by: Sequence[str] = (),
    worst: int = 0,
    say: Callable[[str], None] = lambda message: None,
) -> list[Evaluation]:
    """Translate texts and score the translations.

    Args:
        candidates: systems with different names; the first is the baseline.
        texts: with source if a candidate is a model; with domains for ``by`` domain.
        by: "length", "domain" or both.
        worst: the number of worst sentences of each system to return.
        say: receives progress, and warnings about scores that mean less than they seem to.

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
        found.append(evaluate_systems(text, of_text, by, worst))
    return found


def evaluate_systems(
    text: EvaluationText, translations: dict[str, list[str]], by: Sequence[str], worst: int
) -> Evaluation:
    """Score each system's translations of a text; arguments as of evaluate_candidates."""
    systems = [
        System(name, lines, count(lines, text.references)) for name, lines in translations.items()
    ]
    buckets = {}
    if "length" in by:
        lines = text.references[0] if text.source is None else text.source
        buckets["length"] = by_length(lines, systems)
    if "domain" in by and text.domains:
        buckets["domain"] = by_domain(text.domains, systems)
    return Evaluation(
        text.name,
        len(text),
        len(text.references),
        compare(systems),
        buckets,
        worst_sentences(text, systems, worst) if worst else [],
    )


def tables(found: Sequence[Evaluation]) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
    """Names of columns and rows of the tables: scores, and buckets and worst sentences if any."""
    for columns, rows_of in (
        (_SCORES, _score_rows),
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


def _warn(
    text: EvaluationText, translations: dict[str, list[str]], say: Callable[[str], None]
) -> None:
    """Report why scores mean less than they seem to."""
    if len(text) < _FEW:
        say(f"{text.name}: with only {len(text)} sentences, intervals and p are unreliable")
    # In files these are errors; published test sets are used as they are.
    blank = blank_lines(text.references[0], text.source) if text.source else []
    if blank:
        say(f"{text.name}: {len(blank)} references are blank, the first on line {blank[0]}")
    for name, lines in translations.items():
        if sum(line.endswith(" .") for line in lines) >= 100:  # as sacreBLEU recognizes it
            say(f'{name}: lines end in " .", as in tokenized text; BLEU expects plain text')
