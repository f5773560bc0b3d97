"""The state of a server: models, queue, keys and language detector; the translation of texts."""

import asyncio
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import NamedTuple, TypeVar

from nmt_cli.errors import InputError
from nmt_cli.formats import decoded, translate_document, translate_file
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.tags import Tags
from nmt_cli.host import cores
from nmt_cli.search.lines import Line, Translation
from nmt_cli.search.options import DecodingOptions
from nmt_cli.serve.batcher import Answer, Batcher, Flow, Metrics, TooManyRequests
from nmt_cli.serve.glossaries import GlossaryStore
from nmt_cli.serve.models import Direction, Models
from nmt_cli.serve.options import ServeOptions
from nmt_cli.text.detection import Detector
from nmt_cli.text.glossary import Glossary
from nmt_cli.text.lines import read_lines

Document = TypeVar("Document", str, bytes)

MEGABYTE = 1_000_000
# Documents that are translated at a time; most wait for translations of their lines.
_MAX_DOCUMENTS = 8
# Lines of a file that are queued at a time.
_LINES = 500
# After how long one for which there was no room in the queue tries again.
_WAIT_SECONDS = 1.0

# Clients whose requests are counted; beyond it, the least recent ones are forgotten.
_MAX_CLIENTS = 10_000
_DAY = 86_400
# Its sign may be part of a key.
_COMMENT = re.compile(r"(?:^|\s)#")


class Aligned(NamedTuple):
    """A translation, and where its aligned words and their source words are."""

    text: str
    pairs: Sequence[tuple[tuple[int, int], tuple[int, int]]] = ()


class QuotaExceeded(Exception):
    """A key has been used for as many characters of the day as it may; its text: seconds left."""


class Limits(NamedTuple):
    """Of a key: requests per minute, and characters per day (in UTC); 0 for no limit."""

    requests: int = 0
    characters: int = 0


class Access:
    """Keys, their limits, and characters used.

    Args:
        path: a file of keys: one per line, optionally followed by its requests per minute and its
            characters per day, 0 for no limit.
        limit: requests per minute for each other key or, without keys, each address; 0 for none.

    Attributes:
        keys: each with its limits; without keys, everyone may use the server.
    """

    def __init__(self, path: Path | None, limit: int) -> None:
        self.keys: dict[str, Limits] = {}
        self._limit, self._used, self._day = limit, Counter[str](), 0.0
        self._allowances: dict[str, tuple[float, float]] = {}  # requests left, and at what time
        for number, line in enumerate(read_lines(path) if path else [], start=1):
            key, *limits = _COMMENT.split(line)[0].split() or [""]
            if not key:
                continue
            if len(limits) > 2 or not all(word.isdecimal() for word in limits):
                hint = "write KEY, KEY REQUESTS_PER_MINUTE, or KEY REQUESTS_PER_MINUTE CHARACTERS"
                raise InputError(f"{path}, line {number}: not a key", f"{hint}_PER_DAY")
            self.keys[key] = Limits(*map(int, limits)) if limits else Limits(limit)
        if path and not self.keys:
            raise InputError(f"{path}: has no key", "write one key per line")

    def admit(self, key: str, address: str) -> None:
        """Count a request of a known key or, without a key, of an address; or refuse it."""
        limit = self.keys.get(key, Limits(self._limit)).requests
        if not limit:
            return
        client, now = key or _network(address), time.monotonic()
        left, updated = self._allowances.pop(client, (float(limit), now))
        left = min(limit, left + (now - updated) * limit / 60)
        self._allowances[client] = (left - 1 if left >= 1 else left, now)
        if len(self._allowances) > _MAX_CLIENTS:
            self._allowances.pop(next(iter(self._allowances)))
        if left < 1:
            raise TooManyRequests(f"{limit} per minute", 1 + int((1 - left) * 60 / limit))

    def used(self, key: str) -> int:
        """Return the characters that a key was used for on this day."""
        day = time.time() // _DAY
        if day > self._day:
            self._day = day
            self._used.clear()
        return self._used[key]

    def use(self, key: str, characters: int) -> None:
        """Count the characters of a request, or raise QuotaExceeded if they are too many."""
        limit = self.keys.get(key, Limits()).characters
        if limit and self.used(key) + max(characters, 1) > limit:
            raise QuotaExceeded(math.ceil(_DAY - time.time() % _DAY))
        self._used[key] = self.used(key) + characters


