"""The interface of LibreTranslate (https://docs.libretranslate.com), for its clients.

Fields, answers and messages are those of its server, because clients show them or look for them.
"""

import math
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from nmt_cli.files import failures
from nmt_cli.formats import ARCHIVES, FORMATS, format_of
from nmt_cli.serve.apertium import Apertium
from nmt_cli.serve.api import Call, Interface, problem
from nmt_cli.serve.models import Direction
from nmt_cli.serve.service import MEGABYTE, Service
from nmt_cli.text.glossary import Glossary
from nmt_cli.web import language_name

_PLAIN_SUFFIX = ".txt"
_MIN_DETECTED = 41  # characters; the language of a shorter text is uncertain
_MIN_PROBABILITY = 0.1  # of a language that is reported as likely
_MAX_ALTERNATIVES = 10
# LibreTranslate's codes, and others for the same languages.
_ALIASES = ("pb", "pt-br"), ("zt", "zh-hant", "zh-tw")
# How long, and how many, translated files are kept for download.
_FILE_SECONDS, _MAX_FILES = 600.0, 100


class LibreTranslate(Interface):
    """The endpoints of LibreTranslate."""

    error_field = "error"
    too_many = "Slowdown: "
    missing_field = 400, "Invalid request: missing {name} parameter"
    unknown_target = 400, "{target} is not supported"

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self.apertium = Apertium(service)
        # Translated files by their keys: names, contents, and when they were translated.
        self._files: dict[str, tuple[str, bytes, float]] = {}

    def routes(self) -> list[BaseRoute]:
        """Return the routes of LibreTranslate."""
        return [
            Route("/languages", self.languages),
            self.endpoint("/translate", self.translate, methods=("POST",)),
            self.endpoint("/suggest", self.suggest, methods=("POST",)),
            self.endpoint("/detect", self.detect_language, "q", methods=("POST",)),
            self.endpoint("/translate_file", self.translate_file, methods=("POST",)),
            Route("/download_file/{key}", self.download),
            Route("/frontend/settings", self.settings),
            Route("/health", self.health),
        ]

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
        if "langpair" in call.fields:
            return await self.apertium.translate(call)
        self.require(call, "q", "source", "target")
        source, target = self._languages(call)
        texts = call.texts("q")
        if "application/json" not in call.request.headers.get("content-type", ""):
            texts = ["\n".join(text.splitlines()) for text in texts]
        format = call.text("format") or "text"
        if format not in ("text", "html"):
            raise HTTPException(400, f"{format[:20]} format is not supported")
        self.charge(call, texts)
        detected = await self._detected(texts, source, target)
        models = [self.find(language["language"], target) for language in detected]
        alternatives = _count(call.fields.get("alternatives"))
        alignments = call.is_true("alignments")
        if alignments and format != "text":
            raise _invalid("alignments need the format text")
        document = "" if format == "text" else format
        work = self.service.translate(
            models,
            texts,
            document,
            alternatives=alternatives,
            alignments=alignments,
            glossary=self._terms(call, models),
        )
        results = await self.in_time(call, work)
        answer: dict[str, Any] = {"translatedText": [best.text for best, *_ in results]}
        if alternatives:
            answer["alternatives"] = [[other.text for other in others] for _, *others in results]
        if alignments:
            pairs = [
                [result.pairs if model and model.has_attention else None for result in ranked]
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

    def _terms(self, call: Call, models: Sequence[Direction | None]) -> Glossary | None:
        """Return the terms of the glossary that a request names, for its languages."""
        name, found = call.text("glossary"), {model for model in models if model}
        if not (name and found):
            return None
        model, *others = found
        pair = model.source, model.target
        terms = self.service.glossaries.named(name, *pair, call.key)
        if others or len(model.steps) > 1 or not terms:
            languages = "these languages" if others else " to ".join(pair)
            raise _invalid(f"there is no glossary {name!r:.40} for {languages}")
        return terms

    async def detect_language(self, call: Call) -> list[dict[str, Any]]:
        """Return the languages that a text may be in, likeliest first."""
        text = "\n".join(call.texts("q"))
        self.check_size([text])
        ranked = self.service.detector.rank(text, self.models.languages)
        likely = [pair for pair in ranked if pair[1] >= _MIN_PROBABILITY]
        return [_confidence(*pair) for pair in likely or ranked[:1]]

    async def suggest(self, call: Call) -> dict[str, bool]:
        """Append a suggested translation to the file of suggestions, if there is one."""
        path = self.service.options.suggestions
        if not path:
            raise HTTPException(403, "Suggestions are disabled on this server.")
        for name in ("q", "s"):  # of one line each
            text = "".join(c if c.isprintable() else " " for c in call.text(name))
            call.fields[name] = " ".join(text.split())
        self.require(call, "q", "s", "source", "target")
        languages, texts = self._languages(call), [call.text("q"), call.text("s")]
        if not (model := self.find(*languages)):
            raise self.no_model(*languages)
        self.check_size(texts)
        with failures(path), path.open("a", encoding="utf-8", newline="\n") as file:
            file.write("\t".join([*texts, model.source, model.target]) + "\n")
        return {"success": True}

    async def translate_file(self, call: Call) -> dict[str, str]:
        """Translate a file, whose translation can then be downloaded for ten minutes."""
        file = call.fields.get("file")
        if not isinstance(file, UploadFile):
            raise _invalid("missing file parameter")
        self.require(call, "source", "target")
        source, target = self._languages(call)
        name = Path(file.filename or "").name
        format = format_of(Path(name))
        if not format and Path(name).suffix.lower() != _PLAIN_SUFFIX:
            raise _invalid("file format not supported")
        content = await file.read()
        if format not in ARCHIVES:
            self.check_size([content.decode(errors="replace")])
        elif len(content) > self.service.options.max_document * MEGABYTE:
            raise _invalid(f"the file is larger than {self.service.options.max_document} MB")
        text = "\n".join(await self.service.texts_of(format, content))
        self.charge(call, [text])
        (detected,) = await self._detected([text], source, target)
        if model := self.find(detected["language"], target):
            terms = self._terms(call, [model])
            work = self.service.translate_file(model, format, content, terms)
            content, name = await self.in_time(call, work), f"{model.target}_{name}"
        key = secrets.token_urlsafe(16)
        self._files[key] = (name, content, time.monotonic())
        if len(self._files) > _MAX_FILES:
            del self._files[next(iter(self._files))]
        host, port = call.request.scope["server"]  # the header Host is the client's word
        address = (
            self.service.options.url or f"http://{f'[{host}]' if ':' in host else host}:{port}"
        )
        return {"translatedFileUrl": f"{address.rstrip('/')}/download_file/{key}"}

    async def download(self, request: Request) -> Response:
        """Return a translated file."""
        name, content, written = self._files.get(request.path_params["key"], ("", b"", -math.inf))
        if time.monotonic() - written > _FILE_SECONDS:
            raise HTTPException(404, "no such file, or it is too old")
        return Response(
            content,
            media_type="application/octet-stream",
            headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"},
        )

    async def settings(self, request: Request) -> Response:
        """Return the settings that a page for this server needs."""
        first = self.models.served[0]
        languages = {
            side: {"code": code, "name": language_name(code)}
            for side, code in (("source", first.source), ("target", first.target))
        }
        models = [
            {"source": source, "target": target, "name": model.name}
            for source in self.models.sources
            for target in self.models.targets(source)
            if (model := self.models.find(source, target))
        ]
        suffixes = [*FORMATS.values(), *ARCHIVES.values()]
        return JSONResponse(
            {
                "apiKeys": bool(self.access.keys),
                "charLimit": self.service.options.max_characters,
                "filesTranslation": True,
                "frontendTimeout": 500,
                "keyRequired": bool(self.access.keys),
                "language": languages,
                "models": models,
                "suggestions": bool(self.service.options.suggestions),
                "supportedFilesFormat": [_PLAIN_SUFFIX, *" ".join(suffixes).split()],
            }
        )

    async def health(self, request: Request) -> Response:
        """Report that the server is up."""
        return JSONResponse({"status": "ok"})

    def _languages(self, call: Call) -> list[str]:
        """Return the source and target languages; of codes for the same one, that is served."""
        codes = [call.text("source"), call.text("target")]
        for same in _ALIASES:
            served = next((code for code in same if code in self.models.languages), same[-1])
            codes = [served if code.lower() in same else code for code in codes]
        return codes

    async def _detected(self, texts: list[str], source: str, target: str) -> list[dict[str, Any]]:
        """Return the language of each text; for short ones, that of all texts together."""
        if source != "auto":
            return [_confidence(source, 1.0) for _ in texts]
        return [_confidence(*pair) for pair in await self.detect(texts, target, _MIN_DETECTED)]

    def no_model(self, source: str, target: str) -> HTTPException:
        """Name the language that is not served or, if both are, both."""
        for code in (source, target):
            if code not in self.models.languages:
                return problem(self.unknown_target, target=code[:20])
        names = [f"{language_name(code)} ({code})" for code in (target, source)]
        return HTTPException(400, "{} is not available as a target language from {}".format(*names))


def _invalid(reason: str) -> HTTPException:
    return HTTPException(400, f"Invalid request: {reason}")


def _count(value: object) -> int:
    try:
        return min(max(int(str(value or 0)), 0), _MAX_ALTERNATIVES)
    except ValueError:
        raise _invalid("alternatives parameter is not a number") from None


def _confidence(language: str, probability: float) -> dict[str, Any]:
    return {"confidence": round(100 * probability, 1), "language": language}
