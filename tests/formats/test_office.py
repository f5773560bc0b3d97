"""Office documents and e-books: other readers find the translation, and nothing else differs."""

import random
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest
from docx import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from openpyxl import Workbook, load_workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.worksheet.table import Table
from pptx import Presentation
from pptx.util import Cm

from nmt_cli.errors import InputError
from nmt_cli.formats import office, translate_file
from nmt_cli.formats.placing import Translate
from tests.formats.models import by_text, hostile, recorded, shuffled, unchanged, upper

FORMULA = "=SUM(A1:A2)"
W = nsdecls("w")


def members(data: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {info.filename: archive.read(info) for info in archive.infolist()}


def archive(contents: Mapping[str, str]) -> bytes:
    """Return a zip archive of members, the first of which is stored."""
    stream = BytesIO()
    with ZipFile(stream, "w") as target:
        for number, (name, content) in enumerate(contents.items()):
            target.writestr(name, content, ZIP_DEFLATED if number else ZIP_STORED)
    return stream.getvalue()


def translated(format: str, data: bytes, changed: set[str], model: Translate = upper) -> bytes:
    """Translate a document, and check that only these members change."""
    assert members(translate_file(format, data, "a", unchanged)) == members(data)
    new = translate_file(format, data, "a", model)
    with ZipFile(BytesIO(data)) as before, ZipFile(BytesIO(new)) as after:
        assert [
            (info.filename, info.compress_type, info.date_time) for info in before.infolist()
        ] == [(info.filename, info.compress_type, info.date_time) for info in after.infolist()]
    old, result = members(data), members(new)
    assert {name for name in old if old[name] != result[name]} == changed
    return new


def texts(format: str, data: bytes) -> list[str]:
    """Return what the model reads of a document, with a bar for each private character."""
    calls, translate = recorded(unchanged)
    translate_file(format, data, "a", translate)
    return [re.sub("[\U00100000-\U0010fffd]", "¦", text) for text in calls[0]]


def run(words: str, properties: str = "") -> str:
    properties = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r w:rsidR="0A">{properties}<w:t xml:space="preserve">{words}</w:t></w:r>'


def field(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def docx(*paragraphs: str) -> bytes:
    """Write a document with paragraphs of XML."""
    document, stream = Document(), BytesIO()
    body = document.element.body
    for paragraph in paragraphs:
        body.insert(len(body) - 1, parse_xml(f"<w:p {W}>{paragraph}</w:p>"))
    document.save(stream)
    return stream.getvalue()


def body(data: bytes) -> str:
    text = members(data)["word/document.xml"].decode()
    return text[text.index("<w:p>") : text.index("<w:sectPr")]


def test_docx_keeps_styles_runs_tables_and_headers() -> None:
    document, stream = Document(), BytesIO()
    document.add_heading("Um título", 2)
    paragraph = document.add_paragraph("O gato ", "List Bullet")
    paragraph.add_run("preto").bold = True
    paragraph.add_run(" dorme na ")
    paragraph.add_run("casa").italic = True
    paragraph.add_run(".")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "uma célula", "42"
    document.sections[0].header.paragraphs[0].text = "o cabeçalho"
    document.save(stream)
    assert texts("docx", stream.getvalue()) == [
        "Um título",
        "O gato ¦preto¦ dorme na ¦casa¦.",
        "uma célula",
        "o cabeçalho",
    ]
    new = translated("docx", stream.getvalue(), {"word/document.xml", "word/header1.xml"})
    result = Document(BytesIO(new))
    assert [(p.style.name, p.text) for p in result.paragraphs if p.style] == [
        ("Heading 2", "UM TÍTULO"),
        ("List Bullet", "O GATO PRETO DORME NA CASA."),
    ]
    assert [(r.text, r.bold, r.italic) for r in result.paragraphs[1].runs] == [
        ("O GATO ", None, None),
        ("PRETO", True, None),
        (" DORME NA ", None, None),
        ("CASA", None, True),
        (".", None, None),
    ]
    assert [cell.text for cell in result.tables[0].rows[0].cells] == ["UMA CÉLULA", "42"]
    assert result.sections[0].header.paragraphs[0].text == "O CABEÇALHO"


LANGUAGE = '<w:lang w:val="pt-BR"/>'
NOTE = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="2"/></w:r>'
PROOF = '<w:proofErr w:type="spellStart"/>'


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        (run("Ele mo") + run("ra em R", LANGUAGE) + PROOF + run("ecife"), "Ele mora em R¦ecife"),
        (run("Recife") + NOTE + run(" fica"), "Recife¦ fica"),
        (run("a H") + run("2", '<w:vertAlign w:val="subscript"/>') + run("O"), "a ¦H2O¦"),
        (run("10 m") + run("2", '<w:vertAlign w:val="superscript"/>') + run(" é"), "10 ¦m2¦ é"),
        (run("um ", "<w:b/>") + run("gato "), "¦um ¦gato"),
        (run("um") + run(" ", "<w:b/>") + run("gato"), "um gato"),
        (run("o ") + run("gato", "<w:b/>") + run(" ") + run("branco", "<w:b/>") + run(" vê"),
         "o ¦gato branco¦ vê"),
        (f"<w:hyperlink>{run('Veja')}</w:hyperlink>" + run(" a&amp;b"), "¦Veja¦ a&b"),
        (f"<w:ins>{run('a ')}</w:ins><w:del><w:r><w:delText>b</w:delText></w:r></w:del>" + run("c"),
         "¦a ¦¦c"),
        (run("um") + "<w:r><w:tab/><w:t>dois</w:t><w:br/></w:r>" + run("três"), "um/dois/três"),
        (field("begin") + "<w:r><w:instrText>REF a</w:instrText></w:r>" + field("separate")
         + run("Figura 3") + field("end") + run(" mostra"), "¦Figura 3¦ mostra"),
        (run("a ") + field("begin") + "<w:r><w:instrText>XE</w:instrText></w:r>" + field("end")
         + run("b"), "a ¦b"),
        (field("begin") + "<w:r><w:instrText>TOC</w:instrText></w:r>" + field("separate")
         + run("Um"), "Um"),
        ("<w:sdt><w:sdtPr><w:alias w:val='x'/></w:sdtPr><w:sdtContent>" + run("um")
         + "</w:sdtContent></w:sdt>" + run(" dois"), "¦¦um¦¦ dois"),
        (run("a ") + '<m:oMath xmlns:m="urn:m"><m:r><m:t>E=1</m:t></m:r></m:oMath>' + run(" b"),
         "a ¦ b"),
    ],
)  # fmt: skip
def test_runs_are_one_text(paragraph: str, expected: str) -> None:
    data = docx(paragraph)
    assert texts("docx", data) == expected.split("/")
    old, new = body(data), body(translated("docx", data, {"word/document.xml"}))
    for name in ("tab", "br", "instrText", "fldChar", "hyperlink", "ins", "sdtPr",
                 "footnoteReference", "delText", "proofErr", "oMath", "vertAlign"):  # fmt: skip
        tags = [len(re.findall(rf"<[wm]:{name}\b", text)) for text in (old, new)]
        assert tags[0] == tags[1], name
    shown = [
        "".join(ElementTree.fromstring(f"<a {W}>{text}</a>").itertext()) for text in (old, new)
    ]
    assert shown[1].upper() == shown[0].upper()


