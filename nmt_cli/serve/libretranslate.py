"""The interface of LibreTranslate (https://docs.libretranslate.com), for its clients.

Fields, answers and messages are those of its server, because clients show them or look for them.
"""

import math
import secrets
import time
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from nmt_cli.formats import SUFFIXES
from nmt_cli.serve.api import Call, Interface, problem
from nmt_cli.serve.batcher import ServedModel
from nmt_cli.serve.service import Service
from nmt_cli.web import language_name

_PLAIN_SUFFIX = ".txt"
_MIN_DETECTED = 41  # characters; the language of a shorter text is uncertain
_MAX_ALTERNATIVES = 10
# How long, and how many, translated files are kept for download.
_FILE_SECONDS, _MAX_FILES = 600.0, 100


class LibreTranslate(Interface):
    """The endpoints of LibreTranslate."""

    error_field = "error"
    too_many = "Slowdown: "
    missing_field = 400, "Invalid request: missing {name} parameter"
    missing_key = 400, "Please contact the server operator to get an API key"
    unknown_key = 403, "Invalid API key"
    too_large = 400, "Invalid request: request ({size}) exceeds text limit ({limit})"
    unknown_target = 400, "{target} is not supported"

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        # Translated files by their keys: names, contents, and when they were translated.
        self._files: dict[str, tuple[str, bytes, float]] = {}

    def routes(self) -> list[BaseRoute]:
        """Return the routes of LibreTranslate."""
        return [
            Route("/languages", self.languages),
            self.endpoint("/translate", self.translate, "q", "source", "target", methods=("POST",)),
            self.endpoint("/detect", self.detect_language, "q", methods=("POST",)),
            self.endpoint("/translate_file", self.translate_file, methods=("POST",)),
            Route("/download_file/{key}", self.download, name="download"),
            Route("/frontend/settings", self.settings),
            Route("/health", self.health),
        ]

    def key_of(self, call: Call) -> str:
        """Return the key of ``api_key``."""
        return call.text("api_key")

    async def languages(self, request: Request) -> Response:
        """Return all languages, each with those that it can be translated to."""
        return JSONResponse(
            [
                {"code": code, "name": language_name(code), "targets": self.models.targets(code)}
                for code in self.models.languages
            ]
        )

    async def translate(self, call: Call) -> dict[str, Any]:
        """Translate a text or a list of texts."""
        source, target, texts = call.text("source"), call.text("target"), call.texts("q")
        if "application/json" not in call.request.headers.get("content-type", ""):
            texts = ["\n".join(text.splitlines()) for text in texts]
        format = call.text("format") or "text"
        if format not in ("text", "html"):
            raise HTTPException(400, f"{format[:20]} format is not supported")
        self.check_size(texts)
        detected = self._detected(texts, source, target)
        models = [self._model(language["language"], target) for language in detected]
        alternatives = _count(call.fields.get("alternatives"))
        alignments = call.is_true("alignments")
        if alignments and format != "text":
            raise _invalid("alignments need the format text")
        document = "" if format == "text" else format
        work = self.service.translate(
            models, texts, document, alternatives=alternatives, alignments=alignments
        )
        results = await self.in_time(call, work)
        answer: dict[str, Any] = {"translatedText": [best.text for best, *_ in results]}
        if alternatives:
            answer["alternatives"] = [[other.text for other in others] for _, *others in results]
        if alignments:
            pairs = [
                [result.pairs if model.has_attention else None for result in ranked]
                for model, ranked in zip(models, results, strict=True)
            ]
            answer["alignments"] = [best for best, *_ in pairs]
            if alternatives:
                answer["alternativeAlignments"] = [others for _, *others in pairs]
        if source == "auto":
            answer["detectedLanguage"] = detected
        if not isinstance(call.fields["q"], list):
            return {name: value[0] for name, value in answer.items()}
        return answer

    async def detect_language(self, call: Call) -> list[dict[str, Any]]:
        """Return the languages that a text may be in, likeliest first."""
        text = "\n".join(call.texts("q"))
        self.check_size([text])
        return [_confidence(*pair) for pair in self.service.detector.rank(text)]

    async def translate_file(self, call: Call) -> dict[str, str]:
        """Translate a file, whose translation can then be downloaded for ten minutes."""
        file = call.fields.get("file")
        if not isinstance(file, UploadFile):
            raise _invalid("missing file parameter")
        self.require(call, "source", "target")
        source, target = call.text("source"), call.text("target")
        name = Path(file.filename or "").name
        suffix = Path(name).suffix.lower()
        if suffix not in SUFFIXES and suffix != _PLAIN_SUFFIX:
            raise _invalid("file format not supported")
        try:
            text = (await file.read()).decode()
        except UnicodeDecodeError:
            raise _invalid("the file is not UTF-8") from None
        self.check_size([text])
        (detected,) = self._detected([text], source, target)
        model = self._model(detected["language"], target)
        format = SUFFIXES.get(suffix, "")
        work = self.service.translate([model], [text], format)
        ((translation,),) = await self.in_time(call, work)
        key = secrets.token_urlsafe(16)
        content = translation.text.encode()
        self._files[key] = (f"{model.target}_{name}", content, time.monotonic())
        if len(self._files) > _MAX_FILES:
            del self._files[next(iter(self._files))]
        return {"translatedFileUrl": str(call.request.url_for("download", key=key))}

    async def download(self, request: Request) -> Response:
        """Return a translated file."""
        name, content, written = self._files.get(request.path_params["key"], ("", b"", -math.inf))
        if time.monotonic() - written > _FILE_SECONDS:
            raise HTTPException(404, "no such file, or it is too old")
        name = name.encode("ascii", "replace").decode().replace('"', "_")
        return Response(
            content,
            media_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    async def settings(self, request: Request) -> Response:
        """Return the settings that a page for this server needs."""
        first = self.models.served[0]
        languages = {
            side: {"code": code, "name": language_name(code)}
            for side, code in (("source", first.source), ("target", first.target))
        }
        return JSONResponse(
            {
                "apiKeys": bool(self.access.keys),
                "charLimit": self.service.options.max_characters,
                "filesTranslation": True,
                "frontendTimeout": 500,
                "keyRequired": bool(self.access.keys),
                "language": languages,
                "suggestions": False,
                "supportedFilesFormat": [_PLAIN_SUFFIX, *SUFFIXES],
            }
        )

    async def health(self, request: Request) -> Response:
        """Report that the server is up."""
        return JSONResponse({"status": "ok"})

    def _detected(self, texts: list[str], source: str, target: str) -> list[dict[str, Any]]:
        """Return the language of each text; for short ones, that of all texts together."""
        if source != "auto":
            return [_confidence(source, 1.0) for _ in texts]
        return [_confidence(*pair) for pair in self.detect(texts, target, _MIN_DETECTED)]

    def _model(self, source: str, target: str) -> ServedModel:
        if model := self.models.find(source, target):
            return model
        for code in (source, target):
            if code not in self.models.languages:
                raise problem(self.unknown_target, target=code[:20])
        names = [f"{language_name(code)} ({code})" for code in (target, source)]
        reason = "{} is not available as a target language from {}".format(*names)
        raise HTTPException(400, reason)


def _invalid(reason: str) -> HTTPException:
    return HTTPException(400, f"Invalid request: {reason}")


def _count(value: object) -> int:
    try:
        return min(max(int(str(value or 0)), 0), _MAX_ALTERNATIVES)
    except ValueError:
        raise _invalid("alternatives is not a number") from None


def _confidence(language: str, probability: float) -> dict[str, Any]:
    return {"confidence": round(100 * probability, 1), "language": language}
