"""What the requests of DeepL's interface have in common: messages, keys, options, glossaries."""

import uuid
from collections.abc import Collection
from contextlib import suppress

from starlette.exceptions import HTTPException

from nmt_cli.serve.api import Call, Interface
from nmt_cli.serve.glossaries import StoredGlossary, pair_of
from nmt_cli.text.glossary import Glossary

_SCHEME = "DeepL-Auth-Key "
# Options that choose among translations in ways that models here cannot.
_UNSUPPORTED = ("custom_instructions", "style_id", "translation_memory_id")
_FORMALITIES = ("", "default", "more", "less", "prefer_more", "prefer_less")


class DeepLInterface(Interface):
    """The base of endpoints of DeepL."""

    error_field = "message"
    missing_field = 400, "Parameter '{name}' not specified."
    missing_key = 403, "Authorization failed. Please supply a valid DeepL-Auth-Key."
    unknown_key = missing_key
    too_large = 413, "Request Entity Too Large"
    quota_exceeded = 456, "Quota Exceeded"
    max_texts = 50  # as at DeepL
    too_many_texts = 400, "Too many texts in request."
    unknown_target = 400, "Value for 'target_lang' not supported."

    def key_of(self, call: Call) -> str:
        """Return the key of the header or, if that has none, of ``auth_key``."""
        header = call.request.headers.get("authorization", "")
        key = header.removeprefix(_SCHEME) if header.startswith(_SCHEME) else ""
        return key.strip() or call.text("auth_key")

    def no_model(self, source: str, target: str) -> HTTPException:
        """Refuse the source language."""
        return unsupported("source_lang")

    def check_options(self, call: Call) -> None:
        """Refuse options of texts and documents that would change nothing here."""
        for name in _UNSUPPORTED:
            if call.fields.get(name):
                raise unsupported(name)
        if choice(call, "formality", _FORMALITIES) in ("more", "less"):
            language = call.text("target_lang").upper()[:20]
            raise HTTPException(400, f"Target language '{language}' doesn't support formality.")

    def glossary(self, call: Call, id: str) -> StoredGlossary:
        """Return a glossary of the key of a request."""
        with suppress(ValueError):
            if glossary := self.service.glossaries.get(call.key, str(uuid.UUID(id))):
                return glossary
            raise HTTPException(404, "Glossary not found")
        raise unsupported("glossary_id")

    def terms(self, call: Call) -> Glossary | None:
        """Return the terms that a text or a document is to be translated with."""
        fields = ("glossary_id", "glossary_ids")
        ids = [name for field in fields for name in names(call, field)]
        for field in fields:
            if call.fields.get(field) and not names(call, field):
                raise unsupported(field)
        if not ids:
            return None
        if len(ids) > 1:
            raise HTTPException(400, "Only one glossary can be used.")
        self.require(call, "target_lang")
        source, target = call.text("source_lang"), call.text("target_lang")
        if not source:
            reason = "Use of a glossary requires the source_lang parameter to be specified"
            raise HTTPException(400, reason)
        model, dictionaries = self.find(source, target), self.glossary(call, ids[0]).dictionaries
        if not model or len(model.steps) > 1 or pair_of(source, target) not in dictionaries:
            raise HTTPException(400, "The glossary has no dictionary for these languages.")
        return dictionaries[pair_of(source, target)]


def unsupported(name: str) -> HTTPException:
    """Return the error of a field with a wrong value."""
    return HTTPException(400, f"Value for '{name}' not supported.")


def choice(call: Call, name: str, values: Collection[str]) -> str:
    """Return the value of a field, one of these, in lower case."""
    value = call.text(name).lower()
    if value not in values:
        raise unsupported(name)
    return value


def names(call: Call, name: str) -> list[str]:
    """Return the names of a field, a list or a text with commas between them."""
    value = call.fields.get(name)
    found = value.split(",") if isinstance(value, str) else value
    if not isinstance(found, list):
        return []
    return [str(name).strip() for name in found if str(name).strip()]