def test_content_of_runs_is_valid() -> None:
    data = docx('<w:pPr><w:pStyle w:val="a"/></w:pPr>' + run("Um ", "<w:b/>") + NOTE + run("gato"))
    assert body(translated("docx", data, {"word/document.xml"})) == (
        '<w:p><w:pPr><w:pStyle w:val="a"/></w:pPr>'
        '<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">UM </w:t></w:r>'
        f'{NOTE}<w:r><w:t xml:space="preserve">GATO</w:t></w:r></w:p>'
    )


def test_text_boxes_are_texts_in_the_paragraph_around_them() -> None:
    box = f"<w:txbxContent><w:p>{run('a caixa')}</w:p></w:txbxContent>"
    data = docx(run("Antes ") + f"<w:r><w:pict>{box}</w:pict></w:r>" + run("depois"))
    assert texts("docx", data) == ["a caixa", "Antes ¦depois"]
    new = body(translated("docx", data, {"word/document.xml"}))
    assert re.sub(r"<[^>]*>", "", new) == "ANTES A CAIXADEPOIS"
    only_box = by_text(lambda text: text.upper() if text == "a caixa" else text)
    new = body(translated("docx", data, {"word/document.xml"}, only_box))
    assert re.sub(r"<[^>]*>", "", new) == "Antes A CAIXAdepois"


