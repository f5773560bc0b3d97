"""Glossaries: files, and terms in texts."""

from pathlib import Path

import pytest

from nmt_cli.errors import InputError
from nmt_cli.text.edits import MappedText
from nmt_cli.text.glossary import Glossary, read_glossary

TBX = """<?xml version="1.0"?>
<tbx xmlns="urn:iso:std:iso:30042:ed-2" type="TBX-Basic"><text><body>
<conceptEntry id="1">
  <langSec xml:lang="pt-BR"><termSec><term>caixa</term></termSec></langSec>
  <langSec xml:lang="en"><termSec><term>box</term></termSec></langSec>
</conceptEntry>
<conceptEntry id="2"><langSec xml:lang="de"><termSec><term>Kiste</term></termSec></langSec>
</conceptEntry>
</body></text></tbx>
"""
MARTIF = """<?xml version="1.0" encoding="ISO-8859-1"?>
<martif type="TBX"><text><body><termEntry>
<langSet xml:lang="en"><tig><term>box</term></tig></langSet>
<langSet xml:lang="pt"><ntig><termGrp><term>cora\xe7\xe3o</term></termGrp></ntig></langSet>
</termEntry></body></text></martif>
"""


@pytest.mark.parametrize(
    ("name", "content", "terms"),
    [
        ("a.tsv", "casa\thome\n\n  banco  \tbench \r\n", {"casa": "home", "banco": "bench"}),
        ("a.txt", 'a "b"\tc\n', {'a "b"': "c"}),
        ("a.csv", 'casa,home\n"a, ""b""",c\n', {"casa": "home", 'a, "b"': "c"}),
        ("a.csv", "casa,home,pt,en\nhome,casa,en,pt\n", {"casa": "home"}),
        ("a.csv", "casa,home,PT,EN\nhaus,home,de,en\n", {"casa": "home"}),
        ("a.tsv", "\ufeffcasa\thome\ncasa\thome\n", {"casa": "home"}),
        ("a.tbx", TBX, {"caixa": "box"}),
        ("a.TBX", MARTIF.encode("latin-1"), {"coração": "box"}),
    ],
)
def test_files(tmp_path: Path, name: str, content: str | bytes, terms: dict[str, str]) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert read_glossary(path, ("pt", "en")).terms == terms


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "casa\thome\nbanco\n", "line 2: not a pair of terms; write a term and its "),
        ("a.tsv", "casa\t\n", "line 1: not a pair of terms"),
        ("a.tsv", "a\tb\tc\n", "line 1: not a pair of terms"),
        ("a.csv", "a,b,c\n", "line 1: not a pair of terms"),
        ("a.tsv", "a\tb\nc\td\na\te\n", "line 3: 'a' has another translation in line 1; remove"),
        ("a.tsv", "\n", "has no term; write at least one pair"),
        ("a.csv", "casa,home,de,en\n", "has no term"),
        ("a.csv", "haus,home,de,en\ncasa\n", "line 2: not a pair of terms"),
        ("a.csv", 'a,b\n"c,d\n', "not CSV (unexpected end of data); check its quotation marks"),
        ("a.tbx", "casa\thome\n", "not XML (syntax error"),
        ("a.tbx", TBX.replace('"en"', '"fr"'), "has no term"),
    ],
)
def test_damaged_files(tmp_path: Path, name: str, content: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_glossary(path, ("pt", "en"))
    assert str(path) in str(error.value)
    assert message in str(error.value)


TERMS = Glossary(
    {"casa": "home", "casa nova": "new home", "Brasil": "Brazil", "C++": "C++", "banco": "bench"}
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("A casa é azul.", ["casa"]),
        ("A casa nova e a casa velha.", ["casa nova", "casa"]),
        ("Casa nova, vida nova.", ["casa nova"]),
        ("Bom. Casa é casa.", ["casa", "casa"]),
        ("“Casa!” Foi isso.", ["casa"]),
        ("A Casa Branca", []),  # a name, not at the beginning of a sentence
        ("O casamento, os casas e acasa", []),
        ("O Brasil e o brasil", ["Brasil"]),
        ("A CASA DO BRASIL", ["casa", "Brasil"]),
        ("A CASA do Brasil", ["Brasil"]),
        ("Gosto de C++, não de C.", ["C++"]),
        ("guarda-casa, casa-grande", ["casa", "casa"]),
        ("casa_1 e 1casa", []),
        ("", []),
    ],
)
def test_terms_are_whole_words_as_they_are_written(line: str, found: list[str]) -> None:
    terms = TERMS.found(line)
    assert [term.source for term in terms] == found
    assert [line[term.start : term.end].lower() for term in terms] == [f.lower() for f in found]


@pytest.mark.parametrize(
    ("line", "translation", "is_in"),
    [
        ("a casa", "the home", True),
        ("a casa", "Home is", True),
        ("a casa", "HOME", True),
        ("a casa", "the homes", False),
        ("a casa", "the HOME is", False),
        ("a casa", "homely", False),
        ("o Brasil", "a brazil nut", False),
        ("C++", "in C++.", True),
    ],
)
def test_what_has_a_term(line: str, translation: str, is_in: bool) -> None:
    (term,) = TERMS.found(line)
    assert bool(term.count_in(translation)) is is_in


@pytest.mark.parametrize(
    ("line", "translation", "written"),
    [
        ("A casa é azul.", "home is blue. home!", "Home is blue. Home!"),
        ("Casa é casa.", "A Home is a home.", "A home is a home."),
        ("a casa", "Home", "home"),
    ],
)
def test_only_a_sentence_makes_a_capital(line: str, translation: str, written: str) -> None:
    text = TERMS.found(line)[0].written(MappedText(translation), line[0].isupper())
    assert text.text == written


def test_many_terms_take_no_time_to_find() -> None:
    glossary = Glossary({f"termo {number}": f"term {number}" for number in range(100_000)})
    assert len(glossary.found(" ".join(f"termo {number}" for number in range(2000)))) == 2000
