"""Office documents and e-books: zipped XML of which only the words of paragraphs change.

The other members of the archive and all other XML stay byte for byte.
"""

import re
import struct
import zlib
from collections.abc import Mapping
from html import unescape
from io import BytesIO
from xml.parsers import expat
from zipfile import BadZipFile, ZipFile, ZipInfo

from nmt_cli.errors import InputError
from nmt_cli.formats import spans, translate_document
from nmt_cli.formats.placing import Translate
from nmt_cli.formats.runs import Layout, Part
from nmt_cli.formats.segments import Segment, translate_segments
from nmt_cli.text.kept import ADDRESSES, TEMPLATES

_WORD = Layout(
    "wordprocessingml/(?:2006/)?main",
    "p",
    "hyperlink ins moveTo smartTag sdt sdtContent fldSimple dir bdo customXml",
    "pPr br cr tab ptab fldChar instrText",
    "r",
    't xml:space="preserve"',
)
_DRAWING = Layout("drawingml/(?:2006/)?main", "p", "", "pPr br endParaRPr", "r", "t")
_SHEET = Layout(
    "spreadsheetml/(?:2006/)?main",
    "si is text",
    "",
    "rPh phoneticPr",
    "r",
    't xml:space="preserve"',
)
_ODF = Layout("opendocument:xmlns:text:1.0", "p h", "span a meta ruby ruby-base", "tab line-break")
_CONTENTS = Layout("daisy.org/z3986/2005/ncx/", "text")
_METADATA = Layout("purl.org/dc/elements/1.1/", "title description")

# By format: its main member, and the layout of members by patterns of their names.
_OPEN_DOCUMENT = "content.xml", {r"(content|styles)\.xml": _ODF}
_FORMATS: dict[str, tuple[str, Mapping[str, Layout | None]]] = {
    "docx": ("word/document.xml", {
        r"word/(document|(header|footer)\d*|footnotes|endnotes|comments)\.xml": _WORD,
        r"word/(charts|diagrams)/[^/]+\.xml": _DRAWING,
    }),
    "pptx": ("ppt/presentation.xml", {
        r"ppt/(slides|notesSlides|charts|diagrams|comments)/[^/]+\.xml": _DRAWING,
    }),
    "xlsx": ("xl/workbook.xml", {
        r"xl/(sharedStrings|comments\d*|(worksheets|comments)/[^/]+)\.xml": _SHEET,
        r"xl/(drawings|charts|diagrams)/[^/]+\.xml": _DRAWING,
    }),
    **dict.fromkeys(("odt", "ods", "odp"), _OPEN_DOCUMENT),
    "epub": ("META-INF/container.xml", {
        r".+\.(xhtml|html?)": None, r".+\.ncx": _CONTENTS, r".+\.opf": _METADATA,
    }),
}  # fmt: skip

_MAX_BYTES = 1 << 29  # of all members, uncompressed
_MAX_TEXT = 1 << 26  # of a member with text: its tags take many times as much memory
_ENCRYPTED = b"\xd0\xcf\x11\xe0"  # a container of Office 97, and of all encrypted documents
_DAMAGE = BadZipFile, EOFError, OSError, RuntimeError, ValueError, struct.error, zlib.error
_COLUMN = re.compile(r'<[\w:]*tableColumn [^>]*\bname="([^"]*)"')
_LANGUAGE = re.compile(r"(<dc:language\b[^>]*>)[^<]*")  # of an e-book
_find_in_words = spans.spans_finder(
    breaks=spans.CONTROL, free=[r"_x[0-9A-Fa-f]{4}_", *ADDRESSES, *TEMPLATES]
)


def translate_office(format: str, data: bytes, name: str, translate: Translate) -> bytes:
    """Translate a document of zipped XML; ``format`` is one of the archives of nmt_cli.formats."""
    main, layouts = _FORMATS[format]
    members, comment = _members(data, name, format)
    if not any(member.filename == main for member, _ in members):
        raise InputError(f"{name}: is not {format}: has no {main}", "check the suffix")
    parts, kept, output = dict[int, Part](), set[str](), BytesIO()
    for member, content in members:
        # Excel repairs tables whose column names differ from the cells of their header.
        if re.fullmatch(r"xl/tables/[^/]+\.xml", member.filename):
            kept.update(map(unescape, _COLUMN.findall(_text(content, name, _SHEET))))
    segments = list[Segment]()
    for number, (member, content) in enumerate(members):
        path = member.filename
        pattern = next((pattern for pattern in layouts if re.fullmatch(pattern, path)), None)
        if pattern is None:
            continue
        text = _text(content, f"{name}, {path}", layout := layouts[pattern])
        if layout:
            parts[number] = part = Part(text, layout, kept)
            segments += [
                paragraph.inline.segment(_find_in_words, f"{path}, paragraph {count}")
                for count, paragraph in enumerate(part.paragraphs, 1)
            ]
        else:
            text = translate_document("html", text, f"{name}, {path}", translate)
            members[number] = member, text.encode()
    results = iter(translate_segments(segments, translate))
    for number, part in parts.items():
        text = part.translated(results)
        if language := translate.languages[1].replace("_", "-"):
            text = _LANGUAGE.sub(rf"\g<1>{language}", text, count=1)
        members[number] = members[number][0], text.encode()
    with ZipFile(output, "w") as archive:
        archive.comment = comment
        for member, content in members:
            archive.writestr(member, content)
    return output.getvalue()


def _members(data: bytes, name: str, format: str) -> tuple[list[tuple[ZipInfo, bytes]], bytes]:
    """Return the members of an archive, with their content, and its comment."""
    if data.startswith(_ENCRYPTED):
        hint = f"save it as {format} without a password"
        raise InputError(f"{name}: is encrypted, or a document of Office 97", hint)
    try:
        with ZipFile(BytesIO(data)) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
                limit = f"{_MAX_BYTES >> 20:,} MiB"
                raise InputError(f"{name}: has more than {limit} uncompressed", "split it")
            members = [(member, archive.read(member)) for member in archive.infolist()]
            return members, archive.comment
    except _DAMAGE as error:
        reason = f"{name}: cannot be read as a zip archive ({error or 'unexpected end'})"
        hint = f"the file is damaged or encrypted, or not {format}"
        raise InputError(reason, hint) from None


def _text(data: bytes, where: str, layout: Layout | None) -> str:
    """Return the text of a member, which must be well-formed, except in EPUB's pages."""
    try:
        text = data.decode()
        if layout:
            expat.ParserCreate().Parse(data, True)
    except (UnicodeDecodeError, expat.ExpatError) as error:
        raise InputError(f"{where}: is damaged or encrypted ({error})") from None
    is_numbers = "/worksheets/" in where and "is>" not in text
    if len(text) > _MAX_TEXT and not is_numbers:
        raise InputError(f"{where}: has more than {_MAX_TEXT >> 20} MiB of text", "split it")
    return text
