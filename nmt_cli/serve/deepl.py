"""The interface of DeepL (https://developers.deepl.com/docs), for its clients."""

import re
from typing import Any

from starlette.routing import BaseRoute, Mount

from nmt_cli.formats.tags import Tags
from nmt_cli.serve.api import Call
from nmt_cli.serve.deepl_base import DeepLInterface, choice, names, unsupported
from nmt_cli.serve.deepl_glossaries import GlossaryEndpoints
from nmt_cli.serve.documents import Documents
from nmt_cli.serve.models import Direction
from nmt_cli.serve.service import Limits, Service
from nmt_cli.text.languages import base_language
from nmt_cli.web import language_name

PATHS = ("/v2/", "/v3/")
_NO_LIMIT = 10**12
_MODEL_TYPES = ("", "quality_optimized", "latency_optimized", "prefer_quality_optimized")
# Features of languages by the resources that have any languages.
_FEATURES = {
    "translate_text": ("auto_detection", "tag_handling", "glossary"),
    "translate_document": ("auto_detection", "glossary"),
    "glossary": (),
}
_EMPTY_RESOURCES = ("style_rules", "translation_memory", "voice", "write")
_SPACES = re.compile(r"(?<=\S)\s++(?=\S)")


class DeepL(DeepLInterface):
    """The endpoints of DeepL."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self.documents = Documents(service)

    def routes(self) -> list[BaseRoute]:
        """Return the routes of DeepL."""
        glossaries = GlossaryEndpoints(self.service)
        version_2 = [
            *glossaries.routes(2),
            *self.documents.routes(),
            self.endpoint("/translate", self.translate, "text", methods=("POST",)),
            self.endpoint("/languages", self.languages, methods=("GET", "POST")),
            self.endpoint("/usage", self.usage, methods=("GET", "POST")),
        ]
        version_3 = [
            *glossaries.routes(3),
            self.endpoint("/languages", self.resource_languages, "resource"),
            self.endpoint("/languages/resources", self.resources),
            self.endpoint("/translation_memories", self.nothing),
            self.endpoint("/style_rules", self.nothing),
        ]
        return [Mount("/v2", routes=version_2), Mount("/v3", routes=version_3)]

    async def translate(self, call: Call) -> dict[str, Any]:
        """Translate texts."""
        texts = call.texts("text")
        format = choice(call, "tag_handling", ("", "html", "xml"))
        choice(call, "tag_handling_version", ("", "v1", "v2"))
        splitting = choice(call, "split_sentences", ("", "0", "1", "nonewlines"))
        model_type = choice(call, "model_type", _MODEL_TYPES)
        self.check_options(call)
        terms = self.terms(call)
        models = await self._models_for(call, texts)
        self.charge(call, texts)
        tags = Tags(
            names(call, "ignore_tags"),
            names(call, "splitting_tags"),
            names(call, "non_splitting_tags"),
            str(call.fields.get("outline_detection")).lower() not in ("0", "false"),
        )
        given = texts
        if not format and splitting in ("0", "nonewlines"):
            pairs = zip(models, texts, strict=True)
            given = [_on_one_line(text) if model else text for model, text in pairs]
        work = self.service.translate(
            models, given, format, tags=tags, glossary=terms, split_sentences=splitting != "0"
        )
        translations = await self.in_time(call, work)
        target = call.text("target_lang")
        used = {"model_type_used": model_type.removeprefix("prefer_")} if model_type else {}
        return {
            "translations": [
                {
                    "detected_source_language": base_language(
                        model.source if model else target
                    ).upper(),
                    "text": best.text,
                    "billed_characters": len(text),
                    **used,
                }
                for text, model, (best,) in zip(texts, models, translations, strict=True)
            ]
        }

    async def _models_for(self, call: Call, texts: list[str]) -> list[Direction | None]:
        """Return the model of each text, None if it stays; the source language may be missing."""
        self.require(call, "target_lang")
        source, target = call.text("source_lang").lower(), call.text("target_lang").lower()
        self.sources_for(target)
        detected = [(source, 1.0)] * len(texts) if source else await self.detect(texts, target)
        return [self.find(code, target) for code, _ in detected]

    async def languages(self, call: Call) -> list[dict[str, Any]]:
        """Return the source languages, or with ``type=target`` the target languages."""
        side = call.text("type") or "source"
        if side not in ("source", "target"):
            raise unsupported("type")
        codes, details = self.models.sources, {}
        if side == "target":
            codes, details = self.models.all_targets, {"supports_formality": False}
        return [
            {"language": code.upper(), "name": language_name(code), **details} for code in codes
        ]

    async def resource_languages(self, call: Call) -> list[dict[str, Any]]:
        """Version 3: all languages of a resource, with its features."""
        resource = choice(call, "resource", (*_FEATURES, *_EMPTY_RESOURCES))
        return [
            {
                "lang": code,
                "name": language_name(code),
                "usable_as_source": code in self.models.sources,
                "usable_as_target": code in self.models.all_targets,
                "status": "stable",
                "features": {name: {"status": "stable"} for name in _FEATURES[resource]},
            }
            for code in self.models.languages
            if resource in _FEATURES
        ]

    async def resources(self, call: Call) -> list[dict[str, Any]]:
        """Version 3: the features of resources, and which languages of a pair need them."""
        return [
            {
                "name": resource,
                "features": [
                    {"name": name, "needs_source_support": True}
                    | ({} if name == "auto_detection" else {"needs_target_support": True})
                    for name in features
                ],
            }
            for resource, features in _FEATURES.items()
        ]

    async def nothing(self, call: Call) -> dict[str, Any]:
        """Version 3: an empty list of what the path names."""
        return {call.request.url.path.rpartition("/")[2]: [], "total_count": 0}

    async def usage(self, call: Call) -> dict[str, int]:
        """Return how many characters were translated with the key on this day, and its limit."""
        limits = self.access.keys.get(call.key, Limits())
        # Clients expect a limit, even if there is none.
        limit = limits.characters or _NO_LIMIT
        return {"character_count": self.access.used(call.key), "character_limit": limit}


def _on_one_line(text: str) -> str:
    """Return a text with a space instead of line breaks, except at its edges."""

    def joined(spaces: re.Match[str]) -> str:
        return spaces[0] if spaces[0].splitlines() == [spaces[0]] else " "

    return _SPACES.sub(joined, text)
