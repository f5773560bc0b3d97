"""The application: routes of both interfaces and the page, limits, errors, the log."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt_cli.errors import NmtError
from nmt_cli.serve import deepl, libretranslate, page
from nmt_cli.serve.access import Access
from nmt_cli.serve.options import ServeOptions
from nmt_cli.serve.service import Service

# How often to look whether a bundle was replaced, and how long a client may take for a part of
# its request, in seconds.
_RELOAD_SECONDS, _RECEIVE_SECONDS = 1.0, 30.0
# A character of JSON can take twelve bytes: two escapes for one beyond the first 65,536.
_BYTES_PER_CHARACTER, _OTHER_BYTES = 12, 65_536


def create_app(
    service: Service, access: Access, options: ServeOptions, log: Callable[[str], None]
) -> Starlette:
    """Make the application; ``log`` receives a line of JSON for each request."""

    async def metrics(request: Request) -> Response:
        service.metrics.waiting.set(service.batcher.waiting)
        return PlainTextResponse(service.metrics.page())

    async def answer_error(request: Request, error: Exception) -> Response:
        return _answer(request, _described(error))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(_reload(service))
        yield
        task.cancel()
        await asyncio.to_thread(service.batcher.close)

    kinds = (HTTPException, NmtError, TimeoutError, Exception)
    return Starlette(
        routes=[
            *deepl.routes(service, access, options),
            Route("/metrics", metrics),
            *libretranslate.routes(service, access, options),
            *page.routes(),
        ],
        middleware=[
            Middleware(_Watch, service=service, options=options, log=log),
            Middleware(
                CORSMiddleware,
                allow_origins=["*"],
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type"],
            ),
        ],
        exception_handlers=dict.fromkeys(kinds, answer_error),
        lifespan=lifespan,
    )


def _described(error: Exception) -> HTTPException:
    """An error with its status; unknown ones say nothing of the text."""
    if isinstance(error, HTTPException):
        return error
    if isinstance(error, TimeoutError):
        return HTTPException(500, "the translation took too long")
    if isinstance(error, NmtError):
        return HTTPException(400, str(error.args[0]))
    return HTTPException(500, "internal error")


def _answer(request: Request, error: HTTPException) -> Response:
    """An error in the form of the interface that was called."""
    if request.url.path.startswith(("/v2/", "/v3/")):
        return JSONResponse({"message": error.detail}, error.status_code, error.headers)
    said = f"Slowdown: {error.detail}" if error.status_code == 429 else error.detail
    return JSONResponse({"error": said}, error.status_code, error.headers)


async def _reload(service: Service) -> None:
    while True:
        await asyncio.sleep(_RELOAD_SECONDS)
        await asyncio.to_thread(service.models.reload_changed)


class _Watch:
    """Bounds what a client may send, and logs and counts each request; texts are not logged."""

    def __init__(
        self, app: ASGIApp, service: Service, options: ServeOptions, log: Callable[[str], None]
    ) -> None:
        self._app, self._metrics, self._log = app, service.metrics, log
        self._most = options.max_characters * _BYTES_PER_CHARACTER + _OTHER_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, received, complete = time.monotonic(), 499, 0, False

        async def bounded() -> Message:
            nonlocal received, complete
            if complete:  # only the end of the connection can follow
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), _RECEIVE_SECONDS)
            except TimeoutError:
                raise HTTPException(408, "the request did not arrive in time") from None
            received += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > self._most:
                raise HTTPException(413, "the request is too large")
            return message

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, bounded, noted)
        finally:
            seconds = time.monotonic() - began
            route = scope.get("route")
            path = getattr(route, "path", "other")
            path = scope.get("root_path", "") + path
            self._metrics.requests.labels(path, str(status)).inc()
            self._metrics.seconds.labels(path).observe(seconds)
            line = {
                "time": round(time.time(), 3),
                "method": scope["method"],
                "path": path,
                "status": status,
                "seconds": round(seconds, 4),
                "bytes": received,
            }
            self._log(json.dumps(line))
