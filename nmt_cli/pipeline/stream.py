"""Lines in, lines out: the loop of ``nmt translate``."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nmt_cli.errors import NmtError
from nmt_cli.pipeline.details import Details
from nmt_cli.pipeline.forms import Form, Record
from nmt_cli.search.rejoining import Translation
from nmt_cli.search.translator import Line, Translator


@dataclass
class Counts:
    """What went through, for the summary.

    Attributes:
        sentences: lines that were not blank.
        tokens: of their best translations, with their ends.
    """

    lines: int = 0
    sentences: int = 0
    tokens: int = 0

    def add(self, translation: Translation) -> None:
        """Count one more line."""
        self.lines += 1
        self.sentences += bool(translation.token_scores)
        self.tokens += len(translation.token_scores)

    def summary(self, seconds: float) -> str:
        """One line, for people."""
        return (
            f"translated {self.lines:,} lines ({self.sentences:,} sentences, {self.tokens:,} "
            f"tokens) in {seconds:,.1f} s: {self.tokens / max(seconds, 1e-9):,.0f} tokens/s"
        )


@dataclass(frozen=True)
class Stream:
    """How lines become lines.

    Attributes:
        translator: what translates.
        form: how lines are read and written.
        details: what is told beside the text.
        as_json: write an object a line.
        window: lines read ahead; None: the translator's own.
    """

    translator: Translator
    form: Form
    details: Details
    as_json: bool = False
    window: int | None = None

    @property
    def lines_each(self) -> int:
        """Lines of output for a line of input."""
        return 1 if self.as_json else self.translator.options.n_best

    def translate(
        self, lines: Iterable[str], name: str, counts: Counts, first_number: int = 1
    ) -> Iterator[list[str]]:
        """The lines of output for each line, in order.

        Args:
            lines: without their ends.
            name: of what they come from, for errors.
            counts: receives what went through.
            first_number: of the first line.

        Raises:
            NmtError: a line is not of the form, or cannot be translated; names it.
        """
        waiting: deque[tuple[str, Record | None]] = deque()
        failures: list[NmtError] = []

        def asked() -> Iterator[Line]:
            try:
                for number, raw in enumerate(lines, start=first_number):
                    record = self.form.read(raw, f"{name}, line {number}")
                    waiting.append((raw, record))
                    # What is passed through goes along as a blank line, to keep its place.
                    yield record.line if record else Line("")
            except NmtError as error:  # what stands before it is translated first
                failures.append(error)

        for translation in self.translator.translate(asked(), first_number, self.window):
            counts.add(translation)
            yield self._written(*waiting.popleft(), translation)
        if failures:
            raise failures[0]

    def _written(self, raw: str, record: Record | None, best: Translation) -> list[str]:
        if record is None:
            return [raw] * self.lines_each
        if self.as_json:
            return [record.tell(self.details.full(best))]
        return [record.put(each.text, self.details.of(each)) for each in (best, *best.others)]
