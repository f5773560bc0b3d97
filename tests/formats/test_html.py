"""HTML and XML: tags and code keep their bytes, and text is translated."""

import random
import re
from collections import Counter
from xml.etree import ElementTree

import pytest

from nmt_cli.formats import translate_document
from nmt_cli.formats.tags import Tags
from tests.formats.models import hostile, recorded, shuffled, unchanged, upper


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Hello <b>big</b> world", "HELLO <b>BIG</b> WORLD"),
        ("one<br/>two <img src='a > b'> three", "ONE<br/>TWO <img src='a > b'> THREE"),
        ("<p class=x>one\n  two<p>three", "<p class=x>ONE TWO<p>THREE"),
        ("<a href=x>one <p>two</p> three</a>", "<a href=x>ONE <p>TWO</p> THREE</a>"),
        ("a <b><i>x</b> y</i> z", "A <b><i>X</b> Y</i> Z"),
        ("&lt;b&gt; AT&T &amp; a < b&nbsp;c", "&lt;B&gt; AT&amp;T &amp; A &lt; B&nbsp;C"),
        ("run <code>npm <i>x</i></code> now", "RUN <code>npm <i>x</i></code> NOW"),
        ("one <code>never ends", "ONE <code>never ends"),
        ("<pre>a <b>\nb</b></pre>c<textarea>d<b></textarea>",
         "<pre>a <b>\nb</b></pre>C<textarea>d<b></textarea>"),
        ("<!DOCTYPE html><script>if (a<b) 'x'</script><title>t</title>",
         "<!DOCTYPE html><script>if (a<b) 'x'</script><title>T</title>"),
        ("<!--[if IE]> a <![endif]-->b <!-- c --> d", "<!--[if IE]> a <![endif]-->B <!-- c --> D"),
        ("<p translate=no>a <b>b</b><p>c", "<p translate=no>a <b>b</b><p>C"),
        ("a <i class='x notranslate y'>b</i> <i class=translate>c</i>",
         "A <i class='x notranslate y'>b</i> <i class=translate>C</i>"),
        ("a <B>b</b> <b >c</B >", "A <B>B</b> <b >C</B >"),
        ("a <b title=\"c > d", "A <b title=\"c > D"),
        ("a </b> b", "A </b> B"),
        ("\U00100000 a<b>b</b>", "\U00100000 A<b>B</b>"),
        ("a<q>b</q>c", "A<q>B</q>C"),
        ("<?php echo 'a>b' ?>c<% d %>", "<?php echo 'a>b' ?>C<% d %>"),
    ],
)  # fmt: skip
def test_html(before: str, after: str) -> None:
    assert translate_document("html", before, "a", upper) == after
    assert translate_document("html", before, "a", unchanged) == before