def _network(address: str) -> str:
    """Return an address, or the network of an IPv6 client, who has many."""
    try:
        client = ip_address(address)
    except ValueError:
        return address[:100]
    if client.version == 4 or client.ipv4_mapped:
        return address
    return str(ip_network((client, 64), strict=False))


class Service:
    """The models, the queue, the keys and the language detector of a server."""

    def __init__(self, folders: Sequence[Path], options: ServeOptions) -> None:
        self.options = options
        self.access = Access(options.api_keys, options.requests_per_minute)
        self.models = Models(folders, options.memory * MEGABYTE)
        self.glossaries = GlossaryStore(options.glossaries)
        self.metrics = Metrics()
        threads, cache = options.threads or cores(), options.cache * MEGABYTE
        self.batcher = Batcher(threads, options.max_waiting, cache, self.metrics, options.timeout)
        self.detector = Detector()
        self._documents = ThreadPoolExecutor(_MAX_DOCUMENTS, "document")

    async def translate(
        self,
        models: Sequence[Direction | None],
        texts: Sequence[str],
        format: str = "",
        alternatives: int = 0,
        tags: Tags | None = None,
        alignments: bool = False,
        glossary: Glossary | None = None,
        split_sentences: bool = True,
    ) -> list[list[Aligned]]:
        """Translate texts, each with its model; return the translations of each, best first.

        Args:
            models: None for a text that stays as it is.
            format: of documents, one of FORMATS; "" for plain text, which is translated line by
                line, as nmt translate does.
            alternatives: further translations of plain text to return, if their texts differ.
            tags: names of HTML or XML elements that are not translated as others are.
            alignments: whether to align the words of plain text, if the model has attention.
            glossary: terms to translate in a certain way; not through another language.
            split_sentences: whether the sentences of a line may be translated one by one.
        """
        tasks, flow = [], Flow(time.monotonic() + self.options.timeout)
        for model in dict.fromkeys(models):
            if model:
                self.models.make_room(model)
        for model, text in zip(models, texts, strict=True):
            if model is None:
                tasks.append(asyncio.ensure_future(asyncio.sleep(0, [Aligned(text)])))
                continue
            options = DecodingOptions(
                alignments=(alignments or bool(format)) and model.has_attention,
                split_sentences=split_sentences,
            )
            work = (
                self._marked_up(model, format, text, tags, options, glossary, flow)
                if format
                else self._plain(model, text, alternatives, options, glossary, flow)
            )
            tasks.append(asyncio.ensure_future(work))
        try:
            return await asyncio.gather(*tasks)
        finally:
            flow.ends = -math.inf
            for task in tasks:  # if the request was cancelled or failed
                task.cancel()

    async def texts_of(self, format: str, content: bytes) -> list[str]:
        """Return the texts of a file; see :func:`texts_of`."""
        return await asyncio.wrap_future(self._documents.submit(texts_of, format, content))

    async def translate_file(
        self,
        model: Direction,
        format: str,
        content: bytes,
        glossary: Glossary | None = None,
        seconds: float | None = None,
    ) -> bytes:
        """Translate a file in a format, or line by line.

        Args:
            seconds: in which it must be translated, and may wait for room in the queue; None for
                the time of a request, which does not wait.

        Raises:
            InputError: the file is damaged, or not in this format.
            TimeoutError: it takes too long.
        """
        ends = time.monotonic() + (self.options.timeout if seconds is None else seconds)
        flow = Flow(ends, waits=seconds is not None)
        options = DecodingOptions(alignments=bool(format) and model.has_attention)
        self.models.make_room(model)

        def translated(translate: Translate) -> bytes:
            if format:
                return translate_file(format, content, "the file", translate)
            text, encoding = decoded(content, "the file")
            lines = text.splitlines(keepends=True)
            distinct = list(dict.fromkeys(lines))
            translations = translate.lines([Line(line) for line in distinct])
            answers = dict(zip(distinct, translations, strict=True))
            return ranked(lines, answers, 0)[0].text.encode(encoding)

        try:
            return await self._document(model, translated, options, glossary, flow)
        finally:
            flow.ends = -math.inf

    async def _plain(
        self,
        model: Direction,
        text: str,
        alternatives: int,
        options: DecodingOptions,
        glossary: Glossary | None,
        flow: Flow,
    ) -> list[Aligned]:
        self.metrics.characters.labels(model.source, model.target).inc(len(text))
        lines = text.splitlines(keepends=True)  # which share batches and the cache
        distinct = list(dict.fromkeys(lines))
        beam_size = max(model.beam_size, alternatives + 1) if alternatives else None
        options = replace(options, n_best=alternatives + 1, beam_size=beam_size)
        given = with_terms([Line(line) for line in distinct], glossary)
        answers = self.batcher.submit(model, options, given, flow)
        try:
            translations = await asyncio.gather(*map(asyncio.wrap_future, answers))
        finally:
            for answer in answers:
                answer.cancel()
        return ranked(lines, dict(zip(distinct, translations, strict=True)), alternatives)

    async def _marked_up(
        self,
        model: Direction,
        format: str,
        text: str,
        tags: Tags | None,
        options: DecodingOptions,
        glossary: Glossary | None,
        flow: Flow,
    ) -> list[Aligned]:
        def translated(translate: Translate) -> str:
            return translate_document(format, text, "document", translate, tags)

        return [Aligned(await self._document(model, translated, options, glossary, flow))]

    async def _document(
        self,
        model: Direction,
        translated: Callable[[Translate], Document],
        options: DecodingOptions,
        glossary: Glossary | None,
        flow: Flow,
    ) -> Document:
        """Translate a document; markup is placed by alignments if the model has attention.

        Lines are queued by and by, so that a long document does not fill the queue.
        """
        answers: list[Answer] = []
        counter = self.metrics.characters.labels(model.source, model.target)

        def translations(lines: Sequence[Line]) -> Iterator[Translation]:
            for start in range(0, len(lines), _LINES):
                given = with_terms(lines[start : start + _LINES], glossary)
                counter.inc(sum(len(line.text) for line in given))
                answers[:] = submitted(given)
                yield from (answer.result() for answer in answers)

        def submitted(lines: Sequence[Line]) -> list[Answer]:
            while True:
                flow.check()
                try:
                    return self.batcher.submit(model, options, lines, flow)
                except TooManyRequests:
                    if not flow.waits:
                        raise
                    time.sleep(_WAIT_SECONDS)

        def check(*values: object) -> None:
            flow.check()

        languages = model.source, model.target
        has_terms = glossary is not None
        translate = Translate(translations, model.has_attention, languages, check, has_terms)
        try:
            return await asyncio.wrap_future(self._documents.submit(translated, translate))
        finally:
            for answer in answers:
                answer.cancel()


