"""The interface of DeepL, version 2 (https://developers.deepl.com/docs), for its clients."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Mount

from nmt_cli.serve.api import Call, Interface
from nmt_cli.serve.batcher import ServedModel
from nmt_cli.web import language_name

PATHS = ("/v2/", "/v3/")
_MAX_TEXTS = 50  # per request, as at DeepL
_SCHEME = "DeepL-Auth-Key "
# Unsupported parameters.
_UNSUPPORTED = ("glossary_id", "glossary_ids", "style_id", "translation_memory_id")


class DeepL(Interface):
    """The endpoints of DeepL."""

    error_field = "message"
    missing_field = 400, "Parameter '{name}' not specified."
    missing_key = 403, "Authorization failed. Please supply a valid DeepL-Auth-Key."
    unknown_key = missing_key
    too_large = 413, "Request Entity Too Large"
    unknown_target = 400, "Value for 'target_lang' not supported."

    def routes(self) -> list[BaseRoute]:
        """Return the routes of DeepL."""
        version_2 = [
            self.endpoint("/translate", self.translate, "text", methods=("POST",)),
            self.endpoint("/languages", self.languages, methods=("GET", "POST")),
            self.endpoint("/glossary-language-pairs", self.glossary_pairs),
            self.endpoint("/usage", self.usage, methods=("GET", "POST")),
        ]
        version_3 = self.endpoint("/v3/languages", self.resource_languages, "resource")
        return [Mount("/v2", routes=version_2), version_3]

    def key_of(self, call: Call) -> str:
        """Return the key of the header or, if that has none, of ``auth_key``."""
        header = call.request.headers.get("authorization", "")
        key = header.removeprefix(_SCHEME) if header.startswith(_SCHEME) else ""
        return key.strip() or call.text("auth_key")

    async def translate(self, call: Call) -> dict[str, Any]:
        """Translate texts."""
        texts = call.texts("text")
        if len(texts) > _MAX_TEXTS:
            raise HTTPException(400, "Too many texts in request.")
        size = self.check_size(texts)
        for name in _UNSUPPORTED:
            if call.fields.get(name):
                raise _unsupported(name)
        if call.text("formality") in ("more", "less"):
            raise HTTPException(400, "'formality' is not supported for given 'target_lang'.")
        format = call.text("tag_handling")
        if format not in ("", "html", "xml"):
            raise _unsupported("tag_handling")
        models = self._models_for(call, texts)
        untouched = _names(call.fields.get("ignore_tags"))
        work = self.service.translate(models, texts, format, untouched=untouched)
        translations = await self.in_time(call, work)
        self.access.used[call.key] += size
        answers: list[dict[str, Any]] = []
        for text, model, (best,) in zip(texts, models, translations, strict=True):
            language = model.source.partition("-")[0].upper()
            answers.append({"detected_source_language": language, "text": best.text})
            if call.is_true("show_billed_characters"):
                answers[-1]["billed_characters"] = len(text)
        return {"translations": answers}

    def _models_for(self, call: Call, texts: list[str]) -> list[ServedModel]:
        """Return the model of each text; the source language may be missing."""
        self.require(call, "target_lang")
        source, target = call.text("source_lang").lower(), call.text("target_lang").lower()
        self.sources_for(target)
        detected = [(source, 1.0)] * len(texts) if source else self.detect(texts, target)
        models = [self.models.find(code, target) for code, _ in detected]
        if None in models:
            raise _unsupported("source_lang")
        return [model for model in models if model]

    async def languages(self, call: Call) -> list[dict[str, Any]]:
        """Return the source languages, or with ``type=target`` the target languages."""
        side = call.text("type") or "source"
        if side not in ("source", "target"):
            raise _unsupported("type")
        codes, details = self.models.sources, {}
        if side == "target":
            codes, details = self.models.all_targets, {"supports_formality": False}
        return [
            {"language": code.upper(), "name": language_name(code), **details} for code in codes
        ]

    async def resource_languages(self, call: Call) -> list[dict[str, Any]]:
        """Version 3: all languages of a resource; only text translation has any."""
        return [
            {
                "lang": code,
                "name": language_name(code),
                "usable_as_source": code in self.models.sources,
                "usable_as_target": code in self.models.all_targets,
                "features": {},
            }
            for code in self.models.languages
            if call.text("resource") == "translate_text"
        ]

    async def glossary_pairs(self, call: Call) -> dict[str, list[Any]]:
        """Return no pairs of languages; Weblate checks this first, and then uses no glossary."""
        return {"supported_languages": []}

    async def usage(self, call: Call) -> dict[str, int]:
        """Return how many characters were translated with the key since the server started."""
        # Clients expect a limit; there is none.
        return {"character_count": self.access.used[call.key], "character_limit": 10**12}


def _unsupported(name: str) -> HTTPException:
    return HTTPException(400, f"Value for '{name}' not supported.")


def _names(value: object) -> list[str]:
    """Return names of elements, from a list or from text with commas between them."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list):
        return []
    return [str(name).strip() for name in names if str(name).strip()]
