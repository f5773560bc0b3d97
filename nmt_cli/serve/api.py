"""The base of the HTTP interfaces: fields, keys, sizes, languages, errors and time limits."""

import asyncio
import json
import logging
import math
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nmt_cli.errors import InputError, ModelError, NmtError, OptionError, ResourceError
from nmt_cli.serve.models import Direction
from nmt_cli.serve.service import QuotaExceeded, Service

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
# A status and a message, which may have {fields}.
Problem = tuple[int, str]

_MAX_FIELDS = 2000
_NOT_UTF8 = 400, "Invalid request: the form is not UTF-8"


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
        return texts

    def is_true(self, name: str) -> bool:
        """Whether a field of JSON or of a form is true."""
        return str(self.fields.get(name) or "").lower() in ("true", "1")


class Interface:
    """An HTTP interface; subclasses add endpoints, and messages that are not LibreTranslate's.

    Attributes:
        error_field: key of the message in the JSON of an error.
        max_texts: per request, if the interface has a limit besides ``--max-texts``.
        too_many: what precedes the message of an error with status 429.
    """

    error_field: ClassVar[str]
    too_many: ClassVar[str] = ""
    missing_field: ClassVar[Problem]
    missing_key = 400, "Please contact the server operator to get an API key"
    unknown_key = 403, "Invalid API key"
    too_large = 400, "Invalid request: request ({size}) exceeds text limit ({limit})"
    quota_exceeded = 429, "the characters of the day are used up"
    max_texts: ClassVar[float] = math.inf
    too_many_texts = too_large
    unknown_target: ClassVar[Problem]

    def __init__(self, service: Service) -> None:
        self.service, self.models, self.access = service, service.models, service.access

    @classmethod
    def error_body(cls, status: int, message: str) -> dict[str, Any]:
        """Return the JSON of an error."""
        return {cls.error_field: f"{cls.too_many if status == 429 else ''}{message}"}

    def key_of(self, call: Call) -> str:
        """Return the key of a request, in a field or, as Prometheus sends it, in a header."""
        header = call.request.headers.get("authorization", "")
        return call.text("api_key") or call.text("key") or header.removeprefix("Bearer ").strip()

    def endpoint(
        self,
        path: str,
        answer: Callable[[Call], Awaitable[Any]],
        *required: str,
        methods: tuple[str, ...] = ("GET",),
    ) -> Route:
        """Make a route that checks keys and limits.

        ``answer`` returns the JSON, or a response, for a request that has the required fields.
        """

        async def respond(request: Request) -> Response:
            request.scope["interface"] = self  # for errors
            call = Call(request, await _read_fields(request))
            if self.access.keys:
                call.key = self.key_of(call)
                if call.key not in self.access.keys:
                    raise problem(self.unknown_key if call.key else self.missing_key)
            self.access.admit(call.key, request.client.host if request.client else "")
            self.require(call, *required)
            result = await answer(call)
            return result if isinstance(result, Response) else JSONResponse(result)

        return Route(path, respond, methods=methods)

    def require(self, call: Call, *names: str) -> None:
        """Check that a request has these fields."""
        for name in names:
            if not call.fields.get(name):
                raise problem(self.missing_field, name=name)

    def check_size(self, texts: Sequence[str]) -> int:
        """Return the number of characters of a request's texts, if neither are too many."""
        most = min(self.max_texts, self.service.options.max_texts)
        if len(texts) > most:
            raise problem(self.too_many_texts, size=len(texts), limit=most)
        size, limit = sum(map(len, texts)), self.service.options.max_characters
        if size > limit:
            raise problem(self.too_large, size=size, limit=limit)
        return size

    def charge(self, call: Call, texts: Sequence[str]) -> int:
        """Check the size of a request's texts, count them for its key, and return it."""
        size = self.check_size(texts)
        self.use(call.key, size)
        return size

    def use(self, key: str, characters: int) -> None:
        """Count characters for a key, unless they are too many."""
        try:
            self.access.use(key, characters)
        except QuotaExceeded as error:
            status, message = self.quota_exceeded
            raise HTTPException(status, message, {"Retry-After": str(error)}) from None

    def sources_for(self, target: str) -> list[str]:
        """Return the languages that can be translated to another one, if there are any."""
        sources = [source for source in self.models.sources if self.models.find(source, target)]
        if not sources:
            raise problem(self.unknown_target, target=target[:20])
        return sources

    def no_model(self, source: str, target: str) -> HTTPException:
        """Return the error for languages without a model."""
        return problem(self.unknown_target, target=target[:20])

    def find(self, source: str, target: str) -> Direction | None:
        """Return the model for two languages, or None if texts stay as they are: in the target."""
        model = self.models.find(source, target)
        if not model and not self.models.is_same(source, target):
            raise self.no_model(source, target)
        return model

    async def detect(
        self, texts: Sequence[str], target: str, min_characters: int = 0
    ) -> list[tuple[str, float]]:
        """Return the language of each text: one that can be translated to the target, or that.

        Languages come with probabilities. Texts of fewer than ``min_characters`` get the language
        of all texts together.
        """
        sources, detector = self.sources_for(target), self.service.detector

        def detected() -> list[tuple[str, float]]:
            long = [len(text) >= min_characters for text in texts]
            together = ("", 0.0) if all(long) else detector.choose(" ".join(texts), sources, target)
            return [
                detector.choose(text, sources, target) if is_long else together
                for text, is_long in zip(texts, long, strict=True)
            ]

        return await asyncio.to_thread(detected)

    async def in_time(self, call: Call, results: Awaitable[Result]) -> Result:
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