def texts_of(format: str, content: bytes) -> list[str]:
    """Return the texts of a document."""
    if not format:
        return [decoded(content, "the file")[0]]
    found = list[str]()

    def unchanged(lines: Sequence[Line]) -> list[Translation]:
        found.extend(line.text for line in lines)
        return [Translation(line.text, 0.0, []) for line in lines]

    translate_file(format, content, "the file", Translate(unchanged))
    return found


def with_terms(lines: Sequence[Line], glossary: Glossary | None) -> Sequence[Line]:
    """Return lines with their terms of a glossary."""
    if not glossary:
        return lines
    return [
        replace(line, terms=glossary.found(line.text)) if line.terms == () else line
        for line in lines
    ]


def ranked(lines: list[str], by_line: dict[str, Translation], alternatives: int) -> list[Aligned]:
    """Join the translations of lines for each rank."""
    results: dict[str, Aligned] = {}
    for rank in range(alternatives + 1):
        text, start, pairs = "", 0, []
        for line in lines:
            translation = by_line[line].n_best[rank]
            for word, target_word in translation.alignment or []:
                source = translation.source_words[word]
                target = translation.target_words[target_word]
                moved = target[0] + len(text), target[1] + len(text)
                pairs.append(((source[0] + start, source[1] + start), moved))
            text += translation.text
            start += len(line)
        results.setdefault(text, Aligned(text, pairs))  # different tokens may spell the same text
    return list(results.values())
