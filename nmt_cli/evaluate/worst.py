"""The sentences that a system translates worst."""

from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.evaluate.systems import System
from nmt_cli.evaluate.texts import EvaluationText

_METRIC = "chrF++"  # says more of a single sentence than BLEU, which wants four words in a row


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
    """Each system's sentences of the lowest chrF++, lowest first, the earlier of equal ones first.

    Lines that are blank in the references and in the translation are none of them.
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
