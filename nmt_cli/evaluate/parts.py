"""Scores of parts of a text: sentences of similar length, of one domain, or the worst ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.evaluate.systems import System
from nmt_cli.evaluate.texts import EvaluationText

# Buckets and their minimum number of words; blank lines have their own.
_LENGTHS = {"0": 0, "1-10": 1, "11-20": 11, "21-30": 21, "31-50": 31, "51+": 51}
_METRIC = "chrF++"  # for a single sentence better than BLEU, which needs matching 4-grams


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
            if any(each.strip() for each in (translation, *references)):
                source = None if text.source is None else text.source[row]
                score = counts.score_of([row])
                found.append(Sentence(system.name, row + 1, score, source, references, translation))
        worst += sorted(found, key=lambda each: each.score)[:limit]
    return worst
