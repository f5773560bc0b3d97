"""JSON of applications: only values that are text change, and only their own characters."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt_cli.errors import InputError
from nmt_cli.formats.json import translate_json
from nmt_cli.formats.values import is_text
from tests.formats.models import by_text, hostile, unchanged, upper

BEFORE = r"""{
    "title" :  "Hello, \"world\" \/ you",
	"count": 3, "on": true, "none": null,
  "nested": { "list": ["One thing", "two things", {"deep": "A caf\u00e9"}],
    "empty": {}, "blank": "", "spaces": "  padded\n" },
  "i18next": "Hi {{name}}, see $t(other.key)", "rails": "%{count} items",
  "vue": "Open @:menu.file", "icu": "{n, plural, one {# file} other {# files}}",
  "url": "https://example.org/a", "path": "/usr/share", "file": "images/logo.png",
  "color": "#ff8800", "rgb": "rgb(1, 2, 3)", "css": "btn-primary", "ident": "user_name",
  "camel": "someKey", "dotted": "app.title.main", "date": "2024-01-02T03:04:05Z",
  "format": "DD/MM/YYYY", "time": "HH:mm", "locale": "pt-BR", "width": "10px",
  "uuid": "6f1ab4bb-9a3e-4b0e-8e4c-0123456789ab", "Type": "Type", "title": "twice"
}
"""
AFTER = r"""{
    "title" :  "HELLO, \"WORLD\" \/ YOU",
	"count": 3, "on": true, "none": null,
  "nested": { "list": ["ONE THING", "TWO THINGS", {"deep": "A CAF\u00c9"}],
    "empty": {}, "blank": "", "spaces": "  PADDED\n" },
  "i18next": "HI {{name}}, SEE $t(other.key)", "rails": "%{count} ITEMS",
  "vue": "OPEN @:menu.file", "icu": "{n, plural, one {# FILE} other {# FILES}}",
  "url": "https://example.org/a", "path": "/usr/share", "file": "images/logo.png",
  "color": "#ff8800", "rgb": "rgb(1, 2, 3)", "css": "btn-primary", "ident": "user_name",
  "camel": "someKey", "dotted": "app.title.main", "date": "2024-01-02T03:04:05Z",
  "format": "DD/MM/YYYY", "time": "HH:mm", "locale": "pt-BR", "width": "10px",
  "uuid": "6f1ab4bb-9a3e-4b0e-8e4c-0123456789ab", "Type": "TYPE", "title": "TWICE"
}
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_texts_change(end: str) -> None:
    text = BEFORE.replace("\n", end)
    assert translate_json(text, "a.json", upper) == AFTER.replace("\n", end)
    assert translate_json(text, "a.json", unchanged) == text


def test_escapes_as_in_the_source() -> None:
    model = by_text(lambda text: 'é < / & "\\ \u00a0😀')
    assert translate_json('["x y"]', "a", model) == '["é < / & \\"\\\\ \u00a0😀"]'
    ascii_only = translate_json('["x y", "\\u00e3"]', "a", model)
    assert ascii_only.startswith(r'["\u00e9 < / & \"\\ \u00a0\ud83d\ude00"')
    escaped = translate_json(r'["x \u003c \/ \u0022 x", "ã"]', "a", model)
    assert escaped.startswith(r'["é \u003c \/ & \u0022\\ ')
    assert json.loads(escaped)[0] == 'é < / & "\\ \u00a0😀'
    assert translate_json(r'["half \ud83d of it"]', "a", upper) == r'["half \ud83d of it"]'


def test_metadata_of_arb() -> None:
    arb = '{"@@locale": "en", "hi": "Hello", "@hi": {"description": "A greeting to all"}}'
    assert translate_json(arb, "a.arb", upper) == arb.replace("Hello", "HELLO")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n "a": "b"\n "c": 1}', r"a.json, line 3: not the syntax of JSON \(Expecting ','"),
        ('{"a": "b', "a.json, line 1: not the syntax of JSON .Unterminated string"),
        ("// c\n{}", "a.json, line 1: not the syntax of JSON"),
        ("[" * 100_000, "a.json: nested too deep"),
    ],
)
def test_malformed_files(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        translate_json(text, "a.json", upper)


@pytest.mark.parametrize(
    "text",
    ["Yes", "e-mail", "sign-up", "Yes/No", "and/or", "km/h", "Mad", "add", "days", "U.S.", "OK",
     "Pr_eferences", "January 2, 2024", "Hello.", "#hashtag", "Terça-feira", "Page 1"],
)  # fmt: skip
def test_texts(text: str) -> None:
    assert is_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "btn-primary", "#fff", "rgba(0,0,0,.5)", "image/png", "/a/b", "./x", "~/x", "C:\\x\\y",
        "a.png", "src/main.js", "a/b/c", "v1.2.3", "10:30", "2024-01-02", "DD/MM/YYYY",
        "dd 'de' MMMM", "h:mm a", "yyyy-MM-dd'T'HH:mm:ssZ", "MMM D, YYYY", "D [de] MMMM [de] YYYY",
        "en-US", "pt_BR", "user_name", "userName", "app.title", "example.com", "MAX_VALUE",
        "10px", "true",
    ],
)  # fmt: skip
def test_values_for_programs(text: str) -> None:
    assert not is_text(text)


STRINGS = st.text(max_size=12) | st.sampled_from(
    ["{n, plural, one {# x} other {# y}}", "_Open", "a\nb", "50% of {{x}}", "\ud800", "it's", "\\"]
)
VALUES = st.recursive(
    STRINGS | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.integers(0, 10**6), st.booleans(), st.sampled_from([None, 1]))
def test_any_document_and_any_model(
    value: Any, seed: int, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert translate_json(text, "a", unchanged) == text
    new = translate_json(text, "a", hostile(seed))
    assert shape(json.loads(new)) == shape(value)
    outside = r'"(?:[^"\\]|\\.)*"'
    assert re.sub(outside, "", new) == re.sub(outside, "", text)


def shape(value: Any) -> Any:
    """Return what must stay: keys, and values that are not strings."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return list(map(shape, value)) if isinstance(value, list) else type(value)


def test_large_files_are_fast() -> None:
    text = json.dumps({f"key{number}": f"Message number {number}" for number in range(5_000)})
    assert "MESSAGE" in translate_json(text, "a", upper)
    assert translate_json(json.dumps("word " * 50_000), "a", upper).startswith('"WORD')
    parts = ["M", "MM", "d", "a/", "a.", "a_", "1a", "'", "yy ", "{a,", "''{", "&lt;a ", "@:", "%a"]
    for part in [*parts, "hsl(", ":", "{a,select,b{", "_a", "&a "]:
        is_text(part * (190 // len(part)) + "é")
        translate_json(json.dumps(part * 5_000 + " é"), "a", unchanged)
