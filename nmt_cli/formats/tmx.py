"""TMX: a translation memory of the texts of a document and their translations."""

import re
from dataclasses import replace
from html import escape

from nmt_cli import __version__
from nmt_cli.formats import decoded, translate_file
from nmt_cli.formats.inline import find_in_text
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.segments import Segment, translate_segments
from nmt_cli.text.lines import BYTE_ORDER_MARK, STRICT

# Not in XML; private characters are in place of tags.
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\U00100000-\U0010fffd]")


def translation_memory(
    format: str, content: bytes, name: str, translate: Translate, errors: str = STRICT
) -> bytes:
    """Translate a document, or the lines of a text without a format; return TMX 1.4b.

    A unit is a text of the document, without tags, and is marked as one of machine translation, as
    other tools do. Texts without letters, or with a translation that is the same, are omitted.
    """
    pairs: dict[tuple[str, str], None] = {}

    def record(where: str, source: str, result: str, quality: int | None) -> None:
        pairs[_text(source), _text(result)] = None

    recording = replace(translate, record=record)
    if format:
        translate_file(format, content, name, recording, errors=errors)
    else:
        text, _ = decoded(content, name, errors)
        lines = enumerate(text.removeprefix(BYTE_ORDER_MARK).splitlines(), 1)
        segments = [Segment(line, find_in_text, f"line {number}") for number, line in lines]
        translate_segments(segments, recording)
    source, target = (escape(language.replace("_", "-")) for language in translate.languages)
    head = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        f'<header creationtool="nmt" creationtoolversion="{__version__}" segtype="paragraph" '
        f'o-tmf="nmt" adminlang="en" srclang="{source}" datatype="plaintext"/>\n<body>\n'
    )
    units = [
        f'<tu creationid="MT!">\n<tuv xml:lang="{source}"><seg>{first}</seg></tuv>\n'
        f'<tuv xml:lang="{target}"><seg>{second}</seg></tuv>\n</tu>\n'
        for first, second in pairs
        if first != second and any(map(str.isalpha, first))
    ]
    return "".join([head, *units, "</body>\n</tmx>\n"]).encode()


def _text(text: str) -> str:
    """Return a text as that of an element of XML."""
    return escape(" ".join(_NOT_TEXT.sub("", text).split()), quote=False)