def texts(format: str, document: str, tags: Tags | None = None) -> list[str]:
    """Return what the model reads first of a document, with a bar for each private character."""
    calls, translate = recorded(unchanged)
    assert translate_document(format, document, "a", translate, tags) == document
    return [re.sub("[\U00100000-\U0010fffd]", "¦", text) for text in calls[0]]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("<nav>\n <a href=/1>Home</a>\n <a href=/2>Log in</a>\n</nav>", "Home/Log in"),
        ("<a>Home</a> | <a>About</a> · <a>Help</a>", "Home/About/Help"),
        ("<a>Home</a><a>About</a>&nbsp;<a>Help</a>", "Home/About/Help"),
        ("<label>Nome</label> <input> <label>Senha</label>", "Nome/Senha"),
        ("Nome: <input> Senha: <input>", "Nome:/Senha:"),
        ("<p><i>azul</i> <i>verde</i> <i class=icon></i></p>", "azul/verde"),
        ("<span><a>Um</a></span> <span>Dois</span>", "Um/Dois"),
        ("<div><span><a>Um</a> <a>Dois</a></span></div>", "Um/Dois"),
        ("<p>Fim<br><a>Um</a> <a>Dois</a></p>", "Fim/Um/Dois"),
        ("<button>Um</button> <button>Dois</button>", "Um/Dois"),
        ("<td><b>Total:</b> 1.234,56 <i class=icon></i></td>", "Total:"),
        ("<p>Diga <b>Hello</b> <i>world</i></p>", "Diga ¦Hello¦ ¦world¦"),
        ("<p>Ver <span><a>Um</a> <a>Dois</a></span> já", "Ver ¦¦Um¦ ¦Dois¦¦ já"),
        ("<p><b>The quick </b><i>brown </i><b>fox</b></p>", "¦The quick ¦¦brown ¦¦fox¦"),
    ],
)
def test_elements_side_by_side_are_separate_texts(document: str, expected: str) -> None:
    assert texts("html", document) == expected.split("/")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("Recife<sup>[1]</sup> fica", "Recife¦ fica"),
        ("Recife<sup><a href=#1>[<i>1</i>]</a></sup> fica", "Recife¦ fica"),
        ("custo<sup>*</sup> é.<a>2</a> ONU<sup>1</sup> 95<sup>(3)</sup>a", "custo¦ é.¦ ONU¦ 95¦a"),
        ("em 1995<sup>2</sup> ele", "em 1995¦ ele"),
        ("um <a id=x></a>dois <i class=icon></i> três <b>!</b>", "um ¦dois ¦ três"),
        ("há <b>3</b> gatos", "há ¦3¦ gatos"),
        ("R$ <b>1.234</b>,56 reais", "R$ ¦1.234¦,56 reais"),
        ("a água (H<sub>2</sub>O)", "a água (¦H2O¦)"),
        ("x<sup>2</sup> = 10<sup>&minus;6</sup> é", "¦x2¦ = ¦10−6¦ é"),
        ("mede 10 m<sup>2</sup>.", "mede 10 ¦m2¦."),
        ("o C<sub>6</sub>H<sub>12</sub>O<sub>6</sub> e Ca<sup>2+</sup>", "o ¦C6H12O6¦ e ¦Ca2+¦"),
        ("o x<sub>i</sub><sup>2</sup>, <sup>14</sup>C", "o ¦xi2¦, ¦14C¦"),
        ("CO<sub>2</sub><sup>[1]</sup>, é<sup>1</sup>, km<sup>2</sup>", "¦CO2¦¦, é¦, ¦km2¦"),
        ("fim.<sup>1</sup> A <sup>2<br></sup>", "fim.¦ A"),
        ("1<sup>st</sup> m<b>an</b>", "1¦st¦ m¦an¦"),
        ("a <sub>nota</sub> <sup>ver</sup>", "a ¦nota¦ ¦ver¦"),
        ("o <i>H<sub>2</sub>O</i> e <b>m</b><sup>2</sup>", "o ¦¦H2O¦¦ e ¦m¦"),
        ("o <sup>a<sup>b</sup></sup> e <sub>H<sub>[1]</sub></sub>", "o ¦¦ab¦¦ e ¦H¦¦"),
    ],
)
def test_marks_and_formulas(document: str, expected: str) -> None:
    assert texts("html", document)[0] == expected


def test_formulas_stay() -> None:
    text = "A <i>H<sub>2</sub>O</i> e 10 m<sup class='a'>2</sup>, C<sub>6</sub>H<sub>12</sub>"
    expected = "A <i>H<sub>2</sub>O</i> E 10 m<sup class='a'>2</sup>, C<sub>6</sub>H<sub>12</sub>"
    assert translate_document("html", text, "a", upper) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<p>a <img alt='b' src=c> <a title=\"d\">e</a>",
         "<p>A <img alt='B' src=c> <a title=\"D\">E</a>"),
        ("<img src=casa title=\"a &quot;b&quot;\"><input value='ok' placeholder='nome'>",
         "<img src=casa title=\"A &quot;B&quot;\"><input value='ok' placeholder='NOME'>"),
        ("<meta name=description content='a'><meta name=viewport content='a'>",
         "<meta name=description content='A'><meta name=viewport content='a'>"),
        ("<textarea placeholder='a b' aria-label='c'>d</textarea>",
         "<textarea placeholder='A B' aria-label='C'>d</textarea>"),
        ("<p translate=no title='a'><img alt='b'></p><pre title='c'><img alt='d'></pre>",
         "<p translate=no title='a'><img alt='b'></p><pre title='c'><img alt='d'></pre>"),
        ("<p data-x=\" title='a' \" data-title='b'>", "<p data-x=\" title='a' \" data-title='b'>"),
        ("<!-- <img alt='a'> --><script>'<img alt=\"b\">'</script>",
         "<!-- <img alt='a'> --><script>'<img alt=\"b\">'</script>"),
    ],
)  # fmt: skip
def test_attributes(before: str, after: str) -> None:
    assert translate_document("html", before, "a", upper) == after


@pytest.mark.parametrize("text", ["um &acme; dois", "&acme;", "um&acme;.", "a &acme.x; &amp; b"])
def test_entities_of_the_document_stay(text: str) -> None:
    for model in (unchanged, upper):
        result = translate_document("html", f"<p>{text}</p>", "a", model)
        assert re.findall("&acme[.x]*;", result) == re.findall("&acme[.x]*;", text)
        assert "&amp;acme" not in result


@pytest.mark.parametrize("name", ["script", "style", "pre", "code", "textarea"])
def test_elements_without_content_end_at_once(name: str) -> None:
    text = f"<p>um</p><{name}/><p>dois <b>&amp;</b></p>"
    assert (
        translate_document("html", text, "a", upper)
        == f"<p>UM</p><{name}/><p>DOIS <b>&amp;</b></p>"
    )


