"""Documents: sentences with emphasis in each format, which an independent reader reads again."""

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape, unescape
from io import BytesIO
from textwrap import fill
from xml.etree import ElementTree
from zipfile import ZIP_STORED, ZipFile

import pysubs2
import webvtt
import yaml
from docx import Document
from docx.text.hyperlink import Hyperlink
from openpyxl import Workbook, load_workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from pptx import Presentation

from benchmarks.kept.cases import DIRECTIONS, Case, family
from benchmarks.kept.words import sentences

# A text as pairs of words and whether they are bold.
Text = list[tuple[str, bool]]


@dataclass(frozen=True)
class Format:
    """How texts become a document, and how another program reads them."""

    write: Callable[[list[Text]], str | bytes]
    read: Callable[[bytes], list[Text]]


def _tagged(text: Text, start: str = "<b>", end: str = "</b>", clean: bool = True) -> str:
    shown = ((escape(words) if clean else words, bold) for words, bold in text)
    return "".join(f"{start}{words}{end}" if bold else words for words, bold in shown)


def _untagged(text: str, start: str = "<b>", end: str = "</b>") -> Text:
    pattern = f"({re.escape(start)}.*?{re.escape(end)})"
    parts = re.split(pattern, text, flags=re.DOTALL)
    return [
        (unescape(part.removeprefix(start).removesuffix(end)), part.startswith(start))
        for part in parts
        if part
    ]


def _element(element: ElementTree.Element) -> Text:
    """A text of XML: its elements are bold, but not what marks the quality of XLIFF."""
    text = [(element.text or "", False)]
    for child in element:
        inner = _element(child)
        is_bold = not child.tag.endswith("}mrk")
        text += [(words, is_bold or bold) for words, bold in inner]
        text.append((child.tail or "", False))
    return [pair for pair in text if pair[0]]


def _elements(data: bytes, name: str) -> list[Text]:
    root = ElementTree.fromstring(data)
    return [_element(element) for element in root.iter() if element.tag.endswith(f"}}{name}")]


def _write_json(texts: list[Text]) -> str:
    values = [_tagged(text) for text in texts]
    document = {"a": {"first": values[0], "n": 3, "more": [{"text": text} for text in values[1:]]}}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _read_json(data: bytes) -> list[Text]:
    document = json.loads(data)["a"]
    return list(map(_untagged, [document["first"], *(row["text"] for row in document["more"])]))


def _write_yaml(texts: list[Text]) -> str:
    values = [_tagged(text) for text in texts]
    folded = values[1].replace(" ", "\n    ", 1)
    lines = [f"en:  # a comment\n  one: {values[0]}\n  two: >-\n    {folded}\n  list:\n"]
    return "".join([*lines, *(f"    - {json.dumps(text)}\n" for text in values[2:])])


def _read_yaml(data: bytes) -> list[Text]:
    document = yaml.safe_load(data)["en"]
    return list(map(_untagged, [document["one"], document["two"], *document["list"]]))


def _write_properties(texts: list[Text]) -> str:
    lines = (f"key.{number} = {_tagged(text)}\n" for number, text in enumerate(texts))
    return "# A comment\n" + "".join(lines)


def _read_properties(data: bytes) -> list[Text]:
    lines = re.sub(r"\\\n\s*", "", data.decode()).splitlines()[1:]
    text = "\n".join(line.partition(" = ")[2] for line in lines)
    text = re.sub(r"\\u(\w{4})", lambda match: chr(int(match[1], 16)), text)
    return list(map(_untagged, text.splitlines()))


def _write_ios(texts: list[Text]) -> str:
    lines = (f'"key.{number}" = "{_tagged(text)}";\n' for number, text in enumerate(texts))
    return "/* A comment */\n" + "".join(lines)


def _read_ios(data: bytes) -> list[Text]:
    return list(map(_untagged, re.findall(r'" = "((?:[^"\\]|\\.)*)";', data.decode())))


def _write_android(texts: list[Text]) -> str:
    rows = (f'  <string name="s{n}">{_tagged(text)}</string>\n' for n, text in enumerate(texts))
    return f"<resources>\n{''.join(rows)}</resources>\n"


def _read_android(data: bytes) -> list[Text]:
    return [_element(element) for element in ElementTree.fromstring(data)]


