"""The application: routes of both interfaces, limits, errors, the log."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt_cli.errors import NmtError
from nmt_cli.serve import deepl, libretranslate
from nmt_cli.serve.access import Access
from nmt_cli.serve.batcher import Overloaded
from nmt_cli.serve.errors import ApiError
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
        return _answer(request, *_described(error))

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        task = asyncio.create_task(_reload(service))
        yield
        task.cancel()
        await asyncio.to_thread(service.batcher.close)

    kinds = (ApiError, Overloaded, NmtError, TimeoutError, Exception, 404, 405)
    return Starlette(
        routes=[
            Mount("/v2", routes=deepl.routes(service, access, options)),
            Route("/metrics", metrics),
            *libretranslate.routes(service, access, options),
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


def _described(error: Exception) -> tuple[int, str, int]:
    """Status, message and seconds to wait of an error; unknown ones say nothing of the text."""
    if isinstance(error, ApiError):
        return error.status, error.message, error.seconds
    if isinstance(error, Overloaded):
        return 429, str(error), error.seconds
    if isinstance(error, TimeoutError):
        return 500, "the translation took too long", 0
    if isinstance(error, NmtError):
        return 400, str(error.args[0]), 0
    status = getattr(error, "status_code", 500)
    return status, getattr(error, "detail", "internal error"), 0


def _answer(request: Request, status: int, message: str, seconds: int) -> Response:
    """An error in the form of the interface that was called."""
    headers = {"Retry-After": str(seconds)} if seconds else None
    if request.url.path.startswith("/v2/"):
        return JSONResponse({"message": message}, status, headers)
    said = f"Slowdown: {message}" if status == 429 else message
    return JSONResponse({"error": said}, status, headers)


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
                raise ApiError(408, "the request did not arrive in time") from None
            received += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > self._most:
                raise ApiError(413, "the request is too large")
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
