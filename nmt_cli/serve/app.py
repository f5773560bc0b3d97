"""The application: routes, errors, limits on what a client may send, the log, reloading."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt_cli.errors import NmtError
from nmt_cli.serve.api import Call, answer_to
from nmt_cli.serve.batcher import TooManyRequests
from nmt_cli.serve.deepl import PATHS, DeepL
from nmt_cli.serve.libretranslate import LibreTranslate
from nmt_cli.serve.service import MEGABYTE, Service
from nmt_cli.web import page_files

# Polling interval for replaced bundles, and read timeout for each part of a request.
_RELOAD_SECONDS, _RECEIVE_SECONDS = 1.0, 30.0
# A character of JSON can take twelve bytes: two escapes for one above U+FFFF.
_BYTES_PER_CHARACTER, _OTHER_BYTES = 12, 65_536
_PAGES = {"index.html": "/", "docs.html": "/docs", "spec.json": "/spec"}
# Bytes of the bodies of all requests at a time.
_MAX_HELD = 256 * MEGABYTE
_PAGE_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; img-src 'self'; "
    "script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def create_app(service: Service, log: Callable[[str], None]) -> Starlette:
    """Make the application; ``log`` receives one line of JSON per request."""

    async def metrics(call: Call) -> Response:
        return PlainTextResponse(service.metrics.page())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(_reload(service))
        yield
        task.cancel()
        deepl.documents.close()
        await asyncio.to_thread(service.batcher.close)
        service.glossaries.close()

    error_classes = (HTTPException, NmtError, TimeoutError)
    libretranslate, deepl = LibreTranslate(service), DeepL(service)
    return Starlette(
        routes=[
            *deepl.routes(),
            libretranslate.endpoint("/metrics", metrics),
            *libretranslate.routes(),
            *libretranslate.apertium.routes(),
            *page_routes(),
        ],
        middleware=[
            Middleware(_Monitor, service=service, log=log),
            Middleware(
                CORSMiddleware,
                allow_origins=[origin.strip() for origin in service.options.origins.split(",")],
                allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
                allow_headers=["Authorization", "Content-Type"],
            ),
        ],
        exception_handlers=dict.fromkeys(error_classes, _answer_error),
        lifespan=lifespan,
    )


def page_routes() -> list[Route]:
    """Return the routes of the page's files."""

    async def answer(path: Path, request: Request) -> Response:
        return FileResponse(path, headers=_PAGE_HEADERS)

    return [
        Route(_PAGES.get(name, f"/{name}"), partial(answer, path))
        for name, path in page_files("serve").items()
    ]


async def _answer_error(request: Request, error: Exception) -> Response:
    """Return an error in the form of the interface that was called."""
    by_path = DeepL if request.url.path.startswith(PATHS) else LibreTranslate
    interface = request.scope.get("interface", by_path)
    answer = answer_to(error, _path(request.scope))
    body = interface.error_body(answer.status_code, answer.detail)
    return JSONResponse(body, answer.status_code, answer.headers)


def _path(scope: Scope) -> str:
    """Return the path as its route has it: without keys."""
    return scope.get("root_path", "") + getattr(scope.get("route"), "path", "other")


async def _reload(service: Service) -> None:
    while True:
        await asyncio.sleep(_RELOAD_SECONDS)
        for model in service.models.served:
            await asyncio.to_thread(model.reload_if_changed)


class _Monitor:
    """Middleware that limits, logs and counts each request."""

    def __init__(self, app: ASGIApp, service: Service, log: Callable[[str], None]) -> None:
        self._app, self._metrics, self._log = app, service.metrics, log
        self._seconds = service.options.timeout
        self._held = 0
        self._max_bytes = service.options.max_characters * _BYTES_PER_CHARACTER + _OTHER_BYTES
        self._max_file = max(
            self._max_bytes, service.options.max_document * MEGABYTE + _OTHER_BYTES
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a connection, as ASGI applications do."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, received, complete = time.monotonic(), 499, 0, False
        is_file = Headers(scope=scope).get("content-type", "").lower().startswith("multipart/")
        max_bytes = self._max_file if is_file else self._max_bytes
        ends = began + self._seconds

        async def limited_receive() -> Message:
            nonlocal received, complete
            if complete:  # only the end of the connection can follow
                return await receive()
            try:
                seconds = min(_RECEIVE_SECONDS, ends - time.monotonic())
                message = await asyncio.wait_for(receive(), seconds)
            except TimeoutError:
                raise HTTPException(408, "the request did not arrive in time") from None
            received += len(message.get("body", b""))
            self._held += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > max_bytes:
                raise HTTPException(413, "the request is too large")
            if self._held > _MAX_HELD:
                raise TooManyRequests("too many uploads at a time", 10)
            return message

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if scope["path"].startswith(PATHS):
                    trace = b"x-trace-id", secrets.token_hex(16).encode()
                    message = {**message, "headers": [*message["headers"], trace]}
            await send(message)

        try:
            await self._app(scope, limited_receive, watched_send)
        except Exception as error:
            response = await _answer_error(Request(scope), error)
            if status == 499:  # no answer has begun
                await response(scope, receive, watched_send)
        finally:
            self._held -= received
            self._record(scope, status, time.monotonic() - began, received)

    def _record(self, scope: Scope, status: int, seconds: float, received: int) -> None:
        path = _path(scope)
        self._metrics.requests.labels(path, str(status)).inc()
        self._metrics.seconds.labels(path).observe(seconds)
        line = {"time": round(time.time(), 3), "method": scope["method"], "path": path}
        line |= {"status": status, "seconds": round(seconds, 4), "bytes": received}
        self._log(json.dumps(line))
