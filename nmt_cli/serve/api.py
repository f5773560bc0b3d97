"""The base of the HTTP interfaces: fields, keys, sizes, languages, errors and time limits.

An interface is a subclass of :class:`Interface`; an endpoint is one of its methods and a route.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nmt_cli.errors import InputError
from nmt_cli.serve.batcher import TooManyRequests
from nmt_cli.serve.models import ServedModel
from nmt_cli.serve.options import ServeOptions
from nmt_cli.serve.service import Service, Translated
from nmt_cli.text.lines import read_lines

# Clients whose requests are counted; beyond it, the least recent ones are forgotten.
_MAX_CLIENTS = 10_000

# A status and a message, which may have {fields}.
Problem = tuple[int, str]


class Access:
    """Keys, limits of requests, and characters used.

    Attributes:
        keys: each with its limit, or None for the default limit; without keys, everyone may use
            the server.
        used: characters translated with each key.
    """

    def __init__(self, keys: dict[str, int | None], limit: int) -> None:
        """Set the keys, and the requests per minute for each key or address; 0 for no limit."""
        self.keys, self._limit = keys, limit
        self.used: Counter[str] = Counter()
        self._allowances: dict[str, tuple[float, float]] = {}  # requests left, and at what time

    @classmethod
    def read(cls, path: Path | None, limit: int) -> "Access":
        """Read keys from a file: one per line, optionally followed by its requests per minute."""
        keys: dict[str, int | None] = {}
        for number, line in enumerate(read_lines(path) if path else [], start=1):
            key, *limits = line.partition("#")[0].split() or [""]
            if not key:
                continue
            if len(limits) > 1 or not all(word.isdecimal() and int(word) for word in limits):
                raise InputError(
                    f"{path}, line {number}: not a key", "write KEY or KEY REQUESTS_PER_MINUTE"
                )
            keys[key] = int(limits[0]) if limits else None
        if path and not keys:
            raise InputError(f"{path}: has no key", "write one key per line")
        return cls(keys, limit)

    def admit(self, key: str, address: str) -> None:
        """Count a request of a known key or, without a key, of an address; or refuse it."""
        limit = self.keys.get(key) or self._limit
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


@dataclass
class Call:
    """A request with the fields of its JSON or form body and of its query string.

    Attributes:
        key: its API key; empty if the server needs none.
    """

    request: Request
    fields: dict[str, Any]
    key: str = ""

    def text(self, name: str) -> str:
        """Return the text of a field, or an empty string if it is missing."""
        value = self.fields.get(name)
        if value is None or isinstance(value, UploadFile):
            return ""
        if not isinstance(value, str):
            raise HTTPException(400, f"Invalid request: {name} is not text")
        return value

    def texts(self, name: str) -> list[str]:
        """Return the texts of a field that is a text or a list of texts."""
        value = self.fields.get(name)
        texts: list[Any] = value if isinstance(value, list) else [value]
        for text in texts:
            if not isinstance(text, str):
                raise HTTPException(400, f"Invalid request: {name} is not text")
            try:
                text.encode()
            except UnicodeEncodeError:
                raise HTTPException(400, f"Invalid request: {name} is not Unicode") from None
        return texts

    def is_true(self, name: str) -> bool:
        """Whether a field of JSON or of a form is true."""
        return str(self.fields.get(name) or "").lower() in ("true", "1")


class Interface:
    """An HTTP interface; subclasses add its endpoints and its wording of errors."""

    missing_field: ClassVar[Problem]
    missing_key: ClassVar[Problem]
    unknown_key: ClassVar[Problem]
    too_large: ClassVar[Problem]
    unknown_target: ClassVar[Problem]

    def __init__(self, service: Service, access: Access, options: ServeOptions) -> None:
        self.service, self.access, self.options = service, access, options
        self.models = service.models

    def key_of(self, call: Call) -> str:
        """Return the API key of a request, or an empty string if it has none."""
        raise NotImplementedError

    @staticmethod
    def error_body(error: HTTPException) -> dict[str, str]:
        """Return the JSON of an error."""
        raise NotImplementedError

    def endpoint(
        self,
        path: str,
        answer: Callable[[Call], Awaitable[Any]],
        *required: str,
        methods: tuple[str, ...] = ("GET",),
    ) -> Route:
        """Make a route; ``answer`` returns the JSON for a request that has the required fields."""

        async def respond(request: Request) -> Response:
            return JSONResponse(await answer(await self._admit(request, *required)))

        return Route(path, respond, methods=methods)

    async def _admit(self, request: Request, *required: str) -> Call:
        """Read the fields of a request, check its key, count it, and check for required fields."""
        call = Call(request, await _read_fields(request))
        if self.access.keys:
            call.key = self.key_of(call)
            if call.key not in self.access.keys:
                raise problem(self.unknown_key if call.key else self.missing_key)
        self.access.admit(call.key, request.client.host if request.client else "")
        self.require(call, *required)
        return call

    def require(self, call: Call, *names: str) -> None:
        """Check that a request has these fields."""
        for name in names:
            if not call.fields.get(name):
                raise problem(self.missing_field, name=name)

    def check_size(self, texts: Sequence[str]) -> int:
        """Return the number of characters of a request's texts, if there are not too many."""
        size, limit = sum(map(len, texts)), self.options.max_characters
        if size > limit:
            raise problem(self.too_large, size=size, limit=limit)
        return size

    def sources_for(self, target: str) -> list[str]:
        """Return the languages that can be translated to another one, if there are any."""
        sources = [source for source in self.models.sources if self.models.find(source, target)]
        if not sources:
            raise problem(self.unknown_target, target=target[:20])
        return sources

    def detect(
        self, texts: Sequence[str], target: str, min_characters: int = 0
    ) -> list[tuple[str, float]]:
        """Return the language of each text, of those that can be translated to the target.

        Languages come with probabilities. Texts of fewer than ``min_characters`` get the language
        of all texts together.
        """
        sources, detector = self.sources_for(target), self.service.detector
        long = [len(text) >= min_characters for text in texts]
        together = ("", 0.0) if all(long) else detector.choose(" ".join(texts), sources)
        return [
            detector.choose(text, sources) if is_long else together
            for text, is_long in zip(texts, long, strict=True)
        ]

    async def translate_texts(
        self, call: Call, models: Sequence[ServedModel], texts: Sequence[str], **options: Any
    ) -> list[Translated]:
        """Translate texts with Service.translate, unless the client disconnects."""
        work = self.service.translate(models, texts, **options)
        return await _while_connected(call.request, work, self.options.timeout)


def problem(kind: Problem, **values: object) -> HTTPException:
    """Make an error; the values fill the fields of its message."""
    status, message = kind
    return HTTPException(status, message.format(**values))


async def _read_fields(request: Request) -> dict[str, Any]:
    """Read the fields of a JSON or form body and of the query string; repeated ones are lists."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type == "application/json":
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise HTTPException(400, "Invalid JSON format")
        return body
    form = await request.form(max_fields=2000)
    values: dict[str, list[Any]] = {}
    for name, value in [*request.query_params.multi_items(), *form.multi_items()]:
        values.setdefault(name, []).append(value)
    return {name: value if len(value) > 1 else value[0] for name, value in values.items()}


async def _while_connected(request: Request, work: Awaitable[Any], seconds: float) -> Any:
    """Wait for work; cancel it if the client disconnects or it takes too long."""

    async def disconnect() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    task, disconnected = asyncio.ensure_future(work), asyncio.create_task(disconnect())
    try:
        done, _ = await asyncio.wait(
            {task, disconnected}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        if task in done:
            return task.result()
        if disconnected in done:
            raise HTTPException(499, "the client disconnected")
        raise TimeoutError
    finally:
        for future in (task, disconnected):
            future.cancel()
            with suppress(BaseException):
                await future
