"""Lines in, lines out: the loop of ``nmt translate``."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.pipeline.forms import Form, Record
from nmt_cli.pipeline.options import TranslateOptions
from nmt_cli.search.rejoining import Translation
from nmt_cli.search.translator import Line, Translator


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
        options: what is written in addition to the text.
    """

    translator: Translator
    form: Form
    options: TranslateOptions

    @property
    def lines_each(self) -> int:
        """Lines of output per line of input."""
        return 1 if self.options.json else self.translator.options.n_best

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

        window = 1 if self.options.line_buffered else None
        for translation in self.translator.translate(requested(), first_number, window):
            counts.add(translation)
            yield self._written(*waiting.popleft(), translation)
        if failures:
            raise failures[0]

    def _written(self, raw: str, record: Record | None, best: Translation) -> list[str]:
        if record is None:
            return [raw] * self.lines_each
        if not self.options.json:
            return [record.as_line(each.text, self._details(each)) for each in best.n_best]
        found = {"translation": best.text, **self._details(best)}
        if best.others:
            n_best = [{"translation": each.text, **self._details(each)} for each in best.n_best]
            found["n_best"] = n_best
        return [record.as_json({**found, "seconds": round(best.seconds, 6)})]

    def _details(self, translation: Translation) -> dict[str, Any]:
        """Additional fields by name, in the order of the columns."""
        options = self.options
        found: dict[str, Any] = {}
        if options.scores or options.json:
            found["score"] = round(translation.score, 6)
        if options.decoding.alignments:
            found["alignment"] = [f"{i}-{j}" for i, j in translation.alignment or []]
        if options.tokens or options.json:
            found["tokens"] = translation.tokens
        if options.json:
            found["token_scores"] = [round(each, 6) for each in translation.token_scores]
        return found
