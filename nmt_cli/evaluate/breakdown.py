"""Scores of parts of a text: sentences of similar length, or of one domain."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from nmt_cli.evaluate.systems import System

# The minimum number of words in each bucket; blank lines have their own.
_LENGTHS = (0, 1, 11, 21, 31, 51)


@dataclass(frozen=True)
class Bucket:
    """A part of a text with its number of sentences; scores by system, then by metric."""

    label: str
    sentences: int
    scores: dict[str, dict[str, float]]


def by_length(lines: Sequence[str], systems: Sequence[System]) -> list[Bucket]:
    """Group sentences by the number of words, separated by white space; shortest first."""
    ranks = [sum(len(line.split()) >= least for least in _LENGTHS) - 1 for line in lines]
    names = [
        str(least) if after == least + 1 else f"{least}-{after - 1}"
        for least, after in pairwise(_LENGTHS)
    ]
    names.append(f"{_LENGTHS[-1]}+")
    return [
        _bucket(names[rank], [row for row, each in enumerate(ranks) if each == rank], systems)
        for rank in sorted(set(ranks))
    ]


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
