"""/spec, the description of all requests, and /docs, the page that shows it."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from starlette.routing import Mount, Route

from nmt_cli.serve.app import create_app, page_routes
from nmt_cli.web import page_files
from tests.serve.conftest import Server, serving

SPEC = json.loads(page_files("serve")["spec.json"].read_text(encoding="utf-8"))
OPERATIONS = {
    (path, method): operation
    for path, methods in SPEC["paths"].items()
    for method, operation in methods.items()
}


def routes(server: Server) -> set[tuple[str, str]]:
    found = set()

    def add(items: list[Any], prefix: str) -> None:
        for route in items:
            if isinstance(route, Mount):
                add(route.routes, prefix + route.path)
            else:
                assert isinstance(route, Route)
                methods = (route.methods or set()) - {"HEAD"}
                found.update((prefix + route.path, method.lower()) for method in methods)

    add(list(create_app(server.service, server.log.append).routes), "")
    return found


def schema_of(operation: dict[str, Any], status: int) -> dict[str, Any]:
    content = operation["responses"][str(status)]["content"]["application/json"]
    schema = json.loads(json.dumps(content["schema"]), object_hook=with_null)
    components = json.loads(json.dumps(SPEC["components"]), object_hook=with_null)
    return {**schema, "components": components}


def with_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Write OpenAPI's ``nullable`` as JSON Schema does."""
    if schema.pop("nullable", False):
        return {"anyOf": [{"type": "null"}, schema]} if "type" in schema else {"type": "null"}
    return schema


def test_it_describes_all_requests(server: Server) -> None:
    pages = {route.path for route in page_routes()} - {"/spec"}
    existing = {route for route in routes(server) if route[0] not in pages}
    assert set(OPERATIONS) <= existing
    missing = existing - set(OPERATIONS)
    assert {path for path, _ in missing if not path.startswith(("/v2/", "/v3/"))} == set()


def test_it_is_served(server: Server) -> None:
    answer = server.get("/spec")
    assert (answer.status, answer.body) == (200, SPEC)
    assert answer.headers["content-type"] == "application/json"
    assert server.post("/spec", {}).status == 405


def test_references_exist() -> None:
    names = set()

    def collect(value: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in value:
            names.add(value["$ref"].removeprefix("#/components/schemas/"))
        return value

    json.loads(json.dumps(SPEC), object_hook=collect)
    assert names == set(SPEC["components"]["schemas"])
    tags = {tag["name"] for tag in SPEC["tags"]}
    assert {tag for operation in OPERATIONS.values() for tag in operation["tags"]} == tags
    ids = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(ids) == len(set(ids))


TEXT = {"source": "pt", "target": "en"}
GLOSSARY = {"name": "animals", "source_lang": "PT", "target_lang": "EN"}
REQUESTS: list[tuple[str, str, Any]] = [
    ("post", "/translate", {**TEXT, "q": "o gato"}),
    ("post", "/translate", {"q": ["o gato"], "source": "auto", "target": "en"}),
    ("post", "/translate", {**TEXT, "q": "o gato", "alternatives": 2, "alignments": True}),
    ("post", "/translate", {**TEXT, "q": ["o", ""], "alternatives": 1, "alignments": True}),
    ("post", "/translate", {}),
    ("get", "/translate?q=o&langpair=pt|en", None),
    ("get", "/translate", None),
    ("post", "/detect", {"q": "o gato"}),
    ("get", "/languages", None),
    ("post", "/translate_file", {}),
    ("post", "/suggest", {**TEXT, "q": "o gato", "s": "the cat"}),
    ("get", "/frontend/settings", None),
    ("get", "/health", None),
    ("get", "/listPairs", None),
    ("get", "/listLanguageNames", None),
    ("get", "/identifyLang?q=gato", None),
    ("post", "/v2/translate", {"text": ["o gato"], "target_lang": "EN"}),
    ("post", "/v2/translate", {}),
    ("post", "/v2/translate", {"text": "o gato", "target_lang": "EN", "split_sentences": "0"}),
    ("post", "/v2/document/x", {"document_key": "x"}),
    ("post", "/v2/glossaries", {**GLOSSARY, "entries": "gato\tcat", "entries_format": "tsv"}),
    ("get", "/v2/glossaries", None),
    ("get", "/v2/glossaries/x", None),
    ("get", "/v2/languages?type=target", None),
    ("get", "/v2/usage", None),
]


@pytest.mark.parametrize(("method", "address", "body"), REQUESTS)
def test_answers_are_as_described(
    bundle: Path, tmp_path: Path, method: str, address: str, body: Any
) -> None:
    with serving(bundle, suggestions=tmp_path / "suggestions.tsv") as server:
        answer = server.get(address) if method == "get" else server.post(address, body)
    operation = OPERATIONS[address.partition("?")[0].replace("/x", "/{id}"), method]
    jsonschema.validate(answer.body, schema_of(operation, answer.status))
    if method == "post" and body:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.validate(body, {**schema, "components": SPEC["components"]})


def test_the_page_shows_it(server: Server) -> None:
    answer = server.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert 'src="docs.js"' in answer.body.decode()
    assert 'fetch("spec")' in server.get("/docs.js").body.decode()
