"""Translate texts for the two interfaces: lines, documents, languages, limits."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nmt_cli.formats.document import translate_document
from nmt_cli.formats.placing import Aligned
from nmt_cli.formats.spans import Place
from nmt_cli.jobs.aligning import aligned_words, aligning
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translation import Translation
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
        alignments: places of a source word in the text and of a target word in the translation,
            in target order; None if not requested or if the model has no attention.
        others: further translations, best first, each of another text.
    """

    text: str
    alignments: list[tuple[Place, Place]] | None = None
    others: "list[Translated]" = field(default_factory=list)


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
        alignments: bool = False,
    ) -> list[Translated]:
        """Translate texts, each in its direction.

        Args:
            format: of documents, one of formats.document.FORMATS; "" for plain text, which is
                translated line by line, as nmt translate does.
            others: further translations of plain text to return.
            untouched: names of elements of HTML or XML whose content stays.
            alignments: whether to align the words of plain text, if the model has attention.

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
                else self._plain(each, text, others, alignments and each.has_attention)
            )
            tasks.append(asyncio.ensure_future(work))
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # of a request that was cancelled or failed
                task.cancel()

    async def _plain(
        self, direction: Direction, text: str, others: int, alignments: bool
    ) -> Translated:
        parts = _LINE_ENDS.split(text)  # lines and their ends in turns
        lines = list(dict.fromkeys(line for line in parts[::2] if line.strip()))
        beam = max(direction.beam_size, others + 1) if others else None
        options = DecodingOptions(n_best=others + 1, beam_size=beam, alignments=alignments)
        answers = self.batcher.submit(direction, options, lines)
        try:
            found = await asyncio.gather(*map(asyncio.wrap_future, answers))
        finally:
            for each in answers:
                each.cancel()
        known = dict(zip(lines, found, strict=True))
        return _ranked(parts, known, others, alignments)

    async def _document(
        self, direction: Direction, format: str, text: str, untouched: Sequence[str]
    ) -> Translated:
        """Markup is placed by alignments if the model has attention."""
        waiting: list[Answer] = []

        def translations(lines: Sequence[str]) -> list[Translation]:
            options = DecodingOptions(alignments=direction.has_attention)
            waiting[:] = self.batcher.submit(direction, options, lines)
            return [each.result() for each in waiting]

        translate = aligning(translations, direction.has_attention)
        try:
            found = await asyncio.to_thread(
                translate_document, format, text, "document", translate, untouched
            )
            return Translated(found)
        finally:
            for each in waiting:
                each.cancel()


def _ranked(
    parts: list[str], known: dict[str, Translation], others: int, alignments: bool
) -> Translated:
    """Build the translations of a text, and align words if requested."""
    best, *rest = (_rejoined(parts, known, rank, alignments) for rank in range(others + 1))
    # Other tokens may spell the same text.
    different = {each.text: each for each in reversed([best, *rest])}
    return replace(best, others=[each for each in rest if different[each.text] is each])


def _rejoined(
    parts: list[str], known: dict[str, Translation], rank: int, alignments: bool
) -> Translated:
    """Join the translations of lines with the line ends."""
    lines = {line: aligned_words(found.n_best[rank]) for line, found in known.items()}
    texts, pairs = list[str](), list[tuple[Place, Place]]()
    start = target_start = 0
    for part in parts:
        line = lines.get(part, Aligned(part))  # blank lines and line ends stay
        pairs += [
            (_moved(source, start), _moved(target, target_start)) for source, target in line.pairs
        ]
        texts.append(line.text)
        start += len(part)
        target_start += len(line.text)
    return Translated("".join(texts), pairs if alignments else None)


def _moved(place: Place, by: int) -> Place:
    return place[0] + by, place[1] + by
