"""Glossaries of DeepL's interface: of one dictionary (version 2), or of several (version 3)."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from nmt_cli.errors import InputError
from nmt_cli.serve.api import Call
from nmt_cli.serve.deepl_base import DeepLInterface, choice
from nmt_cli.serve.glossaries import Pair, StoredGlossary, pair_of
from nmt_cli.text.glossary import Glossary, checked_glossary, rows_of_csv

_NUMBERED = re.compile(r"dictionaries\[(\d{1,4})\]\.(\w+)")
_MAX_GLOSSARIES = 1000  # of a key, as at DeepL


class GlossaryEndpoints(DeepLInterface):
    """The endpoints of glossaries.

    Those of version 2 do not see glossaries with several dictionaries.
    """

    def routes(self, version: int) -> list[Route]:
        """Return the routes of a version."""
        one, dictionaries = "/glossaries/{id}", "/glossaries/{id}/dictionaries"
        routes = [
            self.endpoint("/glossaries", self._create, "name", methods=("POST",)),
            self.endpoint("/glossaries", self._list),
            self.endpoint(one, self._get),
            self.endpoint(one, self._delete, methods=("DELETE",)),
            self.endpoint(f"{one}/entries", self._entries),
        ]
        if version == 2:
            return [*routes, self.endpoint("/glossary-language-pairs", self._list_pairs)]
        return [
            *routes,
            self.endpoint(one, self._edit, methods=("PATCH",)),
            self.endpoint(dictionaries, self._put_dictionary, methods=("PUT",)),
            self.endpoint(dictionaries, self._delete_dictionary, methods=("DELETE",)),
        ]

    async def _list_pairs(self, call: Call) -> dict[str, Any]:
        return {"supported_languages": list(map(_languages, sorted(self._pairs())))}

    async def _create(self, call: Call) -> Response:
        if len(self.service.glossaries.of(call.key)) >= _MAX_GLOSSARIES:
            raise HTTPException(456, f"Quota Exceeded: {_MAX_GLOSSARIES} glossaries")
        given = _dictionaries(call) if _is_version_3(call) else [call]
        dictionaries = dict(map(self._dictionary, given))
        if not dictionaries:
            raise HTTPException(400, "Glossary dictionaries must be provided")
        if len(dictionaries) < len(given):
            raise HTTPException(400, "Two dictionaries have the same languages")
        glossary = self.service.glossaries.add(call.key, call.text("name"), dictionaries)
        return JSONResponse(_described(call, glossary), 201)

    async def _list(self, call: Call) -> dict[str, Any]:
        glossaries = [
            _described(call, glossary)
            for glossary in self.service.glossaries.of(call.key)
            if _is_version_3(call) or len(glossary.dictionaries) == 1
        ]
        return {"glossaries": glossaries}

    async def _get(self, call: Call) -> dict[str, Any]:
        return _described(call, self._named(call))

    async def _delete(self, call: Call) -> Response:
        self.service.glossaries.delete(self._named(call))
        return Response(status_code=204)

    async def _entries(self, call: Call) -> Any:
        glossary = self._named(call)
        if not _is_version_3(call):
            (only,) = glossary.dictionaries.values()
            return Response(_entries(only), media_type="text/tab-separated-values")
        pair = self._existing_pair(call, glossary)
        entries = {"entries": _entries(glossary.dictionaries[pair]), "entries_format": "tsv"}
        return {"dictionaries": [_languages(pair) | entries]}

    async def _edit(self, call: Call) -> dict[str, Any]:
        glossary = self._named(call)
        dictionaries = dict(glossary.dictionaries)
        for pair, new in map(self._dictionary, _dictionaries(call)):
            old = dictionaries.get(pair, Glossary({}))
            dictionaries[pair] = Glossary({**old.terms, **new.terms})
        name = call.text("name") or glossary.name
        changed = replace(glossary, name=name, dictionaries=dictionaries)
        return _described(call, self.service.glossaries.put(changed))

    async def _put_dictionary(self, call: Call) -> dict[str, Any]:
        glossary, (pair, new) = self._named(call), self._dictionary(call)
        dictionaries = {**glossary.dictionaries, pair: new}
        self.service.glossaries.put(replace(glossary, dictionaries=dictionaries))
        return _info(pair, new)

    async def _delete_dictionary(self, call: Call) -> Response:
        glossary = self._named(call)
        dictionaries = dict(glossary.dictionaries)
        del dictionaries[self._existing_pair(call, glossary)]
        self.service.glossaries.put(replace(glossary, dictionaries=dictionaries))
        return Response(status_code=204)

    def _named(self, call: Call) -> StoredGlossary:
        """Return the glossary that a path names."""
        glossary = self.glossary(call, call.request.path_params["id"])
        if not _is_version_3(call) and len(glossary.dictionaries) != 1:
            raise HTTPException(404, "Glossary not found: it has several dictionaries")
        return glossary

    def _pairs(self) -> set[Pair]:
        return {pair_of(model.source, model.target) for model in self.models.served}

    def _pair(self, call: Call) -> Pair:
        self.require(call, "source_lang", "target_lang")
        pair = pair_of(call.text("source_lang"), call.text("target_lang"))
        if pair not in self._pairs():
            raise HTTPException(400, "Unsupported glossary source and target language pair")
        return pair

    def _existing_pair(self, call: Call, glossary: StoredGlossary) -> Pair:
        pair = self._pair(call)
        if pair not in glossary.dictionaries:
            raise HTTPException(404, "Dictionary not found")
        return pair

    def _dictionary(self, call: Call) -> tuple[Pair, Glossary]:
        """Read the dictionary in the fields of a request."""
        self.require(call, "entries", "entries_format")
        pair, text = self._pair(call), call.text("entries")
        rows: Iterator[list[str]] = (line.split("\t") for line in text.split("\n"))
        if choice(call, "entries_format", ("tsv", "csv")) == "csv":
            source, target = pair.split()
            rows = rows_of_csv(text, (source, target))
        try:
            return pair, checked_glossary(rows, "entries")
        except InputError as error:
            reason = f"Invalid glossary entries provided: {error}"
            raise HTTPException(400, reason) from None


def _is_version_3(call: Call) -> bool:
    return call.request.url.path.startswith("/v3/")


def _dictionaries(call: Call) -> list[Call]:
    """Return the fields of each dictionary in a request, as if they were a request."""
    given = call.fields.get("dictionaries") or []
    numbered = dict[str, dict[str, Any]]()  # of a form, which deepl-node sends
    for name, value in call.fields.items():
        if match := _NUMBERED.fullmatch(name):
            numbered.setdefault(match[1], {})[match[2]] = value
    given = given or list(numbered.values())
    if not isinstance(given, list) or not all(isinstance(fields, dict) for fields in given):
        raise HTTPException(400, "Value for 'dictionaries' not supported.")
    return [Call(call.request, fields, call.key) for fields in given]


def _described(call: Call, glossary: StoredGlossary) -> dict[str, Any]:
    """Describe a glossary as the version of the request does."""
    described = {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "creation_time": glossary.created,
    }
    dictionaries = [_info(*item) for item in glossary.dictionaries.items()]
    if _is_version_3(call):
        return {**described, "dictionaries": dictionaries}
    return {**described, "ready": True, **dictionaries[0]}


def _info(pair: Pair, dictionary: Glossary) -> dict[str, Any]:
    return {**_languages(pair), "entry_count": len(dictionary.terms)}


def _languages(pair: Pair) -> dict[str, str]:
    return dict(zip(("source_lang", "target_lang"), pair.split(), strict=True))


def _entries(dictionary: Glossary) -> str:
    return "\n".join(map("\t".join, dictionary.terms.items()))