def test_pptx_keeps_runs_notes_tables_and_fields() -> None:
    presentation, stream = Presentation(), BytesIO()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    assert slide.shapes.title
    slide.shapes.title.text = "Um título"
    frame = slide.placeholders[1].text_frame  # type: ignore[attr-defined]
    frame.text = "o gato "
    link = frame.paragraphs[0].add_run()
    link.text, link.hyperlink.address = "preto", "https://example.org/a"
    frame.add_paragraph().text = "uma linha\voutra"
    table = slide.shapes.add_table(1, 1, Cm(1), Cm(1), Cm(5), Cm(5)).table
    table.cell(0, 0).text = "a célula"
    assert slide.notes_slide.notes_text_frame
    slide.notes_slide.notes_text_frame.text = "a nota"
    presentation.save(stream)
    changed = {"ppt/slides/slide1.xml", "ppt/notesSlides/notesSlide1.xml"}
    new = translated("pptx", stream.getvalue(), changed)
    (slide,) = Presentation(BytesIO(new)).slides
    assert slide.shapes.title
    assert slide.shapes.title.text == "UM TÍTULO"
    frame = slide.placeholders[1].text_frame  # type: ignore[attr-defined]
    assert [(r.text, r.hyperlink.address) for r in frame.paragraphs[0].runs] == [
        ("O GATO ", None),
        ("PRETO", "https://example.org/a"),
    ]
    assert frame.text == "O GATO PRETO\nUMA LINHA\vOUTRA"
    assert slide.shapes[2].table.cell(0, 0).text == "A CÉLULA"  # type: ignore[attr-defined]
    assert slide.notes_slide.notes_text_frame
    assert slide.notes_slide.notes_text_frame.text == "A NOTA"


def test_xlsx_keeps_numbers_formulas_and_rich_text() -> None:
    book, stream = Workbook(), BytesIO()
    sheet = book.active
    assert sheet
    sheet.title = "folha um"
    bold = TextBlock(InlineFont(b=True), "muito")
    rows = [["nome", "valor"], ["um gato", 3], ["duas\nlinhas", FORMULA],
            [CellRichText("isso é ", bold, " bom"), 1.5], ["a&b <c> _x000D_", True]]  # fmt: skip
    for row in rows:
        sheet.append(row)
    sheet.add_table(Table(displayName="T", ref="A1:B5"))
    book.save(stream)
    assert texts("xlsx", stream.getvalue()) == [
        "um gato", "duas", "linhas", "isso é ¦muito¦ bom", "a&b <c> _x000D_",
    ]  # fmt: skip
    new = translated("xlsx", stream.getvalue(), {"xl/worksheets/sheet1.xml"})
    result = load_workbook(BytesIO(new), rich_text=True)["folha um"]
    assert [[cell.value for cell in row] for row in result.rows] == [
        ["nome", "valor"],  # the table has these names too
        ["UM GATO", 3],
        ["DUAS\nLINHAS", FORMULA],
        [CellRichText("ISSO É ", TextBlock(InlineFont(b=True), "MUITO"), " BOM"), 1.5],
        ["A&B <C> _x000D_", True],
    ]


