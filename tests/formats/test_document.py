"""Tests that apply to all document formats."""

from pathlib import Path

import pytest

from nmt_cli.errors import InputError
from nmt_cli.formats import FORMATS, format_of, translate_document
from tests.formats.models import recorded, unchanged, upper

SAMPLES = {
    "srt": ["", "1\n00:00:01,000 --> 00:00:02,000\nHello there\n\n"],
    "po": ["", 'msgid "Hello there"\nmsgstr "Hallo"\n'],
    "html": ["", "Hello there\n", "<p>\nHello there\n</p>\n"],
    "xml": ["", "<a>\nHello there\n</a>\n"],
    "markdown": ["", "Hello there\n", "\n", "# A\n\n- b\n"],
}


def test_formats_by_name() -> None:
    names = ["a.srt", "b/A.SRT", "de.po.gz", "x.pot", "README.md", "y.markdown", "a.htm", "b.xml"]
    formats = [format_of(Path(name)) for name in names]
    assert formats == ["srt", "srt", "po", "po", "markdown", "markdown", "html", "xml"]
    for name in ("z.txt", "md", ".md"):
        with pytest.raises(InputError, match="unknown document format"):
            format_of(Path(name))


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
