"""TMX: sources and translations of all formats."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from nmt_cli.formats.placing import Translate
from nmt_cli.formats.tmx import translation_memory
from tests.formats.models import by_text
from tests.harness import nmt

EXPORTS = Path(__file__).parents[2] / "exports"


def units(memory: str) -> list[tuple[str | None, ...]]:
    """Return the languages and texts of each unit."""
    root = ET.fromstring(memory)
    assert root.attrib == {"version": "1.4"}
    head = root.find("header")
    assert head is not None
    assert head.attrib.keys() == {
        "creationtool", "creationtoolversion", "segtype", "o-tmf", "adminlang", "srclang",
        "datatype",
    }  # fmt: skip
    languages, rows = set(), []
    for unit in root.iterfind("body/tu"):
        versions = unit.findall("tuv")
        languages.add(
            tuple(tuv.get("{http://www.w3.org/XML/1998/namespace}lang") for tuv in versions)
        )
        rows.append(tuple(tuv.findtext("seg") for tuv in versions))
    assert languages <= {(head.get("srclang"), "pt-BR")}
    return rows


@pytest.mark.parametrize(
    ("format", "text", "rows"),
    [
        (
            "",
            "\ufeffa < b & c\n\n12\nÀ\nd\x02 e\na < b & c\r\n",
            [("a < b & c", "A < B & C"), ("d e", "D E")],
        ),
        ("html", "<p>a <b>b</b>&nbsp;c</p><p>d</p>", [("a b c", "A B C"), ("d", "D")]),
        ("srt", "1\n00:00:01,000 --> 00:00:02,000\n- a\n- b\nc\n", [("a", "A"), ("b c", "B C")]),
        ("webvtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n{\\an8}a\n", [("a", "A")]),
        ("po", 'msgid "a %s"\nmsgstr ""\n\nmsgid "b"\nmsgstr "c"\n', [("a %s", "A %s")]),
        ("html", "", []),
    ],
)
def test_units(format: str, text: str, rows: list[tuple[str, str]]) -> None:
    model = by_text(lambda line: line.upper().replace("%S", "%s"))
    translate = Translate(model.lines, languages=("en", "pt_BR"))
    memory = translation_memory(format, text.encode(), "a", translate).decode()
    assert units(memory) == rows


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Bom dia!\n\nObrigado.\n")
    (tmp_path / "a.html").write_text("<p>Bom <b>dia</b>!</p>")
    for name, expected in (("a.txt", ["Bom dia!", "Obrigado."]), ("a.html", ["Bom dia!"])):
        nmt("translate", "-m", EXPORTS / "pt-en", name, "-o", f"{name}.tmx", cwd=tmp_path)
        root = ET.parse(tmp_path / f"{name}.tmx")
        assert [seg.text for seg in root.iterfind(".//tuv[1]/seg")] == expected
        assert "Good morning!" in [seg.text for seg in root.iterfind(".//tuv[2]/seg")]
