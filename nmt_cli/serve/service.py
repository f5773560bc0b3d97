"""Translate texts for the two interfaces: lines, documents, languages, limits."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.formats.document import translate_document
from nmt_cli.pipeline.aligning import aligning
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.rejoining import Translation
from nmt_cli.serve.batcher import Answer, Batcher
from nmt_cli.serve.detection import Detector
from nmt_cli.serve.metrics import Metrics
from nmt_cli.serve.models import Direction, Models

_LINE_ENDS = re.compile(r"(\r\n|\r|\n)")


@dataclass(frozen=True)
class Translated:
    """The translation of a text, and further ones, best first."""

    text: str
    others: list[str]


class Service:
    """The models, the queue and the detector of a server."""

    def __init__(self, models: Models, batcher: Batcher, metrics: Metrics) -> None:
        self.models, self.batcher, self.metrics = models, batcher, metrics
        self.detector = Detector(models.sources)

    async def translate(
        self,
        directions: Sequence[Direction],
        texts: Sequence[str],
        format: str = "",
        others: int = 0,
        untouched: Sequence[str] = (),
    ) -> list[Translated]:
        """Translate texts, each in its direction.

        Args:
            format: of documents, one of formats.document.FORMATS; "" for plain text, which is
                translated line by line, as nmt translate does.
            others: further translations of plain text to return.
            untouched: names of elements of HTML or XML whose content stays.

        Raises:
            TooMany: too much is waiting.
            NmtError: a document is malformed, or a text cannot be translated.
        """
        tasks = []
        for each, text in zip(directions, texts, strict=True):
            labels = each.source, each.target
            self.metrics.characters.labels(*labels).inc(len(text))
            work = (
                self._document(each, format, text, untouched)
                if format
                else self._plain(each, text, others)
            )
            tasks.append(asyncio.ensure_future(work))
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # of a request that was cancelled or failed
                task.cancel()

    async def _plain(self, direction: Direction, text: str, others: int) -> Translated:
        parts = _LINE_ENDS.split(text)  # lines and their ends in turns
        lines = list(dict.fromkeys(line for line in parts[::2] if line.strip()))
        beam = max(direction.beam_size, others + 1) if others else None
        options = DecodingOptions(n_best=others + 1, beam_size=beam)
        answers = self.batcher.submit(direction, options, lines)
        try:
            found = await asyncio.gather(*map(asyncio.wrap_future, answers))
        finally:
            for each in answers:
                each.cancel()
        return _rejoined(parts, dict(zip(lines, found, strict=True)), others)

    async def _document(
        self, direction: Direction, format: str, text: str, untouched: Sequence[str]
    ) -> Translated:
        """Markup is placed by alignments if the model has attention."""
        waiting: list[Answer] = []

        def translations(lines: Sequence[str]) -> list[Translation]:
            options = DecodingOptions(alignments=direction.has_attention)
            waiting[:] = self.batcher.submit(direction, options, lines)
            return [each.result() for each in waiting]

        translate = aligning(direction.tokenizers, translations, direction.has_attention)
        try:
            found = await asyncio.to_thread(
                translate_document, format, text, "document", translate, untouched
            )
            return Translated(found, [])
        finally:
            for each in waiting:
                each.cancel()


def _rejoined(parts: list[str], known: dict[str, Translation], others: int) -> Translated:
    texts = []
    for rank in range(others + 1):
        lines = [
            part if at % 2 or not part.strip() else known[part].n_best[rank].text
            for at, part in enumerate(parts)
        ]
        texts.append("".join(lines))
    return Translated(texts[0], texts[1:])
