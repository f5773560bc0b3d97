"""The application: routes, errors, limits on what a client may send, the log, reloading."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt_cli.errors import NmtError
from nmt_cli.serve.deepl import PATHS, DeepL
from nmt_cli.serve.libretranslate import LibreTranslate
from nmt_cli.serve.service import Service
from nmt_cli.web import page_files

# Polling interval for replaced bundles, and read timeout for each part of a request.
_RELOAD_SECONDS, _RECEIVE_SECONDS = 1.0, 30.0
# A character of JSON can take twelve bytes: two escapes for one above U+FFFF.
_BYTES_PER_CHARACTER, _OTHER_BYTES = 12, 65_536
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

    async def metrics(request: Request) -> Response:
        return PlainTextResponse(service.metrics.page())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(_reload(service))
        yield
        task.cancel()
        await asyncio.to_thread(service.batcher.close)

    error_classes = (HTTPException, NmtError, TimeoutError, Exception)
    return Starlette(
        routes=[
            *DeepL(service).routes(),
            Route("/metrics", metrics),
            *LibreTranslate(service).routes(),
            *page_routes(),
        ],
        middleware=[
            Middleware(_Monitor, service=service, log=log),
            Middleware(
                CORSMiddleware,
                allow_origins=["*"],
                allow_methods=["GET", "POST"],
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
        Route("/" if name == "index.html" else f"/{name}", partial(answer, path))
        for name, path in page_files("serve").items()
    ]


async def _answer_error(request: Request, error: Exception) -> Response:
    """Return an error in the form of the interface that was called."""
    interface = DeepL if request.url.path.startswith(PATHS) else LibreTranslate
    answer = HTTPException(500, "internal error")  # unexpected errors reveal no text
    if isinstance(error, HTTPException):
        answer = error
    elif isinstance(error, NmtError):
        answer = HTTPException(400, str(error))
    elif isinstance(error, TimeoutError):
        answer = HTTPException(500, "the translation took too long")
    prefix = interface.too_many if answer.status_code == 429 else ""
    body = {interface.error_field: f"{prefix}{answer.detail}"}
    return JSONResponse(body, answer.status_code, answer.headers)


async def _reload(service: Service) -> None:
    while True:
        await asyncio.sleep(_RELOAD_SECONDS)
        for model in service.models.served:
            await asyncio.to_thread(model.reload_if_changed)


class _Monitor:
    """Middleware that limits, logs and counts each request."""

    def __init__(self, app: ASGIApp, service: Service, log: Callable[[str], None]) -> None:
        self._app, self._metrics, self._log = app, service.metrics, log
        self._max_bytes = service.options.max_characters * _BYTES_PER_CHARACTER + _OTHER_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a connection, as ASGI applications do."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, received, complete = time.monotonic(), 499, 0, False

        async def limited_receive() -> Message:
            nonlocal received, complete
            if complete:  # only the end of the connection can follow
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), _RECEIVE_SECONDS)
            except TimeoutError:
                raise HTTPException(408, "the request did not arrive in time") from None
            received += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > self._max_bytes:
                raise HTTPException(413, "the request is too large")
            return message

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, limited_receive, watched_send)
        finally:
            self._record(scope, status, time.monotonic() - began, received)

    def _record(self, scope: Scope, status: int, seconds: float, received: int) -> None:
        path = scope.get("root_path", "") + getattr(scope.get("route"), "path", "other")
        self._metrics.requests.labels(path, str(status)).inc()
        self._metrics.seconds.labels(path).observe(seconds)
        line = {"time": round(time.time(), 3), "method": scope["method"], "path": path}
        line |= {"status": status, "seconds": round(seconds, 4), "bytes": received}
        self._log(json.dumps(line))
