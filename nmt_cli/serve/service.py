"""Translate texts for the two interfaces: lines, documents, languages, limits."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from nmt_cli.formats.document import translate_document
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.rejoining import Translation
from nmt_cli.serve.batcher import Answer, Batcher
from nmt_cli.serve.detection import Detector
from nmt_cli.serve.metrics import Metrics
from nmt_cli.serve.models import Direction, Models

_LINE_ENDS = re.compile(r"(\r\n|\r|\n)")


@dataclass(frozen=True)
class Translated:
    """The translation of a text.

    Attributes:
        text: the translation.
        others: further ones, best first.
    """

    text: str
    others: list[str]


class Service:
    """The models, the queue and the detector of a server."""

    def __init__(self, models: Models, batcher: Batcher, metrics: Metrics) -> None:
        self.models, self.batcher, self.metrics = models, batcher, metrics
        self.detector = Detector(models.sources)

    async def plain(
        self, direction: Direction, texts: Sequence[str], others: int = 0
    ) -> list[Translated]:
        """Translate texts line by line, as nmt translate does; line ends stay.

        Raises:
            Overloaded: too much is waiting.
            NmtError: a text cannot be translated.
        """
        # Lines and their ends in turns; the same line twice is translated once.
        parts = [_LINE_ENDS.split(text) for text in texts]
        lines = list(dict.fromkeys(line for each in parts for line in each[::2] if line.strip()))
        beam = max(direction.beam_size, others + 1) if others else None
        options = DecodingOptions(n_best=others + 1, beam_size=beam)
        self._count(direction, texts)
        answers = self.batcher.submit(direction, options, lines)
        try:
            found = await asyncio.gather(*map(asyncio.wrap_future, answers))
        finally:
            for each in answers:  # of one that was cancelled or failed
                each.cancel()
        known = dict(zip(lines, found, strict=True))
        return [_rejoined(each, known, others) for each in parts]

    async def document(
        self, direction: Direction, format: str, text: str, ignored: Sequence[str] = ()
    ) -> str:
        """Translate a document and keep its markup.

        Args:
            format: one of formats.document.FORMATS.
            ignored: names of elements whose text stays.

        Raises:
            Overloaded: too much is waiting.
            NmtError: the document is malformed, or a text in it cannot be translated.
        """
        waiting: list[Answer] = []

        def translate(lines: Sequence[str]) -> list[str]:
            waiting[:] = self.batcher.submit(direction, DecodingOptions(), lines)
            return [each.result().text for each in waiting]

        self._count(direction, [text])
        try:
            return await asyncio.to_thread(
                translate_document, format, text, "document", translate, ignored
            )
        finally:
            for each in waiting:
                each.cancel()

    def _count(self, direction: Direction, texts: Sequence[str]) -> None:
        labels = direction.source, direction.target
        self.metrics.characters.labels(*labels).inc(sum(map(len, texts)))


def _rejoined(parts: list[str], known: dict[str, Translation], others: int) -> Translated:
    texts = []
    for rank in range(others + 1):
        lines = [
            part if at % 2 or not part.strip() else known[part].n_best[rank].text
            for at, part in enumerate(parts)
        ]
        texts.append("".join(lines))
    return Translated(texts[0], texts[1:])
