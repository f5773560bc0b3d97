"""The state of a server: models, queue, keys and language detector; the translation of texts."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nmt_cli.errors import InputError
from nmt_cli.formats import translate_document
from nmt_cli.formats.placing import Aligned, Translate
from nmt_cli.host import cores
from nmt_cli.search.options import DecodingOptions
from nmt_cli.search.translator import Translation
from nmt_cli.serve.batcher import Answer, Batcher, Metrics, Models, ServedModel, TooManyRequests
from nmt_cli.serve.options import ServeOptions
from nmt_cli.text.lines import read_lines

_MEGABYTE = 1_000_000

# Clients whose requests are counted; beyond it, the least recent ones are forgotten.
_MAX_CLIENTS = 10_000
_LINE_ENDS = re.compile(r"(\r\n|\r|\n)")
# More characters would make detection slower, and not more accurate.
_MAX_DETECTION_CHARACTERS = 1000
_MIN_PROBABILITY = 0.1


class Detector:
    """Detects the language of texts."""

    def __init__(self) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)

    def rank(self, text: str) -> list[tuple[str, float]]:
        """Return all likely languages, best first, with probabilities between 0 and 1."""
        ranked = self._identifier.rank(text[:_MAX_DETECTION_CHARACTERS])
        return [pair for pair in ranked if pair[1] >= _MIN_PROBABILITY] or ranked[:1]

    def choose(self, text: str, languages: Sequence[str]) -> tuple[str, float]:
        """Return the likeliest of these languages and its probability."""
        if len(languages) == 1:
            return languages[0], 1.0
        for detected, probability in self._identifier.rank(text[:_MAX_DETECTION_CHARACTERS]):
            for language in languages:
                if detected in (language, language.partition("-")[0]):
                    return language, probability
        return languages[0], 0.0


class Access:
    """Keys, limits of requests, and characters used.

    Args:
        path: a file of keys: one per line, optionally followed by its requests per minute.
        limit: requests per minute for each other key or, without keys, each address; 0 for none.

    Attributes:
        keys: each with its limit; without keys, everyone may use the server.
        used: characters translated with each key.
    """

    def __init__(self, path: Path | None, limit: int) -> None:
        self.keys: dict[str, int] = {}
        self.used: Counter[str] = Counter()
        self._limit = limit
        self._allowances: dict[str, tuple[float, float]] = {}  # requests left, and at what time
        for number, line in enumerate(read_lines(path) if path else [], start=1):
            key, *limits = line.partition("#")[0].split() or [""]
            if not key:
                continue
            if len(limits) > 1 or not all(word.isdecimal() and int(word) for word in limits):
                hint = "write KEY or KEY REQUESTS_PER_MINUTE"
                raise InputError(f"{path}, line {number}: not a key", hint)
            self.keys[key] = int(limits[0]) if limits else limit
        if path and not self.keys:
            raise InputError(f"{path}: has no key", "write one key per line")

    def admit(self, key: str, address: str) -> None:
        """Count a request of a known key or, without a key, of an address; or refuse it."""
        limit = self.keys.get(key, self._limit)
        if not limit:
            return
        client, now = key or address, time.monotonic()
        left, updated = self._allowances.pop(client, (float(limit), now))
        left = min(limit, left + (now - updated) * limit / 60)
        self._allowances[client] = (left - 1 if left >= 1 else left, now)
        if len(self._allowances) > _MAX_CLIENTS:
            self._allowances.pop(next(iter(self._allowances)))
        if left < 1:
            raise TooManyRequests(f"{limit} per minute", 1 + int((1 - left) * 60 / limit))


class Service:
    """The models, the queue, the keys and the language detector of a server."""

    def __init__(self, folders: Sequence[Path], options: ServeOptions) -> None:
        self.options = options
        self.access = Access(options.api_keys, options.requests_per_minute)
        self.models = Models(folders, options.memory * _MEGABYTE)
        self.metrics = Metrics()
        threads, cache = options.threads or cores(), options.cache * _MEGABYTE
        self.batcher = Batcher(threads, options.max_waiting, cache, self.metrics)
        self.detector = Detector()

    async def translate(
        self,
        models: Sequence[ServedModel],
        texts: Sequence[str],
        format: str = "",
        alternatives: int = 0,
        untouched: Sequence[str] = (),
        alignments: bool = False,
    ) -> list[list[Aligned]]:
        """Translate texts, each with its model; return the translations of each, best first.

        Args:
            format: of documents, one of FORMATS; "" for plain text, which is translated line by
                line, as nmt translate does.
            alternatives: further translations of plain text to return, if their texts differ.
            untouched: names of HTML or XML elements whose content stays.
            alignments: whether to align the words of plain text, if the model has attention.
        """
        tasks = []
        for model, text in zip(models, texts, strict=True):
            self.models.make_room(model)
            self.metrics.characters.labels(model.source, model.target).inc(len(text))
            work = (
                self._document(model, format, text, untouched)
                if format
                else self._plain(model, text, alternatives, alignments and model.has_attention)
            )
            tasks.append(asyncio.ensure_future(work))
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:  # if the request was cancelled or failed
                task.cancel()

    async def _plain(
        self, model: ServedModel, text: str, alternatives: int, alignments: bool
    ) -> list[Aligned]:
        parts = _LINE_ENDS.split(text)  # lines and line ends by turns
        lines = list(dict.fromkeys(line for line in parts[::2] if line.strip()))
        beam_size = max(model.beam_size, alternatives + 1) if alternatives else None
        options = DecodingOptions(
            n_best=alternatives + 1, beam_size=beam_size, alignments=alignments
        )
        answers = self.batcher.submit(model, options, lines)
        try:
            translations = await asyncio.gather(*map(asyncio.wrap_future, answers))
        finally:
            for answer in answers:
                answer.cancel()
        by_line = dict(zip(lines, translations, strict=True))
        return ranked(parts, by_line, alternatives)

    async def _document(
        self, model: ServedModel, format: str, text: str, untouched: Sequence[str]
    ) -> list[Aligned]:
        """Translate a document; markup is placed by alignments if the model has attention."""
        answers: list[Answer] = []

        def translations(lines: Sequence[str]) -> list[Translation]:
            options = DecodingOptions(alignments=model.has_attention)
            answers[:] = self.batcher.submit(model, options, lines)
            return [answer.result() for answer in answers]

        translate = Translate(translations, model.has_attention)
        try:
            result = await asyncio.to_thread(
                translate_document, format, text, "document", translate, untouched
            )
            return [Aligned(result)]
        finally:
            for answer in answers:
                answer.cancel()


def ranked(parts: list[str], by_line: dict[str, Translation], alternatives: int) -> list[Aligned]:
    """Join the translations of lines, and what is between them, for each rank."""
    results: dict[str, Aligned] = {}
    for rank in range(alternatives + 1):
        lines = {line: Aligned.of(best.n_best[rank]) for line, best in by_line.items()}
        text, start, pairs = "", 0, []
        for part in parts:
            line = lines.get(part, Aligned(part))  # blank lines and line ends stay
            for source, target in line.pairs:
                moved = target[0] + len(text), target[1] + len(text)
                pairs.append(((source[0] + start, source[1] + start), moved))
            text += line.text
            start += len(part)
        results.setdefault(text, Aligned(text, pairs))  # different tokens may spell the same text
    return list(results.values())
