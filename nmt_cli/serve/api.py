"""The base of the HTTP interfaces: fields, keys, sizes, languages, errors and time limits."""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nmt_cli.formats.placing import Aligned
from nmt_cli.serve.service import Service

# What Service.translate returns: the translations of each text, best first.
Results = list[list[Aligned]]
# A status and a message, which may have {fields}.
Problem = tuple[int, str]


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


class Interface(ABC):
    """An HTTP interface; subclasses add endpoints (methods with routes) and the wording of errors.

    Attributes:
        error_field: key of the message in the JSON of an error.
        too_many: what precedes the message of an error with status 429.
    """

    error_field: ClassVar[str]
    too_many: ClassVar[str] = ""
    missing_field: ClassVar[Problem]
    missing_key: ClassVar[Problem]
    unknown_key: ClassVar[Problem]
    too_large: ClassVar[Problem]
    unknown_target: ClassVar[Problem]

    def __init__(self, service: Service) -> None:
        self.service, self.models, self.access = service, service.models, service.access

    @abstractmethod
    def key_of(self, call: Call) -> str:
        """Return the API key of a request, or an empty string if it has none."""

    def endpoint(
        self,
        path: str,
        answer: Callable[[Call], Awaitable[Any]],
        *required: str,
        methods: tuple[str, ...] = ("GET",),
    ) -> Route:
        """Make a route that checks keys and limits.

        ``answer`` returns the JSON for a request that has the required fields.
        """

        async def respond(request: Request) -> Response:
            call = Call(request, await _read_fields(request))
            if self.access.keys:
                call.key = self.key_of(call)
                if call.key not in self.access.keys:
                    raise problem(self.unknown_key if call.key else self.missing_key)
            self.access.admit(call.key, request.client.host if request.client else "")
            self.require(call, *required)
            return JSONResponse(await answer(call))

        return Route(path, respond, methods=methods)

    def require(self, call: Call, *names: str) -> None:
        """Check that a request has these fields."""
        for name in names:
            if not call.fields.get(name):
                raise problem(self.missing_field, name=name)

    def check_size(self, texts: Sequence[str]) -> int:
        """Return the number of characters of a request's texts, if there are not too many."""
        size, limit = sum(map(len, texts)), self.service.options.max_characters
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

    async def in_time(self, call: Call, results: Awaitable[Results]) -> Results:
        """Return the results of a request; stop if they take too long or nobody waits."""
        task = asyncio.ensure_future(results)

        async def cancel_if_disconnected() -> None:
            while (await call.request.receive())["type"] != "http.disconnect":
                pass
            task.cancel()

        watcher = asyncio.create_task(cancel_if_disconnected())
        try:
            return await asyncio.wait_for(task, self.service.options.timeout)
        except asyncio.CancelledError:
            if not watcher.done():
                raise
            raise HTTPException(499, "the client disconnected") from None
        finally:
            watcher.cancel()


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
