"""The interface of LibreTranslate (https://docs.libretranslate.com), for its clients.

Fields, answers and messages are those of its server, which clients show or look for.
"""

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nmt_cli.formats import SUFFIXES
from nmt_cli.serve.access import Access
from nmt_cli.serve.fields import read_fields, text_of, texts_of
from nmt_cli.serve.languages import name_of
from nmt_cli.serve.models import Direction
from nmt_cli.serve.options import ServeOptions
from nmt_cli.serve.service import Service
from nmt_cli.serve.waiting import unless_gone

_PLAIN = ".txt"
_SHORT = 40  # characters, up to which the language of a text is uncertain
# Translated files are kept for so long, and this many of them.
_FILE_SECONDS, _FILES = 600.0, 100


@dataclass(frozen=True)
class _File:
    name: str
    content: bytes
    since: float


class _Routes:
    def __init__(self, service: Service, access: Access, options: ServeOptions) -> None:
        self._service, self._access, self._options = service, access, options
        self._models = service.models
        self._files: OrderedDict[str, _File] = OrderedDict()

    async def languages(self, request: Request) -> Response:
        """All languages, with those that each can be translated to."""
        models = self._models
        codes = sorted({*models.sources, *(each.target for each in models.directions)})
        return JSONResponse(
            [
                {"code": code, "name": name_of(code), "targets": models.targets(code)}
                for code in codes
            ]
        )

    async def translate(self, request: Request) -> Response:
        """Translate a text or a list of texts."""
        fields = await self._fields(request)
        source, target = _required(fields, "q", "source", "target")[1:]
        texts = texts_of(fields, "q")
        if "application/json" not in request.headers.get("content-type", ""):
            texts = ["\n".join(text.splitlines()) for text in texts]
        kind = text_of(fields, "format") or "text"
        if kind not in ("text", "html"):
            raise HTTPException(400, f"{kind[:20]} format is not supported")
        self._check_size(sum(map(len, texts)))
        detected = self._detected(texts, source, target)
        ways = [self._direction(each["language"], target) for each in detected]
        others, aligned = _count(fields.get("alternatives")), _is_true(fields.get("alignments"))
        if aligned and kind != "text":
            raise HTTPException(400, "Invalid request: alignments need the format text")
        work = self._service.translate(
            ways, texts, kind.removeprefix("text"), others, alignments=aligned
        )
        found = await unless_gone(request, work, self._options.timeout)
        answer: dict[str, Any] = {"translatedText": [each.text for each in found]}
        if others:
            answer["alternatives"] = [[other.text for other in each.others] for each in found]
        if aligned:
            answer["alignments"] = [each.alignments for each in found]
            if others:
                answer["alternativeAlignments"] = [
                    [other.alignments for other in each.others] for each in found
                ]
        if source == "auto":
            answer["detectedLanguage"] = detected
        if not isinstance(fields["q"], list):
            answer = {name: value[0] for name, value in answer.items()}
        return JSONResponse(answer)

    async def detect(self, request: Request) -> Response:
        """The languages that a text may be in, likeliest first."""
        fields = await self._fields(request)
        _required(fields, "q")
        text = "\n".join(texts_of(fields, "q"))
        self._check_size(len(text))
        found = self._service.detector.rank(text)
        return JSONResponse([_confidence(*each) for each in found])

    async def translate_file(self, request: Request) -> Response:
        """Translate a file, whose translation can then be fetched for ten minutes."""
        fields = await self._fields(request)
        file = fields.get("file")
        if not isinstance(file, UploadFile):
            raise HTTPException(400, "Invalid request: missing file parameter")
        source, target = _required(fields, "source", "target")
        name = Path(file.filename or "").name
        kind = SUFFIXES.get(Path(name).suffix.lower())
        if kind is None and Path(name).suffix.lower() != _PLAIN:
            raise HTTPException(400, "Invalid request: file format not supported")
        try:
            text = (await file.read()).decode()
        except UnicodeDecodeError:
            raise HTTPException(400, "Invalid request: the file is not UTF-8") from None
        self._check_size(len(text))
        (detected,) = self._detected([text], source, target)
        way = self._direction(detected["language"], target)
        work = self._service.translate([way], [text], kind or "")
        (found,) = await unless_gone(request, work, self._options.timeout)
        key, now = secrets.token_urlsafe(16), time.monotonic()
        self._files[key] = _File(f"{way.target}_{name}", found.text.encode(), now)
        while len(self._files) > _FILES:
            self._files.popitem(last=False)
        return JSONResponse({"translatedFileUrl": str(request.url_for("download", key=key))})

    async def download(self, request: Request) -> Response:
        """A translated file."""
        file = self._files.get(request.path_params["key"])
        if file is None or time.monotonic() - file.since > _FILE_SECONDS:
            raise HTTPException(404, "no such file, or it is too old")
        name = file.name.encode("ascii", "replace").decode().replace('"', "_")
        return Response(
            file.content,
            media_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    async def settings(self, request: Request) -> Response:
        """What a page for this server needs to know."""
        first = self._models.directions[0]
        languages = {
            side: {"code": code, "name": name_of(code)}
            for side, code in (("source", first.source), ("target", first.target))
        }
        return JSONResponse(
            {
                "apiKeys": bool(self._access.keys),
                "charLimit": self._options.max_characters,
                "filesTranslation": True,
                "frontendTimeout": 500,
                "keyRequired": bool(self._access.keys),
                "language": languages,
                "suggestions": False,
                "supportedFilesFormat": [_PLAIN, *SUFFIXES],
            }
        )

    async def health(self, request: Request) -> Response:
        """Whether the server is up."""
        return JSONResponse({"status": "ok"})

    async def _fields(self, request: Request) -> dict[str, Any]:
        """The fields of a request that is admitted."""
        fields = await read_fields(request)
        key = text_of(fields, "api_key")
        if self._access.keys and not key:
            raise HTTPException(400, "Please contact the server operator to get an API key")
        if self._access.keys and key not in self._access.keys:
            raise HTTPException(403, "Invalid API key")
        self._access.admit(key, request.client.host if request.client else "")
        return fields

    def _check_size(self, size: int) -> None:
        if size > self._options.max_characters:
            limit = self._options.max_characters
            raise HTTPException(
                400, f"Invalid request: request ({size}) exceeds text limit ({limit})"
            )

    def _detected(self, texts: list[str], source: str, target: str) -> list[dict[str, Any]]:
        """The language of each text; for short ones, that of all texts together."""
        if source != "auto":
            return [_confidence(source, 1.0) for _ in texts]
        known = [each for each in self._models.sources if self._models.find(each, target)]
        if not known:
            raise HTTPException(400, f"{target[:20]} is not supported")
        choose = self._service.detector.choose
        together = _confidence(*choose(" ".join(texts), known))
        return [
            _confidence(*choose(text, known)) if len(text) > _SHORT else together for text in texts
        ]

    def _direction(self, source: str, target: str) -> Direction:
        if found := self._models.find(source, target):
            return found
        codes = {*self._models.sources, *(each.target for each in self._models.directions)}
        for code in (source, target):
            if code not in codes:
                raise HTTPException(400, f"{code[:20]} is not supported")
        raise HTTPException(
            400,
            f"{name_of(target)} ({target}) is not available as a target language from "
            f"{name_of(source)} ({source})",
        )


def routes(service: Service, access: Access, options: ServeOptions) -> list[Route]:
    """The routes of LibreTranslate."""
    own = _Routes(service, access, options)
    return [
        Route("/languages", own.languages),
        Route("/translate", own.translate, methods=["POST"]),
        Route("/detect", own.detect, methods=["POST"]),
        Route("/translate_file", own.translate_file, methods=["POST"]),
        Route("/download_file/{key}", own.download, name="download"),
        Route("/frontend/settings", own.settings),
        Route("/health", own.health),
    ]


def _required(fields: dict[str, Any], *names: str) -> list[str]:
    """The values of fields, texts but for a list of them in ``q``."""
    for name in names:
        if not fields.get(name):
            raise HTTPException(400, f"Invalid request: missing {name} parameter")
    return ["" if name == "q" else text_of(fields, name) for name in names]


def _count(value: object) -> int:
    try:
        return min(max(int(str(value or 0)), 0), 10)
    except ValueError:
        raise HTTPException(400, "Invalid request: alternatives is not a number") from None


def _is_true(value: object) -> bool:
    """Whether a field of JSON or a form is true."""
    return str(value or "").lower() in ("true", "1")


def _confidence(language: str, share: float) -> dict[str, Any]:
    return {"confidence": round(100 * share, 1), "language": language}
