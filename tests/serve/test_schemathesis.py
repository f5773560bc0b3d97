"""Requests that schemathesis generates from /spec, valid and not: none may end with status 5xx."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.serve.conftest import Server, renamed, serving
from tests.serve.test_spec import SPEC

schemathesis = pytest.importorskip("schemathesis")

_REQUESTS = 2000
# Values with which valid requests are translated; nearly all others are refused.
_SERVED = {
    "source": ["auto", "en", "pt"],
    "target": ["en", "pt"],
    "langpair": ["pt|en", "eng|por"],
    "source_lang": ["PT", "EN"],
    "target_lang": ["EN-US", "PT"],
}


def with_served(value: Any) -> Any:
    """Return a part of the description in which languages are those that are served."""
    if isinstance(value, list):
        return [with_served(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {name: with_served(item) for name, item in value.items()}
    for name in _SERVED.keys() & value.get("properties", {}).keys():
        value["properties"][name]["enum"] = _SERVED[name]
    if value.get("in") == "query" and value["name"] in _SERVED:
        value["schema"]["enum"] = _SERVED[value["name"]]
    return value


@pytest.fixture(scope="module")
def both(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    other = renamed(bundle, bundle.with_name("en-pt"), "en", "pt")
    file = tmp_path_factory.mktemp("suggestions") / "suggestions.tsv"
    with serving(bundle, other, suggestions=file) as running:
        yield running


def send(server: Server, operation: Any, mode: Any, count: int) -> Counter[int]:
    """Send requests for an operation, and return their statuses."""
    statuses = Counter[int]()

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send_one(case: Any) -> None:
        response = case.call(base_url=server.url)
        statuses[response.status_code] += 1
        assert response.status_code < 500, f"{response.text}\n{case.as_curl_command()}"

    send_one()
    return statuses


@pytest.mark.slow
def test_no_request_fails(both: Server) -> None:
    schema = schemathesis.openapi.from_dict(with_served(json.loads(json.dumps(SPEC))))
    operations = [result.ok() for result in schema.get_all_operations()]
    varied = [operation for operation in operations if operation.body or operation.query]
    valid, *invalid = schemathesis.GenerationMode
    count = -(-_REQUESTS // (2 * len(varied)))
    statuses = {
        (operation.label, mode.value): send(both, operation, mode, count)
        for operation in operations
        for mode in ([valid, *invalid] if operation in varied else [valid])
    }
    for name, counts in statuses.items():
        print(*name, dict(counts))
    assert sum(counts.total() for counts in statuses.values()) >= _REQUESTS
    for method in ("GET", "POST"):
        assert statuses[f"{method} /translate", valid.value][200] > count // 4
