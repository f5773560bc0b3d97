"""Parts of lines on their way through the model: sentences, and what separates them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nmt_cli.text.edits import MappedText, Span
from nmt_cli.text.glossary import Term
from nmt_cli.text.reading import WIDE, Reading


@dataclass(frozen=True, eq=False)
class Unit:
    """A part of a line that the model translates by itself, or that stays as it is.

    Attributes:
        span: in the line.
        text: as the tokenizer gets it; what stays if there are no ids.
        how: how the model reads it; None if it stays.
        ids: with special tokens.
        is_cut: whether it is part of a sentence that the model cannot read at a time.
        first: the first reading of the same text, if this is the second.
        terms: whose translations its translation must contain, and their tokens.
    """

    span: Span
    text: MappedText
    how: Reading | None = None
    ids: list[int] = field(default_factory=list)
    is_cut: bool = False
    first: "Unit | None" = None
    terms: Mapping[Term, tuple[int, ...]] = field(default_factory=dict)

    @property
    def reading(self) -> Reading:
        """How the model reads a unit that does not stay."""
        assert self.how
        return self.how


@dataclass(frozen=True)
class Passage:
    """A line on its path through the model.

    Attributes:
        line: as the user wrote it.
        units: its sentences and what separates them, in order.
        placeholders: spans of the line that its translation must contain.
        is_free: whether the line and its translation may be edited.
    """

    line: str
    units: list[Unit]
    placeholders: Sequence[Span] = ()
    is_free: bool = True

    @property
    def parts(self) -> list[Unit]:
        """The units that the model translates."""
        return [unit for unit in self.units if unit.ids]

    def joined(self, translations: Mapping[Unit, str]) -> tuple[str, dict[Unit, int]]:
        """Return the translation of the line, and where the translation of each unit begins."""
        starts, text = dict[Unit, int](), ""
        last: Unit | None = None
        for unit in self.units:
            # Chinese has no space between sentences, and most other languages have one.
            if last and last.ids and unit.ids and text[-1:] < WIDE:
                text += " "
            starts[unit], last = len(text), unit
            text += translations.get(unit, unit.text.text)
        return text, starts