def test_all_parts_with_text_are_translated() -> None:
    namespaces = {
        "docx": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "pptx": "http://purl.oclc.org/ooxml/drawingml/main",
    }
    parts = {
        "docx": "document footer2 footnotes endnotes comments",
        "pptx": "presentation slides/slide2 notesSlides/notesSlide1 charts/chart1 diagrams/data1",
    }
    for format, names in parts.items():
        folder = {"docx": "word", "pptx": "ppt"}[format]
        part = f'<a xmlns:x="{namespaces[format]}"><x:p><x:r><x:t>ola</x:t></x:r></x:p></a>'
        data = {f"{folder}/{name}.xml": part for name in names.split()}
        changed = data.keys() - {"ppt/presentation.xml"}
        translated(format, archive(data | {f"{folder}/styles.xml": part}), set(changed))


SHEET = (
    '<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:row>'
    '<x:c t="inlineStr"><x:is><x:t>um gato</x:t></x:is></x:c><x:c t="str"><x:f>A1</x:f><x:v>ola'
    "</x:v></x:c></x:row></x:worksheet>"
)


def test_inline_strings_and_other_prefixes() -> None:
    shared = SHEET.replace("is>", "si>")
    data = {"xl/worksheets/sheet1.xml": SHEET, "xl/sharedStrings.xml": shared}
    new = members(translated("xlsx", archive({"xl/workbook.xml": "<a/>"} | data), set(data)))
    assert new["xl/sharedStrings.xml"].decode() == shared.replace(
        "<x:t>um gato", '<x:t xml:space="preserve">UM GATO'
    )
    assert new["xl/worksheets/sheet1.xml"].decode() == SHEET.replace(
        "<x:t>um gato", '<x:t xml:space="preserve">UM GATO'
    )