def answer_to(error: Exception, path: str) -> HTTPException:
    """Return the answer to a request that fails; the log has what clients must not see."""
    if isinstance(error, HTTPException):
        return error
    if isinstance(error, InputError | OptionError):
        return HTTPException(400, str(error))
    if isinstance(error, TimeoutError):
        return HTTPException(500, "the translation took too long")
    # Its message is for the log only: it may hold paths and texts.
    logger.error(f"{path}: {_described(error)}")
    if isinstance(error, ModelError | ResourceError):
        return HTTPException(503, "the model cannot be used now")
    return HTTPException(500, "internal error")


def _described(error: Exception) -> str:
    """Describe an error without its message, which may hold texts, unless that is for users."""
    if isinstance(error, NmtError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    calls = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames[-5:])]
    return f"unexpected {type(error).__name__} at {' < '.join(calls)}; this is a bug in nmt"


def _form_fields(form: bytes) -> list[tuple[str, str]]:
    """Read a form of UTF-8, percent-encoded or not: ``curl -d`` does not encode it."""
    try:
        return parse_qsl(form.decode(), True, errors="strict", max_num_fields=_MAX_FIELDS)
    except UnicodeDecodeError:
        raise problem(_NOT_UTF8) from None
    except ValueError:
        raise HTTPException(400, f"Invalid request: more than {_MAX_FIELDS} fields") from None


async def _read_fields(request: Request) -> dict[str, Any]:
    """Read the fields of a request, which must be Unicode: escapes of JSON may not be."""
    fields = await _unchecked_fields(request)
    for name, value in fields.items():
        try:
            json.dumps([name, value], ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise HTTPException(
                400, f"Invalid request: {ascii(name)[1:-1]:.40} is not Unicode"
            ) from None
        except RecursionError:
            raise HTTPException(400, "Invalid JSON format") from None
    return fields


async def _unchecked_fields(request: Request) -> dict[str, Any]:
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
    pairs: list[tuple[str, Any]] = _form_fields(request.scope["query_string"])
    if content_type == "application/x-www-form-urlencoded":
        pairs += _form_fields(await request.body())
    elif content_type == "multipart/form-data":
        body = await request.body()
        parts = (await request.form(max_fields=_MAX_FIELDS)).multi_items()
        for _, value in parts:  # Starlette reads what is not UTF-8 as Latin-1
            if isinstance(value, str) and not value.isascii() and value.encode() not in body:
                raise problem(_NOT_UTF8)
        pairs += parts
    values: dict[str, list[Any]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return {name: value if len(value) > 1 else value[0] for name, value in values.items()}