def _sources(texts: list[Text], tag: str, name: str) -> str:
    """Elements of XLIFF with sources, whose bold words are in a tag."""
    sources = (_tagged(text, f'<{tag} id="1">', f"</{tag}>") for text in texts)
    return "".join(
        f'<{name} id="{number}"><source>{source}</source></{name}>'
        for number, source in enumerate(sources)
    )


def _write_xliff(texts: list[Text]) -> str:
    units = _sources(texts, "g", "trans-unit")
    return (
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" '
        f'source-language="pt" datatype="html"><body>{units}</body></file></xliff>\n'
    )


def _write_xliff2(texts: list[Text]) -> str:
    segments = _sources(texts, "pc", "segment")
    return (
        '<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="pt">'
        f'<file id="a"><unit id="1">{segments}</unit></file></xliff>\n'
    )


def _write_webvtt(texts: list[Text]) -> str:
    cues = (f"00:{n:02}.000 --> 00:{n:02}.900\n{_tagged(text)}\n" for n, text in enumerate(texts))
    return "\n".join(["WEBVTT\n", *cues])


def _read_webvtt(data: bytes) -> list[Text]:
    return [_untagged(caption.raw_text) for caption in webvtt.from_buffer(BytesIO(data))]


def _write_ass(texts: list[Text]) -> str:
    film = pysubs2.SSAFile()
    for number, text in enumerate(texts):
        words = _tagged(text, r"{\b1}", r"{\b0}", clean=False)
        film.append(pysubs2.SSAEvent(1000 * number, 1000 * number + 900, words))
    return film.to_string("ass")


def _read_ass(data: bytes) -> list[Text]:
    events = pysubs2.SSAFile.from_string(data.decode())
    return [_untagged(event.text, r"{\b1}", r"{\b0}") for event in events]


def _write_paragraphs(texts: list[Text]) -> str:
    plain = ["".join(words for words, _ in text) for text in texts]
    return "\n\n".join(fill(" ".join(plain[start:]), 60) for start in (0, 1)) + "\n"


def _read_paragraphs(data: bytes) -> list[Text]:
    return [[(" ".join(part.split()), False)] for part in data.decode().split("\n\n")]


def _write_docx(texts: list[Text]) -> bytes:
    document, stream = Document(), BytesIO()
    table = document.add_table(1, 1)
    paragraphs = [table.cell(0, 0).paragraphs[0], *(document.add_paragraph() for _ in texts[1:])]
    for paragraph, text in zip(paragraphs, texts, strict=True):
        for words, bold in text:
            # Word splits runs anywhere.
            half = len(words) // 2
            for part in filter(None, (words[:half], words[half:])):
                paragraph.add_run(part).bold = bold or None
    document.save(stream)
    return stream.getvalue()


def _runs(runs: Text) -> Text:
    """Runs with those of the same formatting joined; that of spaces cannot be seen."""
    text: Text = []
    for words, bold in runs:
        if text and (text[-1][1] == bold or not words.strip()):
            text[-1] = text[-1][0] + words, bold
        else:
            text.append((words, bold))
    return text


def _read_docx(data: bytes) -> list[Text]:
    document = Document(BytesIO(data))
    found = [document.tables[0].cell(0, 0).paragraphs[0], *document.paragraphs]
    return [
        _runs([(part.text, isinstance(part, Hyperlink) or bool(part.bold)) for part in content])
        for content in (list(paragraph.iter_inner_content()) for paragraph in found)
        if content
    ]


def _write_pptx(texts: list[Text]) -> bytes:
    presentation, stream = Presentation(), BytesIO()
    for text in texts:
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        for words, bold in text:
            run = slide.shapes.title.text_frame.paragraphs[0].add_run()
            run.text, run.font.bold = words, bold or None
    presentation.save(stream)
    return stream.getvalue()


def _read_pptx(data: bytes) -> list[Text]:
    slides = Presentation(BytesIO(data)).slides
    titles = (slide.shapes.title.text_frame.paragraphs[0] for slide in slides)
    return [_runs([(run.text, bool(run.font.bold)) for run in title.runs]) for title in titles]


def _write_xlsx(texts: list[Text]) -> bytes:
    workbook, stream = Workbook(), BytesIO()
    for row, text in enumerate(texts, start=1):
        blocks = (TextBlock(InlineFont(b=True), words) if bold else words for words, bold in text)
        workbook.active.cell(row, 1).value = CellRichText(*blocks)
        workbook.active.cell(row, 2).value = 7 * row
    workbook.save(stream)
    return stream.getvalue()