NAMES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in [("office", "office"), ("text", "text"), ("style", "style"),
                         ("table", "table")]
)  # fmt: skip
STYLES = (
    '<style:style style:name="T1" style:family="text"><style:text-properties officeooo:rsid="0a"/>'
    '</style:style><style:style style:name="T2" style:family="text"><style:text-properties '
    'style:text-position="sub 58%"/></style:style>'
)
ODT = f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document-content {NAMES} xmlns:officeooo="urn:x">{STYLES}
<text:tracked-changes><text:p>velho</text:p></text:tracked-changes>
<text:h>Um título</text:h>
<text:p>O ga<text:span text:style-name="T1">to</text:span>
<text:span text:style-name="B">preto</text:span><text:note>
<text:note-citation>1</text:note-citation><text:note-body><text:p>a nota</text:p>
</text:note-body></text:note> bebe
H<text:span text:style-name="T2">2</text:span>O.<text:line-break/>A
<text:a href="b">linha</text:a><text:s text:c="2"/>dois</text:p>
<table:table-cell office:value-type="string"><text:p>ola</text:p></table:table-cell>
<table:table-cell office:value-type="date"><text:p>3 de maio</text:p></table:table-cell>
</office:document-content>"""


def test_odt_keeps_notes_spans_and_spaces() -> None:
    data = archive({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": ODT})
    assert texts("odt", data) == [
        "Um título", "a nota", "O gato ¦preto¦¦ bebe ¦H2O¦.", "A ¦linha¦¦dois", "ola",
    ]  # fmt: skip
    content = members(translated("odt", data, {"content.xml"}))["content.xml"].decode()
    old, new = ElementTree.fromstring(ODT), ElementTree.fromstring(content)
    tags = [[element.tag.split("}")[-1] for element in tree.iter()] for tree in (old, new)]
    assert sorted(tags[0]) == sorted([*tags[1], "span"])  # the one without effect
    words = re.sub(r"\s+", " ", "".join(old.itertext()))
    assert re.sub(r"\s+", " ", "".join(new.itertext())) == words.upper().replace(
        "VELHO", "velho"
    ).replace("3 DE MAIO", "3 de maio")


EPUB = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": "<container/>",
    "a/b.opf": '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>um livro</dc:title>'
    "<dc:creator>Ana</dc:creator><dc:language>pt</dc:language></package>",
    "a/toc.ncx": '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navLabel><text>um</text>'
    '</navLabel><content src="a.xhtml#um"/></ncx>',
    "a/a.xhtml": '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><p>um&#160;gato'
    '<br/><a href="#b">dois</a></p></html>',
    "a/style.css": "p { color: red }",
}


def test_epub() -> None:
    new = translated("epub", archive(EPUB), {"a/b.opf", "a/toc.ncx", "a/a.xhtml"})
    assert {name: content.decode() for name, content in members(new).items()} == EPUB | {
        "a/b.opf": EPUB["a/b.opf"].replace("um livro", "UM LIVRO"),
        "a/toc.ncx": EPUB["a/toc.ncx"].replace(">um<", ">UM<"),
        "a/a.xhtml": EPUB["a/a.xhtml"].replace("um&#160;gato", "UM&#160;GATO")
        .replace("dois", "DOIS"),
    }  # fmt: skip
    assert new[30:58] == b"mimetypeapplication/epub+zip"
    model = Translate(upper.lines, languages=("pt", "en"))
    package = members(translate_file("epub", archive(EPUB), "a", model))["a/b.opf"].decode()
    assert "<dc:language>en<" in package


@pytest.mark.parametrize("seed", range(20))
def test_documents_survive_hostile_models(seed: int) -> None:
    link = f"<w:hyperlink>{run('um ', '<w:b/>')}{run('dois')}</w:hyperlink>"
    data = docx(
        run("Antes ") + NOTE + link + run(" e H") + run("2", "<w:i/>") + run(" depois &lt;")
    )
    document = archive({"mimetype": "a", "content.xml": ODT})
    for format, content, name in (
        ("docx", data, "word/document.xml"),
        ("odt", document, "content.xml"),
    ):
        new = translate_file(format, content, "a", hostile(seed))
        sides = [ElementTree.fromstring(members(side)[name]) for side in (content, new)]
        for tag in (
            "hyperlink",
            "footnoteReference",
            "p",
            "a",
            "note",
            "line-break",
            "s",
            "sectPr",
        ):
            counts = [sum(e.tag.endswith(f"}}{tag}") for e in side.iter()) for side in sides]
            assert counts[0] == counts[1]
    for element in sides[1].iter():
        assert not element.tag.endswith("}p") or "".join(element.itertext()).strip()


def runs(chance: random.Random, depth: int = 0) -> str:
    """Return the content of a paragraph of Word at random."""
    parts = []
    for _ in range(chance.randrange(1, 6)):
        words = chance.choice(["um gato ", "azul", "de ", "2", " ", "H", ". ", "[1]"])
        script = '<w:vertAlign w:val="superscript"/>'
        parts.append(run(words, chance.choice(["", "<w:b/>", "<w:i/>", script])))
        parts.append(chance.choice([
            "", "", NOTE, "<w:r><w:tab/></w:r>", PROOF, f"<w:ins>{run('novo ')}</w:ins>",
            f"<w:r><w:pict><w:txbxContent><w:p>{run('caixa')}</w:p></w:txbxContent></w:pict></w:r>",
        ]))  # fmt: skip
        if depth < 3 and chance.random() < 0.2:
            parts.append(f"<w:hyperlink>{runs(chance, depth + 1)}</w:hyperlink>")
        if depth < 3 and chance.random() < 0.2:
            code = "<w:r><w:instrText>X</w:instrText></w:r>"
            text = runs(chance, depth + 1)
            parts += [field("begin"), code, field("separate"), text, field("end")]
    return "".join(parts)


def test_word_structure_survives_any_alignment() -> None:
    shape = re.compile(r"\{[^}]*\}(?!r$|rPr$|t$|b$|i$|vertAlign$)(.*)")
    for seed in range(150):
        body = f"<w:p>{runs(random.Random(seed))}</w:p>"
        source = f"<w:document {W}>{body}</w:document>"
        data = archive({"word/document.xml": source})
        new = members(translate_file("docx", data, "a", shuffled(seed)))["word/document.xml"]
        trees = [ElementTree.fromstring(source), ElementTree.fromstring(new.decode())]
        tags = [Counter(" ".join(e.tag for e in tree.iter()).split()) for tree in trees]
        for name in tags[0].keys() | tags[1].keys():
            assert not shape.fullmatch(name) or tags[0][name] == tags[1][name], (seed, name)
        for parent in trees[1].iter():
            inside = parent.tag.endswith("}r")
            for child in parent:
                assert child.tag.endswith("}t") <= inside
                assert child.tag.endswith("}r") <= (not inside)
        opened: list[str] = []
        for kind in re.findall('fldCharType="(.)', new.decode()):
            expected = {"b": None, "s": "b", "e": "s"}[kind]
            assert expected is None or opened.pop() == expected
            opened += kind if kind != "e" else []


def test_properties_of_paragraphs_stay_at_their_edges() -> None:
    parts = [
        '<a:r><a:rPr b="1"/><a:t>um gato </a:t></a:r>',
        '<a:r><a:rPr lang="pt"/><a:t>azul dois</a:t></a:r>',
        '<a:fld id="1" type="slidenum"><a:t>3</a:t></a:fld>',
        "<a:br/>",
    ]
    start, end = '<a:p><a:pPr lvl="1"/>', '<a:endParaRPr lang="pt"/></a:p>'
    for seed in range(100):
        content = "".join(random.Random(seed).choices(parts, k=4))
        slide = f"<x {nsdecls('a')}>{start}{content}{end}</x>"
        data = archive({"ppt/presentation.xml": "<a/>", "ppt/slides/slide1.xml": slide})
        for model in (shuffled(seed), hostile(seed)):
            new = members(translate_file("pptx", data, "a", model))["ppt/slides/slide1.xml"]
            assert start in new.decode()
            assert end in new.decode()


@pytest.mark.parametrize(
    ("format", "data", "message"),
    [
        ("docx", b"", "cannot be read as a zip archive"),
        ("docx", b"um texto", "cannot be read as a zip archive"),
        ("docx", docx(run("a"))[:-400], "cannot be read as a zip archive"),
        ("docx", docx(run("a")).replace(b"word/document.xml", b"word/d_cument.xml"),
         "has no word/document.xml"),
        ("xlsx", docx(run("a")), "is not xlsx: has no xl/workbook.xml"),
        ("odt", b"\xd0\xcf\x11\xe0 and so on", "is encrypted, or a document of Office 97"),
        ("odt", archive({"content.xml": "<a><b></a>"}), "content.xml: is damaged or encrypted"),
        ("odt", archive({"content.xml": "\x03\x01"}), "content.xml: is damaged or encrypted"),
    ],
)  # fmt: skip
def test_other_files_are_errors_of_one_line(format: str, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        translate_file(format, data, "a.b", upper)
    assert str(caught.value).startswith("a.b")
    assert "\n" not in str(caught.value)


def test_damaged_data_is_an_error() -> None:
    data = bytearray(docx(run("um gato" * 99)))
    start = data.index(b"word/document.xml")
    data[start + 60 : start + 90] = bytes(30)
    with pytest.raises(InputError, match="cannot be read"):
        translate_file("docx", bytes(data), "a", upper)


def test_large_archives_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "_MAX_BYTES", 1 << 20)
    data = archive({"content.xml": "<a/>", "b": " " * (1 << 20)})
    assert len(data) < 10_000
    with pytest.raises(InputError, match="more than 1 MiB"):
        translate_file("odt", data, "a", upper)
    monkeypatch.undo()
    monkeypatch.setattr(office, "_MAX_TEXT", 1 << 20)
    data = archive({"content.xml": f"<a>{' ' * (1 << 20)}</a>"})
    with pytest.raises(InputError, match=r"a, content.xml: has more than 1 MiB of text"):
        translate_file("odt", data, "a", upper)


def test_any_damage_is_an_input_error() -> None:
    data = archive(EPUB)
    for seed in range(300):
        chance = random.Random(seed)
        damaged = bytearray(data)
        for _ in range(chance.randrange(1, 6)):
            index = chance.randrange(len(damaged))
            damaged[index : index + chance.randrange(9)] = bytes(chance.randrange(9))
        with suppress(InputError):
            translate_file("epub", bytes(damaged), "a", upper)
