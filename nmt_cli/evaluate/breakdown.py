"""Scores of parts of a text: sentences of similar length, or of one domain."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.evaluate.systems import System

# Buckets and their minimum number of words; blank lines have their own.
_LENGTHS = {"0": 0, "1-10": 1, "11-20": 11, "21-30": 21, "31-50": 31, "51+": 51}


@dataclass(frozen=True)
class Bucket:
    """A part of a text with its number of sentences; scores by system, then by metric."""

    label: str
    sentences: int
    scores: dict[str, dict[str, float]]


def by_length(lines: Sequence[str], systems: Sequence[System]) -> list[Bucket]:
    """Group sentences by the number of words, separated by white space; shortest first."""
    rows: dict[str, list[int]] = {label: [] for label in _LENGTHS}
    for row, line in enumerate(lines):
        words = len(line.split())
        rows[[label for label, least in _LENGTHS.items() if words >= least][-1]].append(row)
    return [_bucket(label, some, systems) for label, some in rows.items() if some]


def by_domain(domains: Sequence[str], systems: Sequence[System]) -> list[Bucket]:
    """Group sentences by domain, in order of first occurrence."""
    rows: dict[str, list[int]] = {}
    for row, domain in enumerate(domains):
        rows.setdefault(domain, []).append(row)
    return [_bucket(domain, some, systems) for domain, some in rows.items()]


def _bucket(label: str, rows: list[int], systems: Sequence[System]) -> Bucket:
    scores = {
        system.name: {counts.name: counts.score_of(rows) for counts in system.counts}
        for system in systems
    }
    return Bucket(label, len(rows), scores)