def test_entities_of_xhtml_are_numeric() -> None:
    before = '<html xmlns="http://www.w3.org/1999/xhtml"><script src="a"/><p>a&#160;b</p></html>'
    after = translate_document("html", before, "a", upper)
    assert after == before.replace("a&#160;b", "A&#160;B")


def test_elements_of_xml_beside_text_are_part_of_it() -> None:
    text = '<?xml version="1.0"?><r><b>a</b><b>b <x>c</x> <g/>d</b><link>e</link><Code>f</Code></r>'
    calls, translate = recorded(upper)
    new = translate_document("xml", text, "a", translate, tags=Tags(["Code"]))
    assert new == text.replace(">a<", ">A<").replace(
        "b <x>c</x> <g/>d", "B <x>C</x> <g/>D"
    ).replace(">e<", ">E<")
    assert [line for line in calls[0] if line.isascii()] == ["a", "e"]
    assert texts("xml", "<r>Olá <b><i>mundo</i></b> <v/>novo</r>") == ["Olá ¦¦mundo¦¦ ¦novo"]
    assert texts("xml", "<r><a>um</a> | <b>dois</b> <v>10</v></r>") == ["um", "dois"]
    html = translate_document("html", "<p>a <x-y>b</x-y>", "a", upper, tags=Tags(["X-y"]))
    assert html == "<p>A <x-y>b</x-y>"


@pytest.mark.parametrize(
    ("format", "document", "tags", "expected"),
    [
        ("xml", "<r><a>um </a><a>gato</a></r>", Tags(), "um/gato"),
        ("xml", "<r><a>um </a><a>gato</a></r>", Tags(non_splitting=["a"]), "¦um ¦¦gato¦"),
        (
            "xml",
            "<r>um <a>gato</a> e <b>um cão</b></r>",
            Tags(splitting=["b"]),
            "um ¦gato¦ e/um cão",
        ),
        ("xml", "<r><a>um</a> <b>gato</b><c>e</c></r>", Tags(outline=False), "¦um¦ ¦gato¦¦e¦"),
        (
            "xml",
            "<r><a>um</a> <b>gato</b><c>e</c></r>",
            Tags((), ["c"], (), False),
            "¦um¦ ¦gato¦/e",
        ),
        ("xml", "<r><a>um</a> <b>gato</b></r>", Tags((), ["b"], ["b"]), "um/gato"),
        ("html", "<P>um </P><P>gato</P>", Tags(non_splitting=["p"]), "¦um ¦¦gato¦"),
        ("html", "<p>um <b>gato</b></p>", Tags(splitting=["B"]), "um/gato"),
        ("html", "<div>um</div> <h1>gato</h1>", Tags((), ["h1"], (), False), "um/gato"),
    ],
)
def test_named_tags_separate_texts(format: str, document: str, tags: Tags, expected: str) -> None:
    assert texts(format, document, tags) == expected.split("/")
    assert translate_document(format, document, "a", upper, tags) == re.sub(
        "(?<=>)[^<]+", lambda match: match[0].upper(), document
    )


@pytest.mark.parametrize("seed", range(20))
def test_html_survives_hostile_models(seed: int) -> None:
    text = "<p>One <b>two <i>three</i></b> <code>x y</code> &amp; <img> four<br>five {a} six</p>"
    new = translate_document("html", text, "a", hostile(seed))
    for tag in ("<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<code>x y</code>", "<img>", "<br>"):
        assert new.count(tag) == 1
    assert new.startswith("<p>")
    assert new.endswith("</p>")


PIECES = [
    "um gato ", "azul", "de ", "2", " ", "H", ". ", "[1]", "&amp; ", "é&#160;x ", " | ", "<i/>",
    "<sup>2</sup>", "<sub>2</sub>", "<sup>[1]</sup>", "<!-- c -->", "<code>a b</code>", "<br/>",
    "<img alt='o gato'/>", "<input/>",
]  # fmt: skip


def fragment(chance: random.Random, depth: int = 0) -> str:
    parts = []
    for _ in range(chance.randrange(1, 6)):
        parts.append(chance.choice(PIECES))
        if depth < 4 and chance.random() < 0.4:
            name = chance.choice(["a", "b", "span", "sup", "sub", "div", "p"])
            parts.append(f"<{name}>{fragment(chance, depth + 1)}</{name}>")
    return "".join(parts)


@pytest.mark.parametrize("format", ["html", "xml"])
def test_structure_survives_any_translation(format: str) -> None:
    for seed in range(150):
        source = f"<html>{fragment(random.Random(seed))}</html>"
        assert translate_document(format, source, "a", unchanged) == source
        tags = Counter(element.tag for element in ElementTree.fromstring(source).iter())
        for model in (shuffled(seed), hostile(seed)):
            new = translate_document(format, source, "a", model)
            new = new.replace("&nbsp;", "&#160;").replace("\0", "")
            root = ElementTree.fromstring(new)
            assert Counter(element.tag for element in root.iter()) == tags, seed
