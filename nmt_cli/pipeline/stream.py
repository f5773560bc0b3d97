"""Lines in, lines out: the loop of ``nmt translate``."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from nmt_cli.errors import NmtError
from nmt_cli.pipeline.forms import Form, Record, constrained, json_lines, plain, table
from nmt_cli.pipeline.options import TranslateOptions
from nmt_cli.search.rejoining import Translation
from nmt_cli.search.translator import Line, Translator


@dataclass
class Counts:
    """What was translated: lines, those not blank, and tokens of their best translations."""

    lines: int = 0
    sentences: int = 0
    tokens: int = 0

    def summary(self, seconds: float) -> str:
        """One line for people."""
        return (
            f"translated {self.lines:,} lines ({self.sentences:,} sentences, {self.tokens:,} "
            f"tokens) in {seconds:,.1f} s: {self.tokens / max(seconds, 1e-9):,.0f} tokens/s"
        )


class Stream:
    """How lines of one input become lines of output.

    Attributes:
        form: how lines are read and written.
        lines_each: lines of output per line of input.
    """

    def __init__(self, translator: Translator, options: TranslateOptions, name: str = "") -> None:
        """``name`` is put before ``line 3`` in the translator's messages."""
        self._translator, self._options = replace(translator, name=name), options
        self.lines_each = 1 if options.json else options.decoding.n_best
        self.form: Form = constrained if options.constraints else plain
        if options.input_format == "tsv":
            self.form = table(options.field or "")
        elif options.input_format == "jsonl":
            self.form = json_lines(options.field or "", options.errors)

    def translate(
        self, lines: Iterable[str], name: str, counts: Counts, first_number: int = 1
    ) -> Iterator[list[str]]:
        """The lines of output for each line of input, in order, which are counted.

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
                    record = self.form(raw, f"{name}, line {number}")
                    waiting.append((raw, record))
                    # A line that passes unchanged is translated as a blank one, to keep its place.
                    yield record.line if record else Line("")
            except NmtError as error:  # translate the lines before it first
                failures.append(error)

        window = 1 if self._options.line_buffered else None
        for translation in self._translator.translate(requested(), first_number, window):
            counts.lines += 1
            counts.sentences += bool(translation.tokens)
            counts.tokens += len(translation.tokens)
            raw, record = waiting.popleft()
            yield self._written(record, translation) if record else [raw] * self.lines_each
        if failures:
            raise failures[0]

    def _written(self, record: Record, best: Translation) -> list[str]:
        if not self._options.json:
            return [record.as_line(each.text, self._details(each)) for each in best.n_best]
        n_best = [{"translation": each.text, **self._details(each)} for each in best.n_best]
        found = n_best[0] | ({"n_best": n_best} if best.others else {})
        return [record.as_json({**found, "seconds": round(best.seconds, 6)})]

    def _details(self, translation: Translation) -> dict[str, Any]:
        """Additional fields by name, in the order of the columns."""
        options = self._options
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
