"""A line that is being translated: which of its parts are searched again, in another way."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import shorten

from nmt_cli.search.hypotheses import Hypothesis, Segment
from nmt_cli.text.edits import MappedText
from nmt_cli.text.glossary import Term, lacking
from nmt_cli.text.path import CERTAIN, MAX_LOSS, TextPath
from nmt_cli.text.units import Passage, Unit

logger = logging.getLogger(__name__)

# Longer lines are rare, so that the numbers of line and first character identify a segment.
_MAX_CHARACTERS = 1 << 20


@dataclass(eq=False)
class Work:
    """A line that is being translated.

    Attributes:
        where: its name in messages.
        terms: of a glossary, in the line.
        results: the hypotheses of each unit, best first.
        seconds: search time, the line's share of its batches.
    """

    passage: Passage
    number: int
    where: str
    terms: Sequence[Term] = ()
    results: dict[Unit, list[Hypothesis]] = field(default_factory=dict)
    seconds: float = 0.0

    def segment(self, unit: Unit) -> Segment:
        """Return what the model reads of a unit."""
        return Segment(unit.ids, self.number * _MAX_CHARACTERS + unit.span[0])

    def ranked(self, rank: int) -> dict[Unit, Hypothesis]:
        """Return the hypothesis of this rank of each unit, or its last one."""
        return {
            unit: self.results[unit][min(rank, len(self.results[unit]) - 1)]
            for unit in self.passage.parts
        }

    def further(self, path: TextPath, unit: Unit) -> Sequence[Unit]:
        """Return the units to search after a unit whose hypotheses are known."""
        if not self.passage.is_free:
            return []
        best = self.results[unit][0]
        text, is_complete = self._written(unit, best)
        if unit.first:
            self._choose(unit.first, unit, is_complete)
            return []
        if not is_complete:
            return self._again(path, unit)
        if _certainty(best) < CERTAIN or unit.reading.copies(text):
            return path.second(self.passage, unit)
        return []

    def _again(self, path: TextPath, unit: Unit) -> Sequence[Unit]:
        """Replace a unit whose translation lacks something by others, if there are any."""
        units = path.again(self.passage, unit)
        if not units:
            if any(map(str.isalpha, self.results[unit][0].text)):
                return []
            text = self.passage.line[slice(*unit.span)]
            units = [Unit(unit.span, MappedText(text))]
            logger.warning(f"{self.where}: {shorten(text, 80)!r} is left as it is")
        self._replace(unit, units)
        return units

    def lacking(self, path: TextPath, unit: Unit) -> list[Unit]:
        """Return a reading that requires the terms in a unit, if its translation lacks some."""
        start, end = unit.span
        inside = [term for term in self.terms if start <= term.start and term.end <= end]
        if not (inside and self.passage.is_free):
            return []
        text, _ = self._written(unit, self.results[unit][0])
        return path.requiring(unit, inside) if lacking(inside, text) else []

    def take_terms(
        self, free: Unit, required: Unit, found: list[Hypothesis], is_edited: bool
    ) -> bool:
        """Take a translation if it is complete and has more terms.

        That of a search must be as long, and have half of the words, but not all: terms that are
        only added translate nothing.
        """
        before, _ = self._written(free, self.results[free][0])
        after, is_complete = self._written(required, found[0])
        is_better = len(lacking(required.terms, after)) < len(lacking(required.terms, before))
        old, new = before.split(), after.split()
        kept = set(old) & set(new)
        is_whole = len(new) >= len(old) and len(set(old)) > len(kept) >= len(set(old)) / 2
        if not (is_better and is_complete and (is_edited or is_whole)):
            return False
        self._replace(free, [required])
        self.results[required] = found
        return True

    def _written(self, unit: Unit, hypothesis: Hypothesis) -> tuple[str, bool]:
        """Return a translation of a unit, and whether it is complete."""
        text, is_complete = unit.reading.written(MappedText(hypothesis.text))
        return text.text, is_complete

    def _choose(self, first: Unit, second: Unit, is_complete: bool) -> None:
        """Take a second reading if its translation is complete, and more certain."""
        old, new = self.results[first][0], self.results[second][0]
        # A copied word has more tokens than its translation.
        is_better = (
            sum(new.token_scores) > sum(old.token_scores) - MAX_LOSS
            if first.reading.copies(old.text, capitals=False)
            else _certainty(new) > _certainty(old)
        )
        if is_complete and is_better:
            self._replace(first, [second])
        else:
            del self.results[second]

    def _replace(self, unit: Unit, units: Sequence[Unit]) -> None:
        del self.results[unit]
        index = self.passage.units.index(unit)
        self.passage.units[index : index + 1] = units


def _certainty(hypothesis: Hypothesis) -> float:
    """Return the mean log-probability of the tokens of a hypothesis."""
    return sum(hypothesis.token_scores) / max(1, len(hypothesis.token_scores))
