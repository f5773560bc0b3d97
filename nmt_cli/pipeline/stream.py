"""Lines in, lines out: the loop of ``nmt translate``."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.pipeline.forms import Form, Record
from nmt_cli.search.rejoining import Translation
from nmt_cli.search.translator import Line, Translator


@dataclass(frozen=True)
class Details:
    """What the output contains in addition to the text.

    Attributes:
        scores, alignments, tokens: columns or fields to add.
        json: write a JSON object per line with everything.
    """

    scores: bool = False
    alignments: bool = False
    tokens: bool = False
    json: bool = False

    def of(self, translation: Translation) -> dict[str, Any]:
        """Fields by name, in the order of the columns."""
        found: dict[str, Any] = {}
        if self.scores or self.json:
            found["score"] = round(translation.score, 6)
        if self.alignments:
            found["alignment"] = [f"{i}-{j}" for i, j in translation.alignment or []]
        if self.tokens or self.json:
            found["tokens"] = translation.tokens
        if self.json:
            found["token_scores"] = [round(each, 6) for each in translation.token_scores]
        return found

    def full(self, best: Translation) -> dict[str, Any]:
        """All fields of a line: its translation, n-best list and time."""
        found = {"translation": best.text, **self.of(best)}
        if best.others:
            found["n_best"] = [{"translation": each.text, **self.of(each)} for each in best.n_best]
        return {**found, "seconds": round(best.seconds, 6)}


@dataclass
class Counts:
    """What was translated, for the summary.

    Attributes:
        sentences: lines that were not blank.
        tokens: of their best translations, END included.
    """

    lines: int = 0
    sentences: int = 0
    tokens: int = 0

    def add(self, translation: Translation) -> None:
        """Count one more line."""
        self.lines += 1
        self.sentences += bool(translation.tokens)
        self.tokens += len(translation.tokens)

    def summary(self, seconds: float) -> str:
        """One line for people."""
        return (
            f"translated {self.lines:,} lines ({self.sentences:,} sentences, {self.tokens:,} "
            f"tokens) in {seconds:,.1f} s: {self.tokens / max(seconds, 1e-9):,.0f} tokens/s"
        )


@dataclass(frozen=True)
class Stream:
    """How lines of input become lines of output.

    Attributes:
        translator: of the texts.
        form: how lines are read and written.
        details: what is written in addition to the text.
        window: lines read ahead; None for the translator's own.
    """

    translator: Translator
    form: Form
    details: Details
    window: int | None = None

    @property
    def lines_each(self) -> int:
        """Lines of output per line of input."""
        return 1 if self.details.json else self.translator.options.n_best

    def translate(
        self, lines: Iterable[str], name: str, counts: Counts, first_number: int = 1
    ) -> Iterator[list[str]]:
        """The lines of output for each line of input, in order.

        Args:
            lines: without their ends.
            name: of the input, for errors.
            counts: updated with each line.
            first_number: of the first line.

        Raises:
            NmtError: a line does not have the form or cannot be translated; names the line.
        """
        waiting: deque[tuple[str, Record | None]] = deque()
        failures: list[NmtError] = []

        def requested() -> Iterator[Line]:
            try:
                for number, raw in enumerate(lines, start=first_number):
                    record = self.form.read(raw, f"{name}, line {number}")
                    waiting.append((raw, record))
                    # A line that passes unchanged is translated as a blank one, to keep its place.
                    yield record.line if record else Line("")
            except NmtError as error:  # translate the lines before it first
                failures.append(error)

        for translation in self.translator.translate(requested(), first_number, self.window):
            counts.add(translation)
            yield self._written(*waiting.popleft(), translation)
        if failures:
            raise failures[0]

    def _written(self, raw: str, record: Record | None, best: Translation) -> list[str]:
        if record is None:
            return [raw] * self.lines_each
        if self.details.json:
            return [record.as_json(self.details.full(best))]
        return [record.as_line(each.text, self.details.of(each)) for each in best.n_best]
