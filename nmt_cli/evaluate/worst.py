"""The sentences with the lowest scores."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.evaluate.systems import System
from nmt_cli.evaluate.texts import EvaluationText

_METRIC = "chrF++"  # for a single sentence better than BLEU, which needs matching 4-grams


@dataclass(frozen=True)
class Sentence:
    """One sentence as a system translated it.

    Attributes:
        line: its number in the text, from 1.
        score: its chrF++, 0 to 100.
        source: None where no source was given.
    """

    system: str
    line: int
    score: float
    source: str | None
    references: list[str]
    translation: str


def worst_sentences(text: EvaluationText, systems: Sequence[System], limit: int) -> list[Sentence]:
    """Return each system's sentences with the lowest chrF++, lowest first.

    Lines that are blank in the translation and in all references are skipped.
    """
    return [each for system in systems for each in _ranked(text, system)[:limit]]


def _ranked(text: EvaluationText, system: System) -> list[Sentence]:
    counts = next(each for each in system.counts if each.name == _METRIC)
    found = []
    for row, translation in enumerate(system.translations):
        references = [reference[row] for reference in text.references]
        if not any(each.strip() for each in (translation, *references)):
            continue
        source = None if text.source is None else text.source[row]
        score = counts.score_of([row])
        found.append(Sentence(system.name, row + 1, score, source, references, translation))
    return sorted(found, key=lambda each: each.score)
