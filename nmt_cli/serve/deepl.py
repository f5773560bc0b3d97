"""The interface of DeepL, version 2 (https://developers.deepl.com/docs), for its clients."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from nmt_cli.serve.access import Access
from nmt_cli.serve.fields import read_fields, text_of, texts_of
from nmt_cli.serve.languages import name_of
from nmt_cli.serve.models import Direction
from nmt_cli.serve.options import ServeOptions
from nmt_cli.serve.service import Service
from nmt_cli.serve.waiting import unless_gone

_TEXTS = 50  # of a request, as at DeepL
_SCHEME = "DeepL-Auth-Key "
# What no model here can do; DeepL refuses what a language cannot do in the same way.
_UNKNOWN = ("glossary_id", "glossary_ids", "style_id", "translation_memory_id")


class _Routes:
    def __init__(self, service: Service, access: Access, options: ServeOptions) -> None:
        self._service, self._access, self._options = service, access, options
        self._models = service.models

    async def translate(self, request: Request) -> Response:
        """Translate texts."""
        fields = await read_fields(request)
        key = self._admitted(request, fields)
        if not fields.get("text"):
            raise HTTPException(400, "Parameter 'text' not specified.")
        texts = texts_of(fields, "text")
        if len(texts) > _TEXTS:
            raise HTTPException(400, "Too many texts in request.")
        size = sum(map(len, texts))
        if size > self._options.max_characters:
            raise HTTPException(413, "Request Entity Too Large")
        for name in _UNKNOWN:
            if fields.get(name):
                raise HTTPException(400, f"Value for '{name}' not supported.")
        if text_of(fields, "formality") in ("more", "less"):
            raise HTTPException(400, "'formality' is not supported for given 'target_lang'.")
        tags = text_of(fields, "tag_handling")
        if tags not in ("", "html", "xml"):
            raise HTTPException(400, "Value for 'tag_handling' not supported.")
        source, target = text_of(fields, "source_lang").lower(), text_of(fields, "target_lang")
        ways = self._ways(texts, source, target.lower())
        untouched = _names(fields.get("ignore_tags"))
        work = self._service.translate(ways, texts, tags, untouched=untouched)
        found = await unless_gone(request, work, self._options.timeout)
        self._access.used[key] += size
        answers: list[dict[str, Any]] = [
            {"detected_source_language": way.source.partition("-")[0].upper(), "text": each.text}
            for way, each in zip(ways, found, strict=True)
        ]
        if str(fields.get("show_billed_characters", "")).lower() in ("1", "true"):
            for answer, text in zip(answers, texts, strict=True):
                answer["billed_characters"] = len(text)
        return JSONResponse({"translations": answers})

    def _ways(self, texts: list[str], source: str, target: str) -> list[Direction]:
        if not target:
            raise HTTPException(400, "Parameter 'target_lang' not specified.")
        known = [each for each in self._models.sources if self._models.find(each, target)]
        if not known:
            raise HTTPException(400, "Value for 'target_lang' not supported.")
        detector = self._service.detector
        found = [
            self._models.find(source or detector.choose(text, known)[0], target) for text in texts
        ]
        ways = [each for each in found if each]
        if len(ways) < len(found):
            raise HTTPException(400, "Value for 'source_lang' not supported.")
        return ways

    async def languages(self, request: Request) -> Response:
        """The source languages, or with type=target the target languages."""
        fields = await read_fields(request)
        self._admitted(request, fields)
        kind = text_of(fields, "type") or "source"
        if kind not in ("source", "target"):
            raise HTTPException(400, "Value for 'type' not supported.")
        codes = self._models.sources
        more: dict[str, Any] = {}
        if kind == "target":
            codes = sorted({each.target for each in self._models.directions})
            more = {"supports_formality": False}
        return JSONResponse(
            [{"language": code.upper(), "name": name_of(code), **more} for code in codes]
        )

    async def languages_of(self, request: Request) -> Response:
        """Version 3: all languages of a resource; only text translation has any."""
        fields = await read_fields(request)
        self._admitted(request, fields)
        resource = text_of(fields, "resource")
        if not resource:
            raise HTTPException(400, "Parameter 'resource' not specified.")
        sources = set(self._models.sources)
        targets = {each.target for each in self._models.directions}
        return JSONResponse(
            [
                {
                    "lang": code,
                    "name": name_of(code),
                    "usable_as_source": code in sources,
                    "usable_as_target": code in targets,
                    "features": {},
                }
                for code in sorted(sources | targets)
                if resource == "translate_text"
            ]
        )

    async def glossary_pairs(self, request: Request) -> Response:
        """No pairs of languages; Weblate asks before it translates, and uses no glossary then."""
        self._admitted(request, await read_fields(request))
        return JSONResponse({"supported_languages": []})

    async def usage(self, request: Request) -> Response:
        """Characters that the key's owner has translated since the server was started."""
        key = self._admitted(request, await read_fields(request))
        # Clients expect a limit; there is none.
        return JSONResponse({"character_count": self._access.used[key], "character_limit": 10**12})

    def _admitted(self, request: Request, fields: dict[str, Any]) -> str:
        given = request.headers.get("authorization", "")
        key = given.removeprefix(_SCHEME) if given.startswith(_SCHEME) else ""
        key = key.strip() or text_of(fields, "auth_key")
        if self._access.keys and key not in self._access.keys:
            raise HTTPException(403, "Authorization failed. Please supply a valid DeepL-Auth-Key.")
        key = key if self._access.keys else ""
        self._access.admit(key, request.client.host if request.client else "")
        return key


def routes(service: Service, access: Access, options: ServeOptions) -> list[BaseRoute]:
    """The routes of DeepL."""
    own = _Routes(service, access, options)
    second = [
        Route("/translate", own.translate, methods=["POST"]),
        Route("/languages", own.languages, methods=["GET", "POST"]),
        Route("/glossary-language-pairs", own.glossary_pairs),
        Route("/usage", own.usage, methods=["GET", "POST"]),
    ]
    return [Mount("/v2", routes=second), Route("/v3/languages", own.languages_of)]


def _names(value: object) -> list[str]:
    """Names of elements: a list, or text with commas between them."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list):
        return []
    return [str(each).strip() for each in names if str(each).strip()]
