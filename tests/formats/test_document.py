"""Tests that apply to all document formats."""

from pathlib import Path

import pytest

from nmt_cli.formats import FORMATS, format_of, translate_document
from tests.formats.models import by_text, recorded, unchanged, upper

SAMPLES = {
    "srt": ["", "1\n00:00:01,000 --> 00:00:02,000\nHello there\n\n"],
    "webvtt": ["", "WEBVTT\n\n00:01.000 --> 00:02.000\nHello there\n\n"],
    "ass": ["", "[Events]\nDialogue: 0,1,2,D,,0,0,0,,Hello there\n"],
    "xliff": [
        "",
        '<xliff version="1.2">\n<trans-unit><source>\nHello\n</source>\n'
        "<target>\nOlá\n</target>\n</trans-unit>\n</xliff>\n",
    ],
    "po": ["", 'msgid "Hello there"\nmsgstr "Hallo"\n'],
    "json": ["", '{"a": "Hello there"}\n', '[\n  "Hello"\n]'],
    "yaml": ["", "a: Hello there\nb:\n- |\n  some text\n"],
    "properties": ["", "a=Hello there\n"],
    "android": ["", "<resources><string name='a'>\nHello there\n</string></resources>\n"],
    "ios": ["", '"a" = "Hello there";\n'],
    "html": ["", "Hello there\n", "<p>\nHello there\n</p>\n"],
    "xml": ["", "<a>\nHello there\n</a>\n"],
    "markdown": ["", "Hello there\n", "\n", "# A\n\n- b\n"],
    "paragraphs": ["", "Hello there\n", "\n", "> a\n\n- b\n"],
}


def test_formats_by_name() -> None:
    names = ["a.srt", "b/A.SRT", "de.po.gz", "x.pot", "README.md", "y.markdown", "a.htm", "b.xml"]
    names += ["a.vtt", "a.ass", "a.ssa", "a.xlf", "a.xliff"]
    formats = ["srt", "srt", "po", "po", "markdown", "markdown", "html", "xml"]
    formats += ["webvtt", "ass", "ass", "xliff", "xliff"]
    names += ["a.docx", "A.DOCM", "a.xlsx", "b.odt", "c.epub", "a.docx.gz"]
    formats += ["docx", "docx", "xlsx", "odt", "epub", "docx"]
    assert [format_of(Path(name)) for name in names] == formats
    assert not any(format_of(Path(name)) for name in ("z.txt", "md", ".md"))


def test_string_resources_of_android() -> None:
    """Quotes are escaped in resources, not in other XML."""
    model = by_text(lambda text: f"it's {text}")
    head, root = '\ufeff<?xml version="1.0"?>\n<!-- c -->\n', '<resources xmlns:x="y">'
    string = "<string name='a'>{}</string></resources>"
    new = translate_document("xml", head + root + string.format("a b"), "a", model)
    assert new == head + root + string.format("it\\'s a b")
    new = translate_document("xml", f"{head}<a>{root}a b</resources></a>", "a", model)
    assert new == f"{head}<a>{root}it's a b</resources></a>"


@pytest.mark.parametrize(
    ("format", "text"), [(name, text) for name, texts in SAMPLES.items() for text in texts]
)
def test_line_ends_and_byte_order_marks_are_kept(format: str, text: str) -> None:
    for variant in (text, text.rstrip("\n"), text + "\n\n", text.replace("\n", "\r\n")):
        for mark in ("", "\ufeff"):
            assert translate_document(format, mark + variant, "a", unchanged) == mark + variant


@pytest.mark.parametrize("format", FORMATS)
def test_an_empty_document_translates_nothing(format: str) -> None:
    calls, translate = recorded(upper)
    for text in ("", "\n", " \n\n", "\ufeff"):
        assert translate_document(format, text, "a", translate) == text
    assert calls == []
