"""The files of the page; tests/web/test_serve.py uses it in a browser."""

import re
from typing import Literal

import pytest

from nmt_cli.serve.app import page_routes
from nmt_cli.web import page_files
from tests.serve.conftest import Server


@pytest.mark.parametrize(
    ("path", "kind", "part"),
    [
        ("/", "text/html", "<title>Translate</title>"),
        ("/app.js", "text/javascript", "async function translate()"),
        ("/serve.css", "text/css", "--mark"),
        ("/docs", "text/html", 'src="docs.js"'),
        ("/style.css", "text/css", "--accent"),
        ("/icon.svg", "image/svg+xml", "<svg"),
    ],
)
def test_files_come_with_a_policy(server: Server, path: str, kind: str, part: str) -> None:
    answer = server.get(path)
    assert answer.status == 200
    assert part in answer.body.decode()
    headers = {name.lower(): value for name, value in answer.headers.items()}
    assert headers["content-type"].partition(";")[0] == kind
    assert headers["content-security-policy"].startswith("default-src 'none'; ")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("page", ["serve", "export"])
def test_pages_have_what_their_script_uses_and_one_primary_button(
    page: Literal["serve", "export"],
) -> None:
    files = page_files(page)
    text, script = (files[name].read_text("utf-8") for name in ("index.html", "page.js"))
    ids = re.findall(r'id="(\w+)"', text)
    assert len(ids) == len(set(ids))
    used = {*re.findall(r"page\.(\w+)", script + files["app.js"].read_text("utf-8"))} - {"js"}
    assert used <= set(ids)
    assert {"clear", "count", "copy", "status"} <= used
    assert re.findall(r'<button id="(\w+)" class="primary"', text) == ["copy"]
    assert text.count('class="primary"') == 1
    assert 'role="status"' in text  # read by screen readers when it changes
    assert 'aria-describedby="count"' in text


def test_the_page_refers_to_its_files_only(server: Server) -> None:
    """By relative addresses, so that a proxy can serve it in a folder."""
    paths = ("/", "/app.js", "/docs")
    text, script, docs = (server.get(path).body.decode() for path in paths)
    names = {*re.findall(r'(?:src|href)="(.*?)"', text), *re.findall(r'from "\./(.*?)"', script)}
    names |= {*re.findall(r'(?:src|href)="(.*?)"', docs)}
    assert {f"/{name}" for name in names} == {route.path for route in page_routes()} - {"/"}
    assert "<script>" not in text
    assert "<style" not in text
