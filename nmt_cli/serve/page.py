"""The page of ``nmt serve``, which uses LibreTranslate's interface."""

from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

_OWN = Path(__file__).parent / "static"
_SHARED = Path(__file__).parents[1] / "export" / "web" / "page"  # of nmt export --web
_FILES = {
    "/": _OWN / "index.html",
    "/app.js": _OWN / "app.js",
    "/serve.css": _OWN / "serve.css",
    "/style.css": _SHARED / "style.css",
    "/icon.svg": _SHARED / "icon.svg",
}
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; img-src 'self'; "
    "script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


async def _answer(file: Path, request: Request) -> Response:
    return FileResponse(file, headers=_HEADERS)


def routes() -> list[Route]:
    """The routes of the page's files."""
    return [Route(path, partial(_answer, file)) for path, file in _FILES.items()]