def _read_xlsx(data: bytes) -> list[Text]:
    sheet = load_workbook(BytesIO(data), rich_text=True).active
    texts = []
    for row, (cell, number) in enumerate(sheet.iter_rows(), start=1):
        assert number.value == 7 * row
        parts = cell.value if isinstance(cell.value, CellRichText) else [cell.value]
        texts.append(
            _runs(
                [(str(part), isinstance(part, TextBlock) and bool(part.font.b)) for part in parts]
            )
        )
    return texts


def _archive(members: dict[str, str]) -> bytes:
    stream = BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content, ZIP_STORED)
    return stream.getvalue()


_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_EPUB = {
    "META-INF/container.xml": (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">'
        '<rootfiles><rootfile full-path="a.opf" media-type="application/oebps-package+xml"/>'
        "</rootfiles></container>"
    ),
    "a.opf": (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    ),
}


def _write_odt(texts: list[Text]) -> bytes:
    start, end = '<text:span text:style-name="T1">', "</text:span>"
    paragraphs = (f"<text:p>{_tagged(text, start, end)}</text:p>" for text in texts)
    content = (
        f'<office:document-content xmlns:office="{_ODF}office:1.0" xmlns:text="{_ODF}text:1.0" '
        f'xmlns:style="{_ODF}style:1.0" xmlns:fo="{_ODF}xsl-fo-compatible:1.0">'
        '<office:automatic-styles><style:style style:name="T1" style:family="text">'
        '<style:text-properties fo:font-weight="bold"/></style:style></office:automatic-styles>'
        f"<office:body><office:text>{''.join(paragraphs)}</office:text></office:body>"
        "</office:document-content>"
    )
    return _archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content})


def _write_epub(texts: list[Text]) -> bytes:
    body = "".join(f"<p>{_tagged(text)}</p>" for text in texts)
    page = f'<html xmlns="http://www.w3.org/1999/xhtml"><head/><body>{body}</body></html>'
    return _archive({"mimetype": "application/epub+zip", **_EPUB, "a.xhtml": page})


def _member(name: str, element: str) -> Callable[[bytes], list[Text]]:
    return lambda data: _elements(ZipFile(BytesIO(data)).read(name), element)


DOCUMENTS = {
    "json": Format(_write_json, _read_json),
    "yaml": Format(_write_yaml, _read_yaml),
    "properties": Format(_write_properties, _read_properties),
    "ios": Format(_write_ios, _read_ios),
    "android": Format(_write_android, _read_android),
    "xliff": Format(_write_xliff, lambda data: _elements(data, "target")),
    "xliff 2": Format(_write_xliff2, lambda data: _elements(data, "target")),
    "webvtt": Format(_write_webvtt, _read_webvtt),
    "ass": Format(_write_ass, _read_ass),
    "paragraphs": Format(_write_paragraphs, _read_paragraphs),
    "docx": Format(_write_docx, _read_docx),
    "pptx": Format(_write_pptx, _read_pptx),
    "xlsx": Format(_write_xlsx, _read_xlsx),
    "odt": Format(_write_odt, _member("content.xml", "p")),
    "epub": Format(_write_epub, _member("a.xhtml", "p")),
}


def _html(texts: list[Text]) -> str:
    return "".join(f"<p>{_tagged(text)}</p>\n" for text in texts)


@family
def documents(chance: random.Random) -> Iterator[Case]:
    """Sentences with one or two words in bold type, in each format, read by other programs."""
    bold = "<b>{}</b>"
    for direction in DIRECTIONS:
        for name, format in DOCUMENTS.items():
            for marks in ((bold,), (bold, bold), ("{}", bold), (bold, bold)):
                chosen = sentences(direction, 4, chance)
                texts = [_untagged(sentence.marked(*marks)) for sentence in chosen]
                shown = texts
                if name == "paragraphs":
                    texts = [[(str(sentence), False)] for sentence in chosen]
                    shown = [[(" ".join(map(str, chosen[start:])), False)] for start in (0, 1)]
                if name in ("docx", "pptx", "xlsx"):
                    shown = list(map(_runs, texts))
                yield Case(
                    direction,
                    name.split()[0],
                    format.write(texts),
                    tuple(map(str, chosen)),
                    read=lambda data, read=format.read: _html(read(data)),
                    shown=_html(shown),
                )
