"""The application: routes of both interfaces and of the page, errors, reloading."""

import asyncio
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

from nmt_cli.errors import NmtError
from nmt_cli.serve import deepl
from nmt_cli.serve.access import Access
from nmt_cli.serve.deepl import DeepL
from nmt_cli.serve.libretranslate import LibreTranslate
from nmt_cli.serve.monitoring import Monitor
from nmt_cli.serve.options import ServeOptions
from nmt_cli.serve.service import Service
from nmt_cli.web import page_files

# Polling interval for replaced bundles.
_RELOAD_SECONDS = 1.0
_PAGE_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; img-src 'self'; "
    "script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def create_app(
    service: Service, access: Access, options: ServeOptions, log: Callable[[str], None]
) -> Starlette:
    """Make the application; ``log`` receives one line of JSON per request."""

    async def metrics(request: Request) -> Response:
        service.metrics.waiting.set(service.batcher.waiting)
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
            *DeepL(service, access, options).routes(),
            Route("/metrics", metrics),
            *LibreTranslate(service, access, options).routes(),
            *page_routes(),
        ],
        middleware=[
            Middleware(
                Monitor, metrics=service.metrics, max_characters=options.max_characters, log=log
            ),
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
    interface = DeepL if request.url.path.startswith(deepl.PATHS) else LibreTranslate
    answer = _with_status(error)
    return JSONResponse(interface.error_body(answer), answer.status_code, answer.headers)


def _with_status(error: Exception) -> HTTPException:
    """Map an exception to a status; unexpected errors reveal no text."""
    if isinstance(error, HTTPException):
        return error
    if isinstance(error, TimeoutError):
        return HTTPException(500, "the translation took too long")
    if isinstance(error, NmtError):
        return HTTPException(400, str(error.args[0]))
    return HTTPException(500, "internal error")


async def _reload(service: Service) -> None:
    while True:
        await asyncio.sleep(_RELOAD_SECONDS)
        await asyncio.to_thread(service.models.reload_changed)
